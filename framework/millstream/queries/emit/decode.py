"""Writes a Decode node as a SELECT over the raw columns of a topic."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, join_pieces, sql_literal
from millstream.core.types import BOOLEAN, UNKNOWN
from millstream.formats.sql import BAD, DELETES
from millstream.plan.nodes import RAW, Column, Decode, ReadColumns
from millstream.queries.emit.bad_records import (
    DecodeAliases,
    DecodedPart,
    defects_of,
    deletes_by_value,
    good_expression,
    key_of,
    over_relation,
    raise_error,
    read_value_of,
    topic_of,
    value_of,
)
from millstream.queries.emit.draft import Draft, Lateral

_TYPES = {column.name: column.type for column in RAW}


def decode_records(
    draft: Draft,
    node: Decode,
    aliases: DecodeAliases,
    *,
    deletes: bool,
    good: bool = True,
    reads: ReadColumns | None = None,
) -> Draft:
    """Decode the records of a plain draft; `good` drops or fails on records that can't be decoded.

    It fails by what models read; by default, that is all that is decoded.
    """
    records = aliases.records
    items: dict[str, Expression] = {}
    fails = good and node.on_bad_record == "fail"
    value, key = value_of(node, aliases.value), key_of(node, aliases.key)
    fails_by_key = fails
    if fails and reads is not None:
        value = read_value_of(node, aliases.value, reads)
    if reads is not None and not node.checks_all_columns:
        fails_by_key = fails and reads.key
    laterals: list[Lateral] = []
    if key is not None:
        column = Column("_key", node.key.type if node.key else node.key_type)
        (decoded,) = _columns(key, (column,), node, records, fails=fails_by_key)
        if key.decoded.rows:
            laterals.append(_lateral(key, node, records, fails=fails_by_key))
        if node.key is not None:
            items[node.key.name] = decoded
        if "_key" in node.metadata:
            items["_key"] = decoded
    if value.decoded.rows:
        laterals.insert(0, _lateral(value, node, records, fails=fails))
    expressions = _columns(value, node.fields, node, records, fails=fails)
    items |= {field.name: expression for field, expression in zip(node.fields, expressions, strict=True)}
    items |= {validity.name: good_expression(node, aliases, validity.columns) for validity in node.good}
    where = draft.where
    if good and not fails and not node.good:
        where = (*where, *(defect.absent for _, defect in defects_of(node, aliases)))
    for name in node.metadata:
        raw = name.removeprefix("_")
        if name != "_key":
            items[name] = Expression((Ref(raw, records),), _TYPES[raw], atomic=True)
    deleted: tuple[Piece, ...] = (Ref("value", records), " is null")
    if deletes_by_value(node):
        deleted = ("(", *deleted, " or coalesce(", Ref(DELETES, aliases.value), ", false))")
    ordered = {column.name: items[column.name] for column in node.columns}
    return replace(
        draft,
        items=ordered,
        laterals=tuple(laterals),
        where=where,
        deleted=Expression(deleted, BOOLEAN, nullable=False) if deletes and node.unique_by else None,
    )


def _lateral(part: DecodedPart, node: Decode, records: str, *, fails: bool) -> Lateral:
    call = join_pieces(("inline(", *_rows(part, node, records, fails=fails), ")"))
    return Lateral(over_relation(call, records, UNKNOWN), part.alias, (*part.names, BAD))


def _rows(part: DecodedPart, node: Decode, records: str, *, fails: bool) -> tuple[Piece, ...]:
    """Return an array with the decoded row.

    If a bad record `fails`, that happens within the call, before a filter of its result could drop the row.
    """
    decoded = part.decoded
    if not fails:
        return decoded.rows
    raw = Ref(part.column, records)
    if decoded.required is not None:
        position: list[Piece] = [
            sql_literal(topic_of(node)),
            Ref("partition", records),
            Ref("offset", records),
        ]
        position += [sql_literal(part.prefix)] if part.prefix or part.must_be_good else []
        required = decoded.required([*position, *map(sql_literal, part.must_be_good)])
        if decoded.by_function is not None and not part.can_be_null:
            missing = raise_error(node, records, (sql_literal("the record has no value"),))
            return ("if(", raw, " is null, ", *missing, ", ", *required, ")")
        if decoded.by_function is not None or not part.can_be_null:
            return required
        return ("if(", raw, " is null, ", *decoded.rows, ", ", *required, ")")
    absent: tuple[Piece, ...] = (" or ", raw, " is null") if part.can_be_null else ()
    return (
        *("transform(", *decoded.rows, ", parsed -> if(parsed.", BAD, " is null", *absent, ", parsed, "),
        *raise_error(node, records, part.reason(records)),
        "))",
    )


def _columns(
    part: DecodedPart, columns: tuple[Column, ...], node: Decode, records: str, *, fails: bool
) -> list[Expression]:
    """Return the expressions of columns, which are of the decoded rows or of the raw records."""
    decoded = part.decoded
    if decoded.rows:
        fields = decoded.fields[: len(columns)] or ((),) * len(columns)
        return [_field(column, pieces, part.alias) for column, pieces in zip(columns, fields, strict=True)]
    expressions: list[Expression] = []
    for column, pieces in zip(columns, decoded.fields, strict=True):
        checked = pieces
        if fails and decoded.good:
            good = over_relation(decoded.good, records, BOOLEAN).pieces
            failed = raise_error(node, records, part.reason(records))
            checked = join_pieces(("if(", *good, ", ", *pieces, ", ", *failed, ")"))
        expressions.append(over_relation(checked, records, column.type))
    return expressions


def _field(column: Column, pieces: tuple[Piece, ...], alias: str) -> Expression:
    if not pieces:
        return Expression((Ref(column.name, alias),), column.type, atomic=True)
    return over_relation(pieces, alias, column.type)
