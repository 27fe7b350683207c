"""Writes a Decode node as a SELECT over the raw columns of a topic."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.expressions import Expression, Piece, Ref, joined, literal
from millstream.formats.format import Decoded
from millstream.formats.sql import BAD
from millstream.physical.emit.bad_records import decoded_key, failure, placed, problems, topic_of, values_of
from millstream.physical.emit.draft import Draft, Lateral
from millstream.plan.nodes import RAW, Column, Decode
from millstream.types import BOOLEAN, UNKNOWN

_TYPES = {column.name: column.type for column in RAW}


def decode_records(draft: Draft, node: Decode, alias: str, *, deletes: bool, good: bool = True) -> Draft:
    """Decode the records of a plain draft; `good` drops or fails on records that can't be decoded."""
    records = draft.sources[0].alias
    found = values_of(node)
    items: dict[str, Expression] = {}
    laterals: tuple[Lateral, ...] = ()
    fails = good and node.on_bad_record == "fail"
    key = decoded_key(node, records, fails=fails)
    if node.key is not None:
        items[node.key.name] = key
    if found.rows:
        call = _rows(found, node, records, fails=fails)
        columns = (*(field.name for field in node.fields), BAD)
        call = joined(("inline(", *call, ")"))
        laterals = (Lateral(placed(call, records, UNKNOWN), alias, columns),)
        restored = found.fields or ((),) * len(node.fields)
        for field, pieces in zip(node.fields, restored, strict=True):
            items[field.name] = _field(field, pieces, alias)
    else:
        for field, pieces in zip(node.fields, found.fields, strict=True):
            made = _failing(found, pieces, node, records) if fails and found.bad else pieces
            items[field.name] = placed(made, records, field.type)
    where = draft.where
    if good and not fails:
        where = (*where, *(each.absent for each in problems(node, found, records, alias)))
    for name in node.metadata:
        raw = name.removeprefix("_")
        items[name] = Expression((Ref(raw, records),), _TYPES[raw], atomic=True)
    if "_key" in node.metadata:
        items["_key"] = key
    tombstone = Expression((Ref("value", records), " is null"), BOOLEAN, nullable=False)
    ordered = {column.name: items[column.name] for column in node.columns}
    return replace(
        draft,
        items=ordered,
        laterals=laterals,
        where=where,
        deleted=tombstone if deletes and node.unique_by else None,
    )


def _rows(found: Decoded, node: Decode, records: str, *, fails: bool) -> tuple[Piece, ...]:
    """Return an array with the decoded row.

    If a bad record `fails`, that happens within the call, before a filter of its result could drop the row.
    """
    if not fails:
        return found.rows
    if found.required is not None:
        value, partition, offset = (Ref(name, records) for name in ("value", "partition", "offset"))
        required = found.required((literal(topic_of(node)), partition, offset))
        # In a topic of newest rows, a record without a value deletes a row.
        return ("if(", value, " is null, ", *found.rows, ", ", *required, ")") if node.unique_by else required
    tombstone: tuple[Piece, ...] = (" or ", Ref("value", records), " is null") if node.unique_by else ()
    return (
        *("transform(", *found.rows, ", parsed -> if(parsed.", BAD, " is null", *tombstone, ", parsed, "),
        *failure(node, records, (literal(found.why),)),
        "))",
    )


def _failing(found: Decoded, pieces: tuple[Piece, ...], node: Decode, records: str) -> tuple[Piece, ...]:
    return ("if(", *found.bad, ", ", *failure(node, records, (literal(found.why),)), ", ", *pieces, ")")


def _field(field: Column, pieces: tuple[Piece, ...], alias: str) -> Expression:
    if not pieces:
        return Expression((Ref(field.name, alias),), field.type, atomic=True)
    return placed(pieces, alias, field.type)
