"""Recognises records that can't be decoded, and says why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.expressions import Expression, Piece, Ref, joined, literal
from millstream.formats import format_of
from millstream.formats.format import Decoded
from millstream.formats.keys import KeyFormat
from millstream.formats.sql import BAD
from millstream.physical.emit.draft import RECORD, Draft
from millstream.plan.nodes import Decode, Node
from millstream.types import BOOLEAN, STRING, UNKNOWN, Field, Type


class Problem(Struct, frozen=True):
    """A way in which a record can't be decoded."""

    found: tuple[Piece, ...]
    """The condition under which a record has it; it is never NULL."""
    absent: Expression
    """The condition under which a record does not have it."""
    reason: tuple[Piece, ...]


class Aliases(Struct, frozen=True):
    """What a Decode reads: the records, and the rows of their decoded values and keys."""

    records: str = ""
    value: str = ""
    key: str = ""


class DecodedPart(Struct, frozen=True):
    """The value or the key of a record, decoded."""

    column: Literal["value", "key"]
    decoded: Decoded
    names: tuple[str, ...]
    """The columns of its rows, if it has any."""
    alias: str
    can_be_null: bool
    """The record may lack it."""

    @property
    def prefix(self) -> str:
        """What precedes a reason."""
        return "the key: " if self.column == "key" else ""

    def reason(self, records: str) -> tuple[Piece, ...]:
        """Return why it can't be decoded, as SQL."""
        if self.decoded.required:
            found: tuple[Piece, ...] = (Ref(BAD, self.alias),)
        else:
            found = placed(self.decoded.why, records, STRING).pieces
        return joined((f"concat({literal(self.prefix)}, ", *found, ")")) if self.prefix else found


def value_of(node: Decode, alias: str) -> DecodedPart:
    fields = [Field(column.name, column.type, column.nullable) for column in node.fields]
    decoded = format_of(node.format).spark.decode(fields)
    names = tuple(field.name for field in fields)
    # In a topic of newest rows, a record without a value deletes a row.
    return DecodedPart("value", decoded, names, alias, can_be_null=bool(node.unique_by))


def key_of(node: Decode, alias: str) -> DecodedPart | None:
    """Return the key of a record, if anything reads it."""
    if node.key is None and "_key" not in node.metadata:
        return None
    given = node.key.type if node.key else node.key_type
    found = KeyFormat(node.key_format, given)
    names = tuple(field.name for field in found.fields)
    return DecodedPart("key", found.decoded(nullable=not node.unique_by), names, alias, can_be_null=True)


def problems(node: Decode, aliases: Aliases) -> tuple[Problem, ...]:
    """Return what can be wrong with a record."""
    both = (value_of(node, aliases.value), key_of(node, aliases.key))
    found = (_problem(each, aliases.records) for each in both if each is not None)
    return tuple(each for each in found if each is not None)


def _problem(part: DecodedPart, records: str) -> Problem | None:
    if part.decoded.rows:
        bad = Ref(BAD, part.alias)
        condition: tuple[Piece, ...] = (bad, " is not null")
        absent: tuple[Piece, ...] = (bad, " is null")
        if part.can_be_null:
            given = Ref(part.column, records)
            condition = (*condition, " and ", given, " is not null")
            absent = ("(", *absent, " or ", given, " is null)")
    elif part.decoded.good:
        absent = placed(part.decoded.good, records, BOOLEAN).pieces
        condition = ("not ", *absent)
    else:
        return None
    return Problem(joined(condition), _condition(absent), part.reason(records))


def _condition(pieces: tuple[Piece, ...]) -> Expression:
    return Expression(joined(pieces), BOOLEAN, nullable=False, atomic=True)


def counts_bad(node: Node) -> bool:
    """Whether a node skips and counts records that can't be decoded."""
    if not isinstance(node, Decode) or node.on_bad_record != "skip":
        return False
    return bool(problems(node, Aliases()))


def sends_bad(node: Node) -> bool:
    """Whether a node sends on records that can't be decoded; in some formats, all can be."""
    if not isinstance(node, Decode) or node.on_bad_record != "dead_letter":
        return False
    return bool(problems(node, Aliases()))


def with_bad(draft: Draft, node: Decode, aliases: Aliases) -> Draft:
    """Add the column `_bad`: the record and the `reason` if it can't be decoded, NULL for all others."""
    found = problems(node, aliases)
    if not found:
        return draft
    reason: list[Piece] = ["case"]
    for each in found:
        reason += [" when ", *each.found, " then ", *each.reason]
    record = (*_raw(_WHOLE, aliases.records), ", ", *reason, " end as reason)")
    pieces = joined(("if(", *_any(found), ", ", *record, ", null)"))
    return replace(draft, items={**draft.items, BAD: Expression(pieces, UNKNOWN, atomic=True)})


def with_bad_flag(draft: Draft, node: Decode, aliases: Aliases) -> Draft:
    """Add the column `_bad`: whether a record can't be decoded."""
    flag = _condition(_any(problems(node, aliases)))
    return replace(draft, items={**draft.items, BAD: flag})


def _any(found: Sequence[Problem]) -> tuple[Piece, ...]:
    first, *others = found
    pieces = [*first.found]
    for each in others:
        pieces += [" or ", *each.found]
    return tuple(pieces)


_POSITION = ("topic", "partition", "offset")
_WHOLE = (*_POSITION, "timestamp", "key", "value", "headers")


def with_record(draft: Draft, records: str, *, whole: bool) -> Draft:
    """Add the column `_record`: the record's position, or the `whole` record for dead letters."""
    record_column = Expression(
        joined((*_raw(_WHOLE if whole else _POSITION, records), ")")), UNKNOWN, nullable=False, atomic=True
    )
    return replace(draft, items={**draft.items, RECORD: record_column})


def _raw(names: Sequence[str], records: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for name in names:
        pieces += [", " if pieces else "struct(", Ref(name, records)]
    return tuple(pieces)


def topic_of(node: Decode) -> str:
    """Return the topic's name in errors."""
    return node.relation.rpartition(".")[2]


def failure(node: Decode, records: str, reason: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return a call that raises an error with the record's position and what is wrong with it."""
    start = literal(f"bad record: topic {topic_of(node)}, partition ")
    partition, offset = Ref("partition", records), Ref("offset", records)
    return (f"raise_error(concat({start}, ", partition, ", ', offset ', ", offset, ", ': ', ", *reason, "))")


def placed(pieces: Sequence[Piece], alias: str, found: Type) -> Expression:
    """Return SQL over raw columns as an expression over a relation."""
    own = (replace(p, relation=p.relation or alias) if isinstance(p, Ref) else p for p in pieces)
    return Expression(joined(own), found, raises=True, atomic=True)
