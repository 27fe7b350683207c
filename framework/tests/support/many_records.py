"""Judges topics with many millions of records: a byte for each, instead of the records."""

from collections import defaultdict

import msgspec

from support.committed_records import each_committed
from support.exactly_once import USERS

PARTS = 3


class Record(msgspec.Struct):
    id: int = -1
    part: int = 1
    user: str = ""
    events: int = 0
    ids: int = 0


def check_each_once(bootstrap, count, bad, noted):
    """Check that each record below `count` is in each topic once; those from `noted` on have a note."""
    letters = [
        int(letter.value().removeprefix(b"broken "))
        for letter in each_committed(bootstrap, "events.dead_letter")
    ]
    assert sorted(letters) == sorted(bad)
    for topic, sent in {
        "plain": lambda number: number % 3 >= 1,
        "odd": lambda number: number % 2 == 1,
        "noted": lambda number: number >= noted,
    }.items():
        expected = bytearray(sent(number) and number not in bad for number in range(count))
        _equal(topic, _counted(bootstrap, topic, count, lambda record: record.id), expected)
    expected = bytearray(number not in bad for number in range(count))
    counts = _counted(bootstrap, "parts", PARTS * count, lambda record: PARTS * record.id + record.part - 1)
    for part in range(PARTS):
        _equal(f"part {part + 1} of parts", counts[part::PARTS], expected)
    _check_totals(bootstrap, count, bad)


def _counted(bootstrap, topic, size, index_of):
    """Return how often each place has a record."""
    counts, decode = bytearray(size), msgspec.json.Decoder(Record).decode
    for message in each_committed(bootstrap, topic):
        counts[index_of(decode(message.value()))] += 1
    return counts


def _equal(name, actual, expected):
    wrong = (
        []
        if actual == expected
        else [n for n, both in enumerate(zip(actual, expected, strict=True)) if both[0] != both[1]]
    )
    assert not wrong, (
        f"{name}: {len(wrong)} of {len(expected)} differ: {[(n, actual[n], expected[n]) for n in wrong[:5]]}"
    )


def _check_totals(bootstrap, count, bad):
    """Each change of a total is a record: one that comes twice does not increase it."""
    decode, last = msgspec.json.Decoder(Record).decode, {}
    for message in each_committed(bootstrap, "totals"):
        now = decode(message.value())
        before = last.get(now.user, (0, -1))
        assert before[0] < now.events, (now, before)
        assert before[1] < now.ids, (now, before)
        last[now.user] = now.events, now.ids
    expected = defaultdict(lambda: (0, 0))
    for number in range(count):
        if number not in bad:
            events, ids = expected[f"u{number % USERS}"]
            expected[f"u{number % USERS}"] = events + 1, ids + number
    assert last == expected
