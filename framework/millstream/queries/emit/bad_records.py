"""Recognises records that can't be decoded, and says why."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, join_pieces, sql_literal
from millstream.core.node_id import NodeId
from millstream.core.types import BOOLEAN, STRING, UNKNOWN, Field, Type
from millstream.formats.format import DecodedSql
from millstream.formats.keys import KeyFormat
from millstream.formats.registry import format_of
from millstream.formats.sql import BAD, DELETES
from millstream.outputs.kinds import POSITION
from millstream.plan.nodes import Column, Decode, Node, Output, ReadColumns, RecordValidity
from millstream.plan.nodes.order import in_order
from millstream.queries.emit.draft import PLACED, RECORD, Draft


class DecodeDefect(Struct, frozen=True):
    """A way in which a record can't be decoded."""

    present: tuple[Piece, ...]
    """The condition under which a record has it; it is never NULL."""
    absent: Expression
    """The condition under which a record does not have it."""
    reason: tuple[Piece, ...]


class DecodeAliases(Struct, frozen=True):
    """What a Decode reads: the records, and the rows of their decoded values and keys."""

    records: str = ""
    value: str = ""
    key: str = ""


class DecodedPart(Struct, frozen=True):
    """The value or the key of a record, decoded."""

    column: Literal["value", "key"]
    decoded: DecodedSql
    names: tuple[str, ...]
    """The columns of its rows, if it has any."""
    alias: str
    can_be_null: bool
    """The record may lack it."""
    read: tuple[str, ...] | None = None
    """Those of its columns of which one makes the record bad, in lower case; by default, any does."""

    @property
    def prefix(self) -> str:
        """What precedes a reason."""
        return "the key: " if self.column == "key" else ""

    def reason(self, records: str) -> tuple[Piece, ...]:
        """Return why it can't be decoded, as SQL."""
        if self.decoded.required:
            reason = self._why or (Ref(BAD, self.alias), "[0].reason")
        else:
            reason = over_relation(self.decoded.why, records, STRING).pieces
        return join_pieces((f"concat({sql_literal(self.prefix)}, ", *reason, ")")) if self.prefix else reason

    @property
    def must_be_good(self) -> tuple[str, ...]:
        """The columns that must be good so that a query goes on; empty if all must."""
        if not self._why:
            return ()
        return tuple(n for n in self.names if self.read and n.lower() in self.read) or ("",)

    @property
    def _why(self) -> tuple[Piece, ...]:
        """SQL of the reason of the first bad column that is read; empty if all columns are."""
        if self.column == "key" or self.read is None or {n.lower() for n in self.names} <= {*self.read}:
            return ()
        literals = "".join(f", {sql_literal(name)}" for name in self.names if name.lower() in self.read)
        return ("bad_reason(", Ref(BAD, self.alias), f"{literals})")

    def bad(self, records: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]] | None:
        """Return the conditions under which it can't, and can, be decoded; None if it always can."""
        if not self.decoded.rows:
            if not self.decoded.good:
                return None
            good = over_relation(self.decoded.good, records, BOOLEAN).pieces
            return ("not ", *good), good
        bad = Ref(BAD, self.alias)
        present: tuple[Piece, ...] = (bad, " is not null")
        absent: tuple[Piece, ...] = (bad, " is null")
        if self.decoded.required and (why := self._why):
            # Good records are recognised without a call.
            present = (*present, " and ", *why, " is not null")
            absent = ("(", *absent, " or ", *why, " is null)")
        if self.can_be_null:
            raw = Ref(self.column, records)
            present = (*present, " and ", raw, " is not null")
            absent = ("(", *absent, " or ", raw, " is null)")
        return present, absent

    def columns(self) -> tuple[Piece, ...]:
        """Return the names of bad columns as SQL: a text, or NULL. `*` is the whole value."""
        if self.column == "key" or not self.decoded.required:
            return (sql_literal("_key" if self.column == "key" else "*"),)
        return ("array_join(", Ref(BAD, self.alias), ".column, ',', '*')")


def deletes_by_value(node: Decode) -> bool:
    """Whether not only a record without a value deletes its key."""
    return bool(node.unique_by and format_of(node.format).of_change)


def value_of(node: Decode, alias: str, more: Sequence[Column] = ()) -> DecodedPart:
    """Return the value of a record, with columns besides those of the node."""
    fields = [Field(column.name, column.type, column.nullable) for column in (*node.fields, *more)]
    if deletes_by_value(node):
        fields.append(Field(DELETES, BOOLEAN, nullable=False))
    decoded = format_of(node.format).spark.decode(fields)
    names = tuple(field.name for field in fields)
    # In a topic of newest rows, a record without a value deletes a row.
    return DecodedPart("value", decoded, names, alias, can_be_null=bool(node.unique_by))


def read_value_of(node: Decode, alias: str, reads: ReadColumns) -> DecodedPart:
    """Return the value of a record with all columns that models read, of which one makes them fail."""
    part = value_of(node, alias)
    if node.checks_all_columns or not part.decoded.required:
        return part
    more = tuple(column for column in reads.columns if column.name.lower() not in node.by_name)
    return replace(
        value_of(node, alias, more) if more else part,
        read=tuple(column.name.lower() for column in reads.columns),
    )


def key_of(node: Decode, alias: str) -> DecodedPart | None:
    """Return the key of a record, if anything reads it."""
    if node.key is None and "_key" not in node.metadata:
        return None
    type_ = node.key.type if node.key else node.key_type
    key_format = KeyFormat(node.key_format, type_)
    names = tuple(field.name for field in key_format.fields)
    return DecodedPart("key", key_format.decoded(nullable=not node.unique_by), names, alias, can_be_null=True)


def defects_of(
    node: Decode, aliases: DecodeAliases, columns: tuple[str, ...] | None = None
) -> tuple[tuple[DecodedPart, DecodeDefect], ...]:
    """Return what can be wrong with a record for what reads some of its columns; by default, all."""
    value, key = value_of(node, aliases.value), key_of(node, aliases.key)
    both = [replace(value, read=columns)]
    if key is not None and (columns is None or "_key" in columns):
        both.append(key)
    defects: list[tuple[DecodedPart, DecodeDefect]] = []
    for part in both:
        if (conditions := part.bad(aliases.records)) is not None:
            bad, good = map(join_pieces, conditions)
            defects.append((part, DecodeDefect(bad, _condition(good), part.reason(aliases.records))))
    return tuple(defects)


def good_expression(node: Decode, aliases: DecodeAliases, columns: tuple[str, ...]) -> Expression:
    """Return the condition under which a record is good for what reads some of its columns."""
    pieces: list[Piece] = []
    for _, defect in defects_of(node, aliases, columns):
        pieces += [" and " if pieces else "", *defect.absent.pieces]
    return _condition(join_pieces(pieces or ("true",)))


def _condition(pieces: tuple[Piece, ...]) -> Expression:
    return Expression(join_pieces(pieces), BOOLEAN, nullable=False, atomic=True)


def read_goods(node: Decode, names: Container[str]) -> tuple[RecordValidity, ...]:
    """Return those columns of a source, by which models drop bad records, that have some names."""
    return tuple(validity for validity in node.good if validity.name in names)


def goods_of(outputs: Iterable[Output]) -> frozenset[str]:
    """Return the names of the columns by which models, and views with state, drop bad records."""
    return frozenset(name for output in outputs for name in output.good)


def bad_by(node: Decode, good: Container[str]) -> tuple[str, ...] | None:
    """Return the columns of which a wrong value makes a record bad for some model; None if any does.

    `good` are the columns by which models drop bad records.
    """
    if not node.good:
        return None
    return tuple(sorted({name for validity in read_goods(node, good) for name in validity.columns}))


def drops_by(output: Output) -> dict[NodeId, str]:
    """Return the column by which a model drops the bad records of each source, if there is only one."""
    nodes = (node for node in in_order((output,)) if isinstance(node, Decode))
    goods = [(node.relation, read_goods(node, output.good)) for node in nodes]
    return {relation: validities[0].name for relation, validities in goods if len(validities) == 1}


def counts_bad(node: Node) -> bool:
    """Whether a node skips and counts records that can't be decoded."""
    if not isinstance(node, Decode) or node.on_bad_record != "skip":
        return False
    return bool(defects_of(node, DecodeAliases()))


def sends_bad(node: Node) -> bool:
    """Whether a node sends on records that can't be decoded; in some formats, all can be."""
    if not isinstance(node, Decode) or node.on_bad_record != "dead_letter":
        return False
    return bool(defects_of(node, DecodeAliases()))


def with_bad(draft: Draft, node: Decode, aliases: DecodeAliases, by: Container[str]) -> Draft:
    """Add the column `_bad`: the record, the `reason` and the bad `columns`; NULL if all models read it."""
    read = bad_by(node, by)
    defects = defects_of(node, aliases, read)
    if not defects:
        return draft
    reason: list[Piece] = ["case"]
    columns: list[Piece] = []
    for part, defect in defects:
        reason += [" when ", *defect.present, " then ", *defect.reason]
        columns += [", ", "if(", *defect.present, ", ", *part.columns(), ", null)"]
    record = (*_raw(_RECORD_FIELDS, aliases.records), ", ", *reason, " end as reason, ")
    record = (*record, "concat_ws(','", *columns, ") as columns)")
    pieces = join_pieces(("if(", *_any([defect for _, defect in defects]), ", ", *record, ", null)"))
    return replace(draft, items={**draft.items, BAD: Expression(pieces, UNKNOWN, atomic=True)})


def with_bad_flag(draft: Draft, node: Decode, aliases: DecodeAliases) -> Draft:
    """Add the column `_bad`: whether a record can't be decoded."""
    flag = _condition(_any([defect for _, defect in defects_of(node, aliases)]))
    return replace(draft, items={**draft.items, BAD: flag})


def _any(defects: Sequence[DecodeDefect]) -> tuple[Piece, ...]:
    first, *others = defects
    pieces = [*first.present]
    for defect in others:
        pieces += [" or ", *defect.present]
    return tuple(pieces)


_POSITION = ("topic", "partition", "offset")
_RECORD_FIELDS = (*_POSITION, "timestamp", "key", "value", "headers")


def with_record(draft: Draft, records: str, *, for_dead_letters: bool) -> Draft:
    """Add the column `_record`: the record's position, or the whole record `for_dead_letters`.

    The headers that say the position are made once for all records that a row becomes.
    """
    position = join_pieces(
        ("concat_ws('-'", *(piece for name in _POSITION for piece in (", ", Ref(name, records))), ")")
    )
    headers = (
        f", array(named_struct('key', '{POSITION}', 'value', cast(",
        *position,
        f" as binary))) as {PLACED})",
    )
    record_column = Expression(
        join_pieces((*_raw(_RECORD_FIELDS if for_dead_letters else _POSITION, records), *headers)),
        UNKNOWN,
        nullable=False,
        atomic=True,
    )
    return replace(draft, items={**draft.items, RECORD: record_column})


def _raw(names: Sequence[str], records: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for name in names:
        pieces += [", " if pieces else "struct(", Ref(name, records)]
    return tuple(pieces)


def topic_of(node: Decode) -> str:
    """Return the topic's name in errors."""
    return node.relation.last_name


def raise_error(node: Decode, records: str, reason: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return a call that raises an error with the record's position and what is wrong with it."""
    start = sql_literal(f"bad record: topic {topic_of(node)}, partition ")
    partition, offset = Ref("partition", records), Ref("offset", records)
    return (f"raise_error(concat({start}, ", partition, ", ', offset ', ", offset, ", ': ', ", *reason, "))")


def over_relation(pieces: Sequence[Piece], alias: str, type_: Type) -> Expression:
    """Return SQL over raw columns as an expression over a relation."""
    qualified = (replace(p, relation=p.relation or alias) if isinstance(p, Ref) else p for p in pieces)
    return Expression(join_pieces(qualified), type_, raises=True, atomic=True)
