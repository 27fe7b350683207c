"""Recognises records that can't be decoded, and says why."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.expressions import Expression, Piece, Ref, joined, literal
from millstream.formats import format_of
from millstream.formats.format import Decoded
from millstream.formats.sql import BAD
from millstream.physical.emit.draft import RECORD, Draft
from millstream.plan.nodes import Decode, Node
from millstream.types import BINARY, BOOLEAN, STRING, UNKNOWN, Field, Type


class Problem(Struct, frozen=True):
    """A way in which a record can't be decoded."""

    found: tuple[Piece, ...]
    """The condition under which a record has it; it is never NULL."""
    absent: Expression
    """The condition under which a record does not have it."""
    reason: tuple[Piece, ...]


def values_of(node: Decode) -> Decoded:
    fields = [Field(column.name, column.type, column.nullable) for column in node.fields]
    return format_of(node.format).spark.decode(fields)


def problems(node: Decode, found: Decoded, records: str, alias: str) -> tuple[Problem, ...]:
    """Return what can be wrong with a record; the values of the fields are those of `alias`."""
    both = (_of_value(node, found, records, alias), _of_key(node, records))
    return tuple(each for each in both if each is not None)


def _of_value(node: Decode, found: Decoded, records: str, alias: str) -> Problem | None:
    if found.rows:
        bad = Ref(BAD, alias)
        condition: tuple[Piece, ...] = (bad, " is not null")
        absent: tuple[Piece, ...] = (bad, " is null")
    elif found.bad:
        condition = ("coalesce(", *placed(found.bad, records, BOOLEAN).pieces, ", false)")
        absent = ("not ", *condition)
    else:
        return None
    if node.unique_by:  # a record without a value deletes a row
        value = Ref("value", records)
        condition = (*condition, " and ", value, " is not null")
        absent = ("(", *absent, " or ", value, " is null)")
    reason: Piece = Ref(BAD, alias) if found.required else literal(found.why)
    return Problem(joined(condition), _condition(absent), (reason,))


def _of_key(node: Decode, records: str) -> Problem | None:
    """Strict decoding refuses keys that are not a text, or not one of a value of their type."""
    if node.format.decoding != "strict" or (node.key is None and "_key" not in node.metadata):
        return None
    key, given = Ref("key", records), node.key.type if node.key else node.key_type
    if given == BINARY:
        return None
    text: tuple[Piece, ...] = ("cast(", key, " as string)")
    if given == STRING:
        valid: tuple[Piece, ...] = ("coalesce(is_valid_utf8(", *text, "), true)")
        reason: tuple[Piece, ...] = (literal("the key is not valid UTF-8"),)
        return Problem(joined(("not ", *valid)), _condition(valid), reason)
    missing: tuple[Piece, ...] = ("try_cast(", *text, f" as {given}) is ")
    before, after = literal("the key '"), literal(f"' is not a valid {given}")
    reason = (f"concat({before}, left(make_valid_utf8(", *text, f"), 60), {after})")
    return Problem(
        joined((*missing, "null and ", key, " is not null")),
        _condition(("(", *missing, "not null or ", key, " is null)")),
        joined(reason),
    )


def _condition(pieces: tuple[Piece, ...]) -> Expression:
    return Expression(joined(pieces), BOOLEAN, nullable=False, atomic=True)


def decoded_key(node: Decode, records: str, *, fails: bool) -> Expression:
    key, given = Ref("key", records), node.key.type if node.key else node.key_type
    if given == BINARY:
        return Expression((key,), BINARY, atomic=True)
    text: tuple[Piece, ...] = ("cast(", key, " as string)")
    pieces = text if given == STRING else ("cast(", *text, f" as {given})")
    raises = given != STRING
    if fails and (problem := _of_key(node, records)) is not None:
        pieces = ("if(", *problem.found, ", ", *failure(node, records, problem.reason), ", ", *pieces, ")")
        raises = True
    return Expression(joined(pieces), given, raises=raises, atomic=True)


def counts_bad(node: Node) -> bool:
    """Whether a node skips and counts records that can't be decoded."""
    if not isinstance(node, Decode) or node.on_bad_record != "skip":
        return False
    return bool(problems(node, values_of(node), "", ""))


def with_bad(draft: Draft, node: Decode, records: str, alias: str) -> Draft:
    """Add the column `_bad`: the record and the `reason` if it can't be decoded, NULL for all others."""
    found = problems(node, values_of(node), records, alias)
    if not found:
        return draft
    reason: list[Piece] = ["case"]
    for each in found:
        reason += [" when ", *each.found, " then ", *each.reason]
    record = (*_raw(_WHOLE, records), ", ", *reason, " end as reason)")
    pieces = joined(("if(", *_any(found), ", ", *record, ", null)"))
    return replace(draft, items={**draft.items, BAD: Expression(pieces, UNKNOWN, atomic=True)})


def with_bad_flag(draft: Draft, node: Decode, records: str, alias: str) -> Draft:
    """Add the column `_bad`: whether a record can't be decoded."""
    found = problems(node, values_of(node), records, alias)
    flag = _condition(_any(found))
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
