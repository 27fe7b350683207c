"""Records that can't be decoded, sent on as they were."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.expressions import Expression, Ref
from millstream.physical.emit.decode import why_bad
from millstream.physical.emit.draft import BAD, Draft
from millstream.physical.formats.base import literal
from millstream.physical.records import HEADERS
from millstream.plan.nodes import Decode
from millstream.types import BINARY, BOOLEAN, STRING


def topic_of(topic: str) -> str:
    return f"{topic}.dead_letter"


def dead_letter(trunk: Draft, node: Decode, topic: str) -> Draft:
    """Return the record of a dead letter: key and value untouched, headers that say where from and why."""
    alias = trunk.sources[0].alias
    bad = Ref(BAD, alias)
    said = ("topic", "partition", "offset", "timestamp")
    pieces: list[str | Ref] = ["concat(coalesce(", bad, f".headers, cast(array() as {HEADERS})), array("]
    for name in said:
        pieces += [f"named_struct('key', 'millstream.{name}', 'value', cast(cast(", bad]
        pieces.append(f".{name} as string) as binary)), ")
    reason = literal(why_bad(node))
    pieces.append(f"named_struct('key', 'millstream.reason', 'value', cast({reason} as binary))))")
    items = {
        "topic": Expression((literal(topic_of(topic)),), STRING, nullable=False, atomic=True),
        "key": Expression((bad, ".key"), BINARY, atomic=True),
        "value": Expression((bad, ".value"), BINARY, atomic=True),
        "headers": Expression(tuple(pieces), HEADERS, atomic=True),
    }
    return replace(trunk, items=items, where=(Expression((bad, " is not null"), BOOLEAN),), deleted=None)


def decoded_only(draft: Draft) -> Draft:
    """Leave dead letters out of a model's rows."""
    good = Expression((Ref(BAD, draft.sources[0].alias), " is null"), BOOLEAN, atomic=True)
    return replace(draft, where=(good, *draft.where))
