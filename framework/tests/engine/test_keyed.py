"""Python functions with keyed state, as streams of Spark from files."""

import re
import time
from datetime import datetime, timezone

import pytest
from chispa import assert_df_equality
from streaming.query_runner import QUICK
from support.keyed import GROWING
from support.runs import built, statuses

from millstream.compile import compile_project
from millstream.core.errors import MillstreamError
from millstream.core.types import BIGINT, INT, STRING, TIMESTAMP, Array
from millstream.engine.python.keyed import yielded_rows
from millstream.engine.queries.spark_progress import state_of
from millstream.plan.nodes import Column
from millstream.project.load import load_project
from millstream.queries.emit.steps import StatefulView

FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "shop"\n',
    "macros/visits.py": """\
from dataclasses import dataclass, field
from datetime import datetime
from typing import Iterator, NamedTuple, TypedDict

class Click(NamedTuple):
    id: int | None
    at: datetime | None
    tags: list[str]

@dataclass
class Last:
    at: datetime

@dataclass
class State:
    count: int = 0
    last: Last | None = None
    ids: list[int] = field(default_factory=list)

@dataclass
class Visit:
    user: str | None
    number: int
    before: datetime | None
    ids: list[int]

class Seen(TypedDict, total=False):
    tags: list[str]

def visits(key: str | None, rows: Iterator[Click], state: State) -> Iterator[Visit]:
    for row in rows:
        state.count += 1
        state.ids.append(row.id or -1)
        yield Visit(key, state.count, state.last and state.last.at, state.ids[:])
        state.last = row.at and Last(row.at)

def new_tags(key: str | None, rows: Iterator[Click], state: Seen) -> Iterator[str]:
    for row in rows:
        known = state.setdefault("tags", [])
        for tag in row.tags:
            if tag not in known:
                known.append(tag)
                yield tag

def halves(key: str, rows: Iterator[Click], state: State) -> Iterator[float]:
    for row in rows:
        yield 1 / (row.id - 3)

def misfits(key: str, rows: Iterator[Click], state: State) -> Iterator[Visit]:
    for row in rows:
        yield Visit(key, 1.5 if row.id == 1 else 1, None, [2**70] if row.id == 2 else None)

def texts(key: str, rows: Iterator[Click], state: State) -> Iterator[int]:
    for row in rows:
        yield row.tags[0]

class Strange(NamedTuple):
    idd: int

def strange(key: str, rows: Iterator[Strange], state: State) -> Iterator[int]:
    yield 1
""",
}
CLICKS = "user string, other int, ID bigint, at timestamp, tags array<string>"
BIG = 2**53 + 1
VISITS = (
    Column("v_user", STRING),
    Column("number", BIGINT),
    Column("before", TIMESTAMP),
    Column("ids", Array(BIGINT)),
)


def noon(minute):
    return datetime(2026, 7, 1, 12, minute, tzinfo=timezone.utc)


class Clicks:
    """A stream of clicks, from files that a test writes, through a function."""

    def __init__(self, spark, root):
        self.spark = spark
        self.root = root
        for path, text in FILES.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        self.project = load_project(root, None, None, None)

    def write(self, *clicks):
        rows = self.spark.createDataFrame([(u, 0, i, time, tags) for u, i, time, tags in clicks], CLICKS)
        rows.coalesce(1).write.mode("append").parquet(str(self.root / "in"))

    def view(self, function, *columns, ttl=None):
        self.spark.readStream.schema(CLICKS).parquet(str(self.root / "in")).createOrReplaceTempView("clicks")
        step = StatefulView("made", "clicks", function, ("user",), columns, ttl)
        return yielded_rows(self.spark, self.project, step, "append")

    def run(self, function, *columns, ttl=None):
        """Return what a function makes of the files that came since the last run."""
        collected = []
        view = self.view(function, *columns, ttl=ttl)
        query = view.writeStream.foreachBatch(lambda rows, _: collected.extend(rows.collect()))
        query = query.option("checkpointLocation", str(self.root / "checkpoint")).trigger(availableNow=True)
        run = query.start()
        run.awaitTermination()
        states = [state_of(state) for batch in run.recentProgress for state in batch.stateOperators]
        self.expired = sum(state.expired for state in states)
        return sorted((tuple(row) for row in collected), key=str)


@pytest.fixture
def clicks(spark, tmp_path):
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    return Clicks(spark, tmp_path)


def test_state_is_kept_by_key_and_lives_on_after_a_restart(clicks):
    clicks.write(("a", BIG, noon(1), []), ("b", None, None, []), (None, 7, noon(2), []))
    first = clicks.run("visits", *VISITS)
    assert first == [("a", 1, None, [BIG]), ("b", 1, None, [-1]), (None, 1, None, [7])]
    clicks.write(("a", 2, noon(3), []), ("b", 3, noon(4), []))
    assert [(user, number, ids) for user, number, _, ids in clicks.run("visits", *VISITS)] == [
        ("a", 2, [BIG, 2]), ("b", 2, [-1, 3]),
    ]  # fmt: skip
    clicks.write(("a", 4, None, []))
    assert [row[1] for row in clicks.run("visits", *VISITS)] == [3]


@pytest.mark.long
def test_times_in_state_are_the_same_after_a_restart(clicks):
    clicks.write(("a", 1, noon(1), []))
    clicks.run("visits", *VISITS)
    clicks.write(("a", 2, noon(2), []))
    ((_, _, before, _),) = clicks.run("visits", *VISITS)
    assert before.timestamp() == noon(1).timestamp()


def test_a_scalar_is_a_row_and_a_typed_dict_a_state(clicks):
    clicks.write(("a", 1, None, ["x", "y"]), ("a", 2, None, ["y"]), ("b", 3, None, ["y"]))
    assert clicks.run("new_tags", Column("value", STRING)) == [("x",), ("y",), ("y",)]
    clicks.write(("a", 1, None, ["x", "z"]))
    assert clicks.run("new_tags", Column("value", STRING)) == [("z",)]


def test_a_key_that_does_not_come_for_longer_than_its_ttl_begins_anew(clicks):
    def count(*users):
        clicks.write(*((user, 1, None, []) for user in users))
        return [(user, number) for user, number, _, _ in clicks.run("visits", *VISITS, ttl="1 second")]

    assert count("a", "b") == [("a", 1), ("b", 1)]
    assert clicks.expired == 0
    time.sleep(1.2)
    assert count("a") == [("a", 1)]
    assert clicks.expired == 1, "b: a comes again in the batch that would remove it"


@pytest.mark.long
def test_a_key_that_comes_again_is_kept_for_another_ttl_though_its_state_stays_the_same(clicks):
    def new(*tags):
        clicks.write(("a", 1, None, list(tags)))
        values = clicks.run("new_tags", Column("value", STRING), ttl="1 day")
        state = clicks.spark.read.format("statestore").option("stateVarName", "state")
        (row,) = state.load(str(clicks.root / "checkpoint")).select("value").collect()
        return values, row.value.ttlExpirationMs

    first, until = new("x")
    again, later = new("x")
    assert (first, again) == ([("x",)], [])
    assert later > until


def test_a_batch_query_begins_with_no_state(clicks, spark):
    clicks.write(("a", 1, None, ["x"]), ("a", 2, None, ["x", "y"]))
    spark.read.parquet(str(clicks.root / "in")).createOrReplaceTempView("clicks")
    step = StatefulView("made", "clicks", "new_tags", ("user",), (Column("value", STRING),))
    expected = spark.createDataFrame([("x",), ("y",)], "value string")
    assert_df_equality(yielded_rows(spark, clicks.project, step, "append"), expected, ignore_row_order=True)


def test_a_failing_function_is_named_with_its_line(clicks):
    clicks.write(("a", 3, None, []))
    with pytest.raises(Exception, match=r"a function failed: halves\(\): ZeroDivisionError: .*visits.py:\d+"):
        clicks.run("halves", Column("value", INT))


@pytest.mark.parametrize(
    ("click", "reason"),
    [
        ((1, ["x"]), "misfits(): yielded 1.5 in 'number', which does not fit bigint"),
        pytest.param(
            *((2, ["x"]), f"misfits(): yielded {2**70} in 'ids.[0]', which does not fit bigint"),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *((3, ["x"]), "misfits(): yielded None in 'ids', whose hint is not optional: an array"),
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_row_that_is_not_what_its_hints_say_fails(clicks, click, reason):
    clicks.write(("a", click[0], None, click[1]))
    with pytest.raises(Exception, match=re.escape(f"a function failed: {reason}")):
        clicks.run("misfits", *VISITS)


def test_a_single_value_that_is_not_what_its_hint_says_fails(clicks):
    clicks.write(("a", 1, None, ["x"]))
    reason = re.escape("a function failed: texts(): yielded 'x', which does not fit bigint")
    with pytest.raises(Exception, match=reason):
        clicks.run("texts", Column("value", BIGINT))


def test_a_column_that_is_not_there(clicks):
    clicks.write(("a", 3, None, []))
    with pytest.raises(MillstreamError, match=r"MS877: strange.. reads 'idd'") as raised:
        clicks.view("strange", Column("value", INT))
    assert raised.value.diagnostics[0].help == "did you mean 'ID'?"


MODEL = (
    "{{ config(materialized='sink') }}\n"
    "select t.value from {{ source('web', 'events') }} as e, lateral growing(e.user) as t"
)


@pytest.mark.long
def test_a_model_calls_it_with_the_key_and_goes_on_in_the_next_build(shop, first_spark):
    shop.write("macros/growing.py", GROWING)
    shop.model("totals", MODEL)
    shop.send(("a", {"id": 1}), ("b", {"id": 10}))
    assert statuses(built(shop.root, first_spark)[0]) == {"totals": "success"}
    shop.send(("a", {"id": 2}))
    built(shop.root, first_spark)
    assert [row["value"] for row in shop.values("totals")] in ([1, 10, 3], [10, 1, 3])


def test_a_key_that_is_calculated_in_the_call_is_refused(shop):
    shop.write("macros/growing.py", GROWING)
    shop.model("totals", MODEL.replace("e.user", "lower(e.user)"))
    diagnostics = compile_project(shop.root, use_cache=False).diagnostics
    assert [diagnostic.message for diagnostic in diagnostics] == ["the key of growing() must be a column"]
