"""Writes a Decode node as a SELECT over the raw columns of a topic."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from millstream.expressions import Expression, Piece, Ref, joined, literal
from millstream.formats import format_of
from millstream.formats.format import Decoded
from millstream.formats.sql import BAD
from millstream.physical.emit.draft import RECORD, Draft, Lateral
from millstream.plan.nodes import RAW, Column, Decode, Node
from millstream.types import BINARY, BOOLEAN, STRING, UNKNOWN, Field, Type

_TYPES = {column.name: column.type for column in RAW}


def decode_records(draft: Draft, node: Decode, alias: str, *, deletes: bool, good: bool = True) -> Draft:
    """Decode the records of a plain draft; `good` drops or fails on records that can't be decoded."""
    records = draft.sources[0].alias
    found = _values(node)
    items: dict[str, Expression] = {}
    if node.key is not None:
        items[node.key.name] = _of_key(records, node.key.type)
    laterals: tuple[Lateral, ...] = ()
    fails = good and node.on_bad_record == "fail"
    if found.rows:
        call = _rows(found, node, records, fails=fails)
        columns = (*(field.name for field in node.fields), BAD)
        call = joined(("inline(", *call, ")"))
        laterals = (Lateral(_over(call, records, UNKNOWN), alias, columns),)
        restored = found.fields or ((),) * len(node.fields)
        for field, pieces in zip(node.fields, restored, strict=True):
            items[field.name] = _field(field, pieces, alias)
    else:
        for field, pieces in zip(node.fields, found.fields, strict=True):
            made = _failing(found, pieces, node, records) if fails and found.bad else pieces
            items[field.name] = _over(made, records, field.type)
    where = draft.where
    if good and node.on_bad_record != "fail" and (bad := _is_bad(found, records, alias)) is not None:
        where = (*where, _good(bad, node, records))
    for name in node.metadata:
        raw = name.removeprefix("_")
        items[name] = Expression((Ref(raw, records),), _TYPES[raw], atomic=True)
    if "_key" in node.metadata:
        items["_key"] = _of_key(records, node.key_type)
    tombstone = Expression((Ref("value", records), " is null"), BOOLEAN, nullable=False)
    ordered = {column.name: items[column.name] for column in node.columns}
    return replace(
        draft,
        items=ordered,
        laterals=laterals,
        where=where,
        deleted=tombstone if deletes and node.unique_by else None,
    )


def _values(node: Decode) -> Decoded:
    fields = [Field(column.name, column.type) for column in node.fields]
    return format_of(node.format).spark.decode(fields)


def counts_bad(node: Node) -> bool:
    """Whether a node skips and counts records that can't be decoded."""
    if not isinstance(node, Decode) or node.on_bad_record != "skip":
        return False
    found = _values(node)
    return bool(found.rows or found.bad)


def with_bad(draft: Draft, node: Decode, records: str, alias: str) -> Draft:
    """Add the column `_bad`: the record and the `reason` if it can't be decoded, NULL for all others."""
    bad = _bad(node, records, alias)
    if bad is None:
        return draft
    found = _values(node)
    reason: Piece = Ref(BAD, alias) if found.required else literal(found.why)
    record: tuple[Piece, ...] = (*_raw(_WHOLE, records)[:-1], ", ", reason, " as reason)")
    record_column = replace(bad, pieces=joined(("if(", *bad.pieces, ", ", *record, ", null)")), type=UNKNOWN)
    return replace(draft, items={**draft.items, BAD: record_column})


def with_bad_flag(draft: Draft, node: Decode, records: str, alias: str) -> Draft:
    """Add the column `_bad`: whether a record can't be decoded."""
    bad = _bad(node, records, alias)
    assert bad is not None, "counts_bad"
    if bad.nullable:
        bad = replace(bad, pieces=("coalesce(", *bad.pieces, ", false)"), nullable=False, atomic=True)
    return replace(draft, items={**draft.items, BAD: bad})


_POSITION = ("topic", "partition", "offset")
_WHOLE = (*_POSITION, "timestamp", "key", "value", "headers")


def with_record(draft: Draft, records: str, *, whole: bool) -> Draft:
    """Add the column `_record`: the record's position, or the `whole` record for dead letters."""
    record_column = Expression(
        _raw(_WHOLE if whole else _POSITION, records), UNKNOWN, nullable=False, atomic=True
    )
    return replace(draft, items={**draft.items, RECORD: record_column})


def _raw(names: Sequence[str], records: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for name in names:
        pieces += [", " if pieces else "struct(", Ref(name, records)]
    return (*pieces, ")")


def _bad(node: Decode, records: str, alias: str) -> Expression | None:
    bad = _is_bad(_values(node), records, alias)
    if bad is None or not node.unique_by:
        return bad
    return replace(bad, pieces=joined((*bad.pieces, " and ", Ref("value", records), " is not null")))


def _is_bad(found: Decoded, records: str, alias: str) -> Expression | None:
    """Return whether a record can't be decoded; None if all can be."""
    if found.rows:
        return Expression((Ref(BAD, alias), " is not null"), BOOLEAN, nullable=False)
    return _over(found.bad, records, BOOLEAN) if found.bad else None


def _good(bad: Expression, node: Decode, records: str) -> Expression:
    match bad.pieces:
        case (ref, " is not null"):
            pieces: tuple[Piece, ...] = (ref, " is null")
        case _:
            pieces = ("not coalesce(", *bad.pieces, ", false)")
    if node.unique_by:
        pieces = ("(", *pieces, " or ", Ref("value", records), " is null)")
    return Expression(joined(pieces), BOOLEAN, nullable=False, atomic=True)


def _rows(found: Decoded, node: Decode, records: str, *, fails: bool) -> tuple[Piece, ...]:
    """Return an array with the decoded row.

    If a bad record `fails`, that happens within the call, before a filter of its result could drop the row.
    """
    if not fails:
        return found.rows
    if found.required is not None:
        value, partition, offset = (Ref(name, records) for name in ("value", "partition", "offset"))
        required = found.required((literal(_topic(node)), partition, offset))
        # In a topic of newest rows, a record without a value deletes a row.
        return ("if(", value, " is null, ", *found.rows, ", ", *required, ")") if node.unique_by else required
    tombstone: tuple[Piece, ...] = (" or ", Ref("value", records), " is null") if node.unique_by else ()
    return (
        *("transform(", *found.rows, ", parsed -> if(parsed.", BAD, " is null", *tombstone, ", parsed, "),
        *_failure(found, node, records),
        "))",
    )


def _topic(node: Decode) -> str:
    return node.relation.rpartition(".")[2]


def _failing(found: Decoded, pieces: tuple[Piece, ...], node: Decode, records: str) -> tuple[Piece, ...]:
    return ("if(", *found.bad, ", ", *_failure(found, node, records), ", ", *pieces, ")")


def _failure(found: Decoded, node: Decode, records: str) -> tuple[Piece, ...]:
    """Return a call that raises an error with the record's position and what is wrong with it."""
    start = literal(f"bad record: topic {_topic(node)}, partition ")
    return (
        f"raise_error(concat({start}, ",
        Ref("partition", records),
        ", ', offset ', ",
        Ref("offset", records),
        f", {literal(f': {found.why}')}))",
    )


def _of_key(records: str, given: Type) -> Expression:
    key = Ref("key", records)
    if given == BINARY:
        return Expression((key,), BINARY, atomic=True)
    text: tuple[Piece, ...] = ("cast(", key, " as string)")
    pieces = text if given == STRING else ("cast(", *text, f" as {given})")
    return Expression(joined(pieces), given, raises=given != STRING, atomic=True)


def _field(field: Column, pieces: tuple[Piece, ...], alias: str) -> Expression:
    if not pieces:
        return Expression((Ref(field.name, alias),), field.type, atomic=True)
    return _over(pieces, alias, field.type)


def _over(pieces: tuple[Piece, ...], alias: str, found: Type) -> Expression:
    placed = (replace(p, relation=p.relation or alias) if isinstance(p, Ref) else p for p in pieces)
    return Expression(joined(placed), found, raises=True, atomic=True)
