"""Counts dead letters by topic, owner and reason."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from millstream.kafka.clients import Admin
from millstream.ops.dead_letters.handled_letters import HandledLetters, Status, read_handled
from millstream.ops.dead_letters.letter import DeadLetter
from millstream.ops.dead_letters.letter_selection import letters_of

_MOST = 1000
"""Reasons that are counted separately, for each topic and owner: some contain the value."""
_OTHERS = "other reasons"


class LetterCount(Struct, frozen=True):
    """Letters of a topic that have one owner and reason: the sum of those replayed, dropped and remaining."""

    topic: str
    owner: str
    query: str
    reason: str
    letters: int = 0
    replayed: int = 0
    dropped: int = 0
    remaining: int = 0
    first: datetime | None = None
    """When the first of them was sent."""
    last: datetime | None = None


def count_letters(admin: Admin, topic: str, chosen: Callable[[DeadLetter], bool]) -> list[LetterCount]:
    """Return the counts of a topic's letters, most letters first."""
    handled: HandledLetters = read_handled(admin, topic)
    counts: dict[tuple[str, str, str], LetterCount] = {}
    for letter in filter(chosen, letters_of(admin, topic)):
        key = (letter.owner, letter.query, letter.reason)
        if key not in counts and len(counts) >= _MOST:
            key = (letter.owner, letter.query, _OTHERS)
        count = counts.get(key) or LetterCount(topic, *key)
        counts[key] = _with(count, letter, handled.status(letter))
    return sorted(counts.values(), key=lambda count: -count.letters)


def _with(count: LetterCount, letter: DeadLetter, status: Status) -> LetterCount:
    times = [time for time in (count.first, count.last, letter.sent) if time is not None]
    more = {"letters": count.letters + 1, status: getattr(count, status) + 1}
    return replace(count, first=min(times, default=None), last=max(times, default=None), **more)
