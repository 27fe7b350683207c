"""A project that writes topics in every way, and a judge that counts each of their records."""

import datetime as dt
import json
from collections import Counter, defaultdict

from confluent_kafka import Producer

from support.committed_records import committed
from support.runs import headers, queue_record

USERS = 5
START = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
RUNNING = """
    from dataclasses import dataclass
    from collections.abc import Iterable, Iterator

    @dataclass
    class Seen:
        count: int = 0

    @dataclass
    class Row:
        id: int

    @dataclass
    class Numbered:
        user: str
        number: int
        id: int

    def numbered(key: str, rows: Iterable[Row], state: Seen) -> Iterator[Numbered]:
        for row in rows:
            state.count += 1
            yield Numbered(key, state.count, row.id)
"""
EVENTS = "{{ source('web', 'events') }}"
MODELS = {
    "plain": "{{ config(materialized='sink', key='user', timestamp='at') }} "
    f"select id, user, at from {EVENTS} where value >= 1",
    "odd": f"{{{{ config(materialized='sink') }}}} select id from {EVENTS} where id % 2 = 1",
    "parts": "{{ config(materialized='sink') }} "
    f"select id, part from {EVENTS} lateral view explode(array(1, 2, 3)) t as part",
    "windows": "{{ config(materialized='sink', emit='on_close') }} "
    f"select window(at, '1 minute').start as minute, user, count(*) as events from {EVENTS} "
    "group by window(at, '1 minute'), user",
    "totals": "{{ config(materialized='sink', key='user') }} "
    f"select user, count(*) as events, sum(id) as ids from {EVENTS} group by user",
    "even": "{{ config(materialized='sink', key='user') }} "
    f"select user, count(*) as events from {EVENTS} group by user having count(*) % 2 = 0",
    "numbers": "{{ config(materialized='sink', key='user') }} "
    f"select t.user, t.number, t.id from {EVENTS} as e, lateral numbered(e.user) as t",
    "newest": "{{ config(materialized='table', unique_key='user', order_by='id') }} "
    f"select user, id, at from {EVENTS}",
}


class Traffic:
    """Records with ascending ids, ten seconds from one another; by default, each tenth can't be decoded."""

    def __init__(self, bootstrap, bad=lambda number: number % 10 == 0):
        # A record that is sent again after a failure of the broker is not a second one.
        self.producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "enable.idempotence": True})
        self.count = 0
        self.bad = bad
        self.fields = {}
        """Further fields of the records that are sent from now on."""

    def more(self, count):
        for number in range(self.count, self.count + count):
            value = f"broken {number}" if self.bad(number) else json.dumps(row(number) | self.fields)
            queue_record(self.producer, "events", key=f"u{number % USERS}", value=value)
        self.count += count
        assert self.producer.flush(60) == 0

    @property
    def good(self):
        return [row(number) for number in range(self.count) if not self.bad(number)]


def row(number):
    time = START + dt.timedelta(seconds=10 * number)
    return {"id": number, "kind": "x", "value": float(number % 3), "at": f"{time:%Y-%m-%dT%H:%M:%SZ}"}


def write_models(shop, models=MODELS):
    shop.source(on_bad_record="dead_letter")
    shop.write("macros/numbered.py", RUNNING)
    for name in models:
        shop.model(name, MODELS[name])


def check_once(shop, traffic, models=MODELS):
    """Check that each record that was sent is in each topic exactly once."""
    letters = Counter(record.value() for record in committed(shop.bootstrap, "events.dead_letter"))
    assert letters == {f"broken {n}".encode(): 1 for n in range(traffic.count) if traffic.bad(n)}
    for model in models:
        if model in JUDGES:
            records = committed(shop.bootstrap, model)
            JUDGES[model](records, traffic.good)


def values(records):
    return [record.value() and json.loads(record.value()) for record in records]


def once(records, expected, *fields):
    counts = Counter(tuple(row[field] for field in fields) for row in values(records))
    twice = {key: count for key, count in counts.items() if count > 1}
    assert (set(expected) - set(counts), set(counts) - set(expected), twice) == (set(), set(), {})


def users(good):
    return {row["id"]: f"u{row['id'] % USERS}" for row in good}


def check_plain(records, good):
    once(records, {(row["id"],) for row in good if row["value"] >= 1}, "id")


def check_odd(records, good):
    once(records, {(row["id"],) for row in good if row["id"] % 2}, "id")


def check_parts(records, good):
    once(records, {(row["id"], part) for row in good for part in (1, 2, 3)}, "id", "part")


def check_numbers(records, good):
    counts = Counter(users(good).values())
    expected = {(name, number) for name, count in counts.items() for number in range(1, count + 1)}
    once(records, expected, "user", "number")
    once(records, {(row["id"],) for row in good}, "id")


def check_totals(records, good):
    """Each change of a total is a record: one that comes twice does not increase it."""
    user = users(good)
    changes = defaultdict(list)
    for row in values(records):
        changes[row["user"]].append((row["events"], row["ids"]))
    for name, states in changes.items():
        assert states == sorted(set(states)), name
    sums = Counter()
    for number, name in user.items():
        sums[name] += number
    counts = Counter(user.values())
    assert {name: states[-1] for name, states in changes.items()} == {n: (counts[n], sums[n]) for n in counts}


def check_even(records, good):
    """Totals that become odd are deleted; a batch has a row for each user at most."""
    newest, batches = {}, Counter()
    for record, value in zip(records, values(records), strict=True):
        newest[record.key().decode()] = value and value["events"]
        batches[record.key(), headers(record)["millstream.batch"]] += 1
    assert set(batches.values()) == {1}
    even = {name: count for name, count in Counter(users(good).values()).items() if count % 2 == 0}
    assert {name: count for name, count in newest.items() if count} == even


def check_windows(records, good):
    """The watermark is a minute behind the newest record: each window that ended before it is told once."""
    user = users(good)
    windows = Counter((row["at"][:16], user[row["id"]]) for row in good)
    stored = Counter((row["minute"][:16], row["user"], row["events"]) for row in values(records))
    assert set(stored.values()) <= {1}
    assert {(minute, name): count for minute, name, count in stored}.items() <= windows.items()
    left = {minute for minute, _ in windows} - {minute for minute, _, _ in stored}
    assert left <= set(sorted({minute for minute, _ in windows})[-3:])


JUDGES = {
    "plain": check_plain,
    "odd": check_odd,
    "parts": check_parts,
    "numbers": check_numbers,
    "totals": check_totals,
    "even": check_even,
    "windows": check_windows,
}
