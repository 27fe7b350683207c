"""Unit tests agree with builds: their rows are expected from what builds over Kafka made of the same records.

Every build is a step. A test that expects exactly what the build stored and sent must pass; with one row more, one
row less, or another value, it must fail.
"""

import json
from datetime import datetime, timezone
from random import Random

import pytest
from support.long import UNITS, seeds
from support.runs import built, create_topics, errors, received, send, table_rows
from support.spark import SPARK_WARNINGS
from testing.conftest import EVENTS as SOURCE_EVENTS
from testing.conftest import write

from millstream.testing.session import TestSession
from millstream.testing.styled_text import plain_text

pytestmark = SPARK_WARNINGS
STEPS = 3

OTHERS = """
      - name: clicks
        key: {name: user, type: string}
        columns:
          - {name: n, type: bigint}
          - {name: ms, type: bigint}
          - {name: at, type: timestamp, from: timestamp_millis(ms)}
        watermark: {column: at, delay: 10 seconds}
        on_bad_record: dead_letter
      - name: users
        table: true
        key: {name: user, type: string}
        columns: [{name: segment, type: string}]
"""
FILES = {
    "pyproject.toml": '[project]\nname = "agree"\n[tool.millstream]\nname = "agree"\n',
    "profiles.yml": """
        agree:
          target: local
          outputs:
            local: {master: "local[2]", kafka: embedded, spark: {spark.sql.shuffle.partitions: 1}}
    """,
    "seeds/kinds.csv": "kind,name\nx,ex\ny,why\n",
    "models/sources.yml": SOURCE_EVENTS.replace("type: double", "type: bigint") + OTHERS,
}
EVENTS, CLICKS, USERS = (f"{{{{ source('web', '{topic}') }}}}" for topic in ("events", "clicks", "users"))


def sink(sql, **options):
    return config("sink", options) + sql


def table(key, sql, **options):
    return config("table", {"unique_key": key, **options}) + sql


def config(kind, options):
    return (
        "{{ config("
        + ", ".join(f"{name}={value!r}" for name, value in ({"materialized": kind} | options).items())
        + ") }}\n"
    )


MODELS = {
    "plain": sink(f"select id, user, kind from {EVENTS}"),
    "keyed": sink(f"select id, user, kind, value from {EVENTS} where value > 0", key="user"),
    "texts": sink(f"select user, kind from {EVENTS}", key="user", format="string"),
    "numbers": sink(f"select user, value from {EVENTS}", key="user", format="long"),
    "looked_up": sink(f"select e.id, u.segment from {EVENTS} as e left join {USERS} as u on u.user = e.user"),
    "looked_up_inner": sink(
        f"select e.id, u.segment from {EVENTS} as e join {USERS} as u on u.user = e.user"
    ),
    "not_there": sink(f"select id, user from {EVENTS} where user not in (select user from {USERS})"),
    "seeded": sink(
        f"select e.id, k.name from {EVENTS} as e left join {{{{ ref('kinds') }}}} as k using (kind)"
    ),
    "both": sink(f"select user, id as n from {EVENTS} union all select user, n from {CLICKS}"),
    "several": sink(f"select id, part from {EVENTS} lateral view explode(sequence(1, 2)) as part", key="id"),
    "totals": sink(
        f"select user, sum(value) as total, count(*) as n from {EVENTS} group by user", key="user"
    ),
    "having": sink(
        f"select user, sum(value) as total from {EVENTS} group by user having sum(value) > 2", key="user"
    ),
    "named_totals": sink(
        f"with t as (select user, sum(value) as total from {EVENTS} group by user) "
        f"select t.user, t.total, u.segment from t left join {USERS} as u on u.user = t.user",
        key="user",
    ),
    "totals_of_segments": sink(
        f"select u.segment, count(*) as n from {EVENTS} as e join {USERS} as u on u.user = e.user group by u.segment",
        key="segment",
    ),
    "windows": sink(
        f"select user, window.start as start, count(*) as n from {EVENTS} group by window(at, '1 minute'), user",
        key=["user", "start"],
    ),
    "closed": sink(
        f"select user, window.start as start, count(*) as n from {EVENTS} group by window(at, '1 minute'), user",
        key=["user", "start"],
        emit="on_close",
    ),
    "closed_with_names": sink(
        f"with w as (select user, window.start as start, count(*) as n from {EVENTS} "
        f"group by window(at, '1 minute'), user) "
        f"select w.user, w.start, w.n, u.segment from w left join {USERS} as u on u.user = w.user",
        key=["user", "start"],
        emit="on_close",
    ),
    "once": sink(
        f"select id, user, kind from {EVENTS}", dedupe={"keys": ["user", "kind"]}, unbounded_state="accept"
    ),
    "once_within": sink(
        f"select id, user, kind, at from {EVENTS}", dedupe={"keys": ["user", "kind"], "within": "1 minute"}
    ),
    "once_exactly": sink(
        f"select id, user, kind, at from {EVENTS}",
        dedupe={"keys": ["user", "kind"], "within": "1 minute", "exact": True},
    ),
    "joined": sink(
        f"select e.id, c.n from {EVENTS} as e join {CLICKS} as c "
        "on e.user = c.user and c.at between e.at - interval 20 seconds and e.at + interval 20 seconds"
    ),
    "newest": table("user", f"select user, id, kind from {EVENTS}"),
    "greatest": table("user", f"select user, id, at from {EVENTS} where at is not null", order_by="at"),
    "erased": table("user", f"select user, id, kind from {EVENTS}", delete_when="kind = 'y'"),
    "counted": table("user", f"select user, count(*) as n from {EVENTS} group by user"),
    "counted_having": table(
        "user", f"select user, sum(id) as n from {EVENTS} group by user having sum(id) % 3 > 0"
    ),
    "versions": table(
        "user", f"select user, id, at from {EVENTS} where at is not null", order_by="at", versions="all"
    ),
    "of_table": sink("select user, n from {{ ref('counted') }} where n > 1", key="user"),
    "changes_of_table": sink("select user, n from {{ ref('counted') }}", key="user", emit="changes"),
    "by_table": sink(
        f"select e.id, c.n from {EVENTS} as e left join {{{{ ref('newest') }}}} as n on n.user = e.user "
        f"left join {{{{ ref('counted') }}}} as c on c.user = e.user"
    ),
    "sums": table(
        "kind",
        "select kind, sum(id) as n from {{ ref('newest') }} where kind is not null group by kind having count(*) > 1",
    ),
}
FORMATS = {"texts": ("kind", str), "numbers": ("value", int)}


def records(random, steps=STEPS):
    """Yield the records of each step, by topic, as rows of a unit test."""
    numbers = iter(range(1, 10_000))
    now = 0
    for step in range(steps):
        rows = {"events": [], "clicks": [], "users": []}
        for _ in range(random.randint(0 if step else 2, 6)):
            now += random.choice([0, 1000, 20_000, 70_000])
            kind = random.choice(["x", "y", "z", None])
            rows["events"].append({
                "user": random.choice("abc"), "id": next(numbers), "kind": kind,
                "value": random.choice([None, -2, 1, 2, 3]), "ms": now - random.choice([0, 0, 3000, 9000]),
            })  # fmt: skip
        for _ in range(random.randint(0, 4)):
            rows["clicks"].append(
                {"user": random.choice("abc"), "n": next(numbers), "ms": now - random.choice([0, 3000])}
            )
        for _ in range(random.randint(0, 3)):
            user = {"user": random.choice("abc")}
            rows["users"].append(
                user | random.choice([{"segment": "old"}, {"segment": "new"}, {"_value": None}])
            )
        yield rows


def as_record(row):
    value = (
        None
        if "_value" in row
        else {name: column_value for name, column_value in row.items() if name != "user"}
    )
    return row["user"], value


class Builds:
    """What each build of the project stored and sent."""

    def __init__(self, root, bootstrap, spark, steps, names):
        self.root, self.bootstrap = root, bootstrap
        self.sent = {name: 0 for name in names if "'sink'" in MODELS[name]}
        self.stored = {name: {} for name in names if name not in self.sent}
        self.steps = []
        for step in steps:
            send(bootstrap, {topic: [as_record(row) for row in rows] for topic, rows in step.items()})
            _, events = built(root, spark)
            assert not errors(events), errors(events)
            self.steps.append({name: self._step(name) for name in names})

    def _step(self, name):
        return self._records(name) if name in self.sent else self._changes(name)

    def _records(self, name):
        messages = sorted(received(self.bootstrap, name), key=lambda message: message.offset())
        new, self.sent[name] = messages[self.sent[name] :], len(messages)
        rows = [self._row(name, message) for message in new]
        return [row for row in rows if row is not None]

    def _row(self, name, message):
        keys = KEYS.get(name, [])
        text = (message.key() or b"").decode()
        key = (json.loads(text) if len(keys) > 1 else {keys[0]: _typed(text)}) if keys else {}
        if name == "changes_of_table":
            change = json.loads(message.value() or "{}")
            return (change and (change["after"] or key | {"_deleted": True})) or None
        if message.value() is None:
            return key | ({FORMATS[name][0]: None} if name in FORMATS else {"_deleted": True})
        if name == "texts":
            return key | {"kind": message.value().decode()}
        if name == "numbers":
            return key | {"value": int.from_bytes(message.value(), "big", signed=True)}
        return json.loads(message.value())

    def _changes(self, name):
        keys = KEYS[name]
        before = self.stored[name]
        self.stored[name] = {
            tuple(row[key] for key in keys): row for row in table_rows(self.root, f"model.{name}")
        }
        now = self.stored[name]
        gone = [dict(zip(keys, key, strict=True)) | {"_deleted": True} for key in before.keys() - now.keys()]
        return [row for key, row in now.items() if before.get(key) != row] + gone


def _typed(text):
    return int(text) if text.lstrip("-").isdigit() else text


KEYS = {
    "keyed": ["user"], "texts": ["user"], "numbers": ["user"], "several": ["id"], "totals": ["user"], "having": ["user"],
    "named_totals": ["user"], "totals_of_segments": ["segment"], "windows": ["user", "start"],
    "closed": ["user", "start"], "closed_with_names": ["user", "start"], "newest": ["user"], "greatest": ["user"],
    "erased": ["user"], "counted": ["user"], "counted_having": ["user"], "versions": ["user", "valid_from"],
    "of_table": ["user"], "changes_of_table": ["user"], "sums": ["kind"],
}  # fmt: skip
TEXTS = {"user", "kind", "segment", "name"}
UPSERTS = {"totals", "having", "named_totals", "totals_of_segments", "windows", "of_table"}
"""Sinks of rows that change: a step has the newest of each key."""


def plain(value):
    match value:
        case datetime():
            return (
                (value if value.tzinfo else value.replace(tzinfo=timezone.utc))
                .astimezone(timezone.utc)
                .isoformat(sep=" ")
            )
        case dict():
            return {name: plain(field) for name, field in value.items()}
        case _:
            return value


def expected(name, rows):
    if name in UPSERTS:
        rows = list({tuple(row.get(key) for key in KEYS[name]): row for row in rows}.values())
    return [plain(row) for row in rows]


def unit_test(name, steps, builds):
    unit_steps = []
    for number, step in enumerate(steps):
        inputs = []
        for topic, rows in step.items():
            if f"'{topic}'" in MODELS[name]:
                inputs.append({"input": f"source('web', '{topic}')", "rows": rows})
        inputs += [
            {"input": f"ref('{other}')", "rows": [plain(row) for row in builds.steps[number][other]]}
            for other in ("counted", "newest")
            if f"ref('{other}')" in MODELS[name]
        ]
        unit_steps.append({"given": inputs, "expect": expected(name, builds.steps[number][name])})
    return {"name": name, "model": name, "strict": False, "steps": unit_steps}


def wrong(test, random):
    """Return the same test with one row more, one row less, or another value."""
    test = json.loads(json.dumps(test))
    test["name"] += "_wrong"
    full = [step["expect"] for step in test["steps"] if step["expect"]]
    rows = random.choice(full) if full else random.choice(test["steps"])["expect"]
    if not rows:
        key = next(iter(KEYS.get(test["model"], ["id"])))
        rows.append({key: 99 if key == "id" else "q"})
        return test
    row = random.choice(rows)
    match random.choice(["more", "less", "other"]):
        case "more":
            rows.append(dict(row))
        case "less":
            rows.remove(row)
        case "other" if row.get("_deleted"):
            del row["_deleted"]
        case "other":
            name = random.choice(
                [name for name in row if name not in {"start", "at", "valid_from", "valid_to"}]
            )
            row[name] = None if row[name] is not None else "q" if name in TEXTS else 99
    return test


FEW = ("texts", "looked_up", "named_totals", "counted", "counted_having", "newest", "by_table")
"""Models whose unit tests differed from builds, and what these read."""


@pytest.mark.long
def test_a_few_unit_tests_agree_with_builds(tmp_path, broker, first_spark):
    assert disagreements(tmp_path, broker, first_spark, FEW, 1, steps=2) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(UNITS))
def test_unit_tests_agree_with_builds(tmp_path, broker, first_spark, seed):
    assert disagreements(tmp_path, broker, first_spark, MODELS, seed) == []


def disagreements(root, broker, spark, names, seed, steps=STEPS):
    """Build models, and test them; return the tests that fail or pass and should not."""
    write(root, FILES | {f"models/{name}.sql": MODELS[name] for name in names})
    create_topics(broker, "events", "clicks", "users", partitions=1)
    random = Random(f"units {seed}")
    sent_steps = list(records(random, steps))
    builds = Builds(root, broker, spark, sent_steps, names)
    tests = [unit_test(name, sent_steps, builds) for name in names]
    tests += [wrong(test, random) for test in tests]
    lines = "\n".join(f"  - {json.dumps(test)}" for test in tests)
    write(root, {"tests/agree.yml": f"unit_tests:\n{lines}"})
    session = TestSession(root)
    try:
        judged = [(unit, session.judge(unit)) for unit in session.main.project.unit_tests]
    finally:
        session.close()
    return [
        (unit.name, plain_text(verdict.lines) or json.dumps(unit.body))
        for unit, verdict in judged
        if verdict.passed == unit.name.endswith("_wrong")
    ]
