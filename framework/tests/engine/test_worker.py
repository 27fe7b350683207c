"""Calls of the user's functions, as a Python worker makes them."""

import os
import signal
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import millstream.engine.python.functions  # noqa: F401 - registers what pickle sends
from millstream.engine.python.dead_workers import functions_of_dead_workers, in_function
from millstream.engine.python.worker import (
    CALLS,
    SourceFile,
    SqlFunction,
    guarded_call,
    located_call,
    module_of,
    plain_call,
    typed_function,
)
from millstream.engine.queries.failures import problem_of

FILE = """
import os
import sys
from dataclasses import dataclass
from datetime import date, datetime
from typing import Iterator, NamedTuple, TypedDict

LOADED = []

@dataclass
class Point:
    x: int
    y: int | None = None

class Named(NamedTuple):
    name: str

class Typed(TypedDict):
    points: list[Point]

def half(value: int) -> float:
    LOADED.append(value)
    return 10 / value

def far(point: Point | None) -> int:
    return -1 if point is None else point.x + (point.y or 0)

def mirrored(point: Point) -> Point:
    return Point(point.y, point.x)

def total(given: Typed) -> int:
    return sum(point.x for point in given["points"])

def named(given: Named) -> str:
    return given.name.upper()

def sizes(counts: dict[str, int]) -> list[int]:
    return sorted(counts.values())

def hour(at: datetime) -> int:
    return at.hour

def next_day(at: datetime) -> datetime:
    return datetime(at.year, at.month, at.day + 1)

def words(text: str) -> Iterator[str]:
    yield from text.split()

def always() -> int:
    return 1

class Sneaky(Exception):
    def __str__(self):
        sys.exit(1)

class Unshown:
    def __repr__(self):
        raise ValueError

def ends(how: str) -> int:
    match how:
        case "exit": sys.exit(3)
        case "interrupt": raise KeyboardInterrupt
        case "os": os._exit(4)
        case "sneaky": raise Sneaky
        case "lines": raise ValueError("a\\nb \\ud800")
    return 1

COUNTS: dict[str, int] = {}
POINTS: list[dict[str, int]] = []

def same_counts(name: str) -> dict[str, int]:
    COUNTS.clear()
    COUNTS[name] = len(name)
    return COUNTS

def same_points(x: int) -> Iterator[Typed]:
    row = {"points": POINTS}
    for each in range(x):
        POINTS[:] = [{"x": each}]
        yield row

@dataclass
class Exits:
    x: int

    def __post_init__(self):
        if self.x == 3:
            sys.exit(1)

def of_exits(given: Exits | None) -> int:
    return given.x if given else 0

def given_int(which: str) -> int:
    return GIVEN[which]

def given_text(which: str) -> str | None:
    return GIVEN[which]

def given_float(which: str) -> float:
    return GIVEN[which]

def given_date(which: str) -> date:
    return GIVEN[which]

def given_point(which: str) -> Point:
    return GIVEN[which]

def given_typed(which: str) -> Typed:
    return GIVEN[which]

def given_numbers(which: str) -> Iterator[int]:
    return GIVEN[which]

def given_counts(which: str) -> dict[str, int]:
    return GIVEN[which]

GIVEN = {
    "none": None, "half": 1.5, "whole": 2.0, "true": True, "large": 2 ** 70, "text": "a", "surrogate": "\\ud800",
    "bytes": b"a", "one": 1, "odd": 2 ** 53 + 1, "unshown": Unshown(), "now": datetime(2026, 1, 1), "point": Point(1),
    "no_x": Point(None), "half_x": Point(1, 0.5), "dict": {"x": 1}, "more": {"x": 1, "z": 2}, "lacks": {"y": 1},
    "typed": {"points": [{"x": 1}]}, "half_in": {"points": [Point(1), Point(2.5)]}, "numbers": [1, 2],
    "some": [1, None], "counts": {"a": 1}, "wrong_key": {1: 1}, "no_count": {"a": None}, "long": "x" * 200 + "\\n",
}
"""


def source(text=FILE):
    return SourceFile("macros/scores.py", text, str(abs(hash(text))))


def call(name, returns, *columns):
    return plain_call(SqlFunction(source(), name, returns))(*columns).to_pylist()


POINTS = pa.array(
    [{"x": 1, "y": 2}, {"x": 3, "y": None}, None], pa.struct([("x", pa.int64()), ("y", pa.int64())])
)


def test_a_file_is_run_once():
    assert module_of(source()) is module_of(source())


def test_structs_are_what_the_hints_say():
    assert call("far", pa.int64(), POINTS) == [3, 3, -1]
    assert call("mirrored", POINTS.type, POINTS[:1]) == [{"x": 2, "y": 1}]
    assert call("named", pa.string(), pa.array([{"name": "a"}])) == ["A"]
    assert call("total", pa.int64(), pa.array([{"points": [{"x": 1, "y": 1}, {"x": 4, "y": 1}]}])) == [5]


def test_maps_are_dicts():
    maps = pa.array([[("a", 2), ("b", 1)]], pa.map_(pa.string(), pa.int64()))
    assert call("sizes", pa.list_(pa.int64()), maps) == [[1, 2]]


def test_times_are_in_utc():
    times = pa.array([datetime(2026, 1, 1, 12, tzinfo=timezone.utc)], pa.timestamp("us", "Europe/Amsterdam"))
    assert call("hour", pa.int64(), times) == [12]
    next_days = call("next_day", pa.timestamp("us", "UTC"), times)
    assert next_days == [datetime(2026, 1, 2, tzinfo=timezone.utc)]


def test_a_table_function_gives_a_list():
    assert call("words", pa.list_(pa.string()), pa.array(["a b"])) == [["a", "b"]]


def test_a_function_may_change_what_it_returned_before():
    assert call("same_counts", pa.map_(pa.string(), pa.int64()), pa.array(["a", "bc"])) == [
        [("a", 1)],
        [("bc", 2)],
    ]
    rows = call("same_points", pa.list_(TYPED), pa.array([2, 1]))
    assert [[row["points"][0]["x"] for row in points] for points in rows] == [[0, 1], [0]]


def test_a_class_that_exits_fails_its_row_alone():
    coordinates = POINTS.filter(pa.array([True, True, True])).flatten()[0]
    column = pa.StructArray.from_arrays([coordinates], names=["x"])
    results = guarded_call(SqlFunction(source(), "of_exits", pa.int64()))(
        pa.array([True] * 3), column
    ).to_pylist()
    assert [result["value"] for result in results[:1]] == [1]
    assert results[1]["error"].startswith("of_exits(): SystemExit: 1")


def test_a_failing_call_names_function_line_and_error():
    with pytest.raises(RuntimeError) as raised:
        call("half", pa.float64(), pa.array([5, 0]))
    line = 1 + FILE.split("\n").index("    return 10 / value")
    assert str(raised.value) == (
        f"a function failed: half(): ZeroDivisionError: division by zero (macros/scores.py:{line})"
    )


def test_a_guarded_call_is_made_for_the_rows_that_want_it():
    mask = pa.array([True, False, None, True])
    module_of(source()).LOADED.clear()
    results = guarded_call(SqlFunction(source(), "half", pa.float64()))(mask, pa.array([5, 1, 2, 4]))
    assert [result["value"] for result in results.to_pylist()] == [2.0, None, None, 2.5]
    assert module_of(source()).LOADED == [5, 4]


def test_a_guarded_call_gives_its_failure():
    results = guarded_call(SqlFunction(source(), "half", pa.float64()))(
        pa.array([True, True]), pa.array([0, 5])
    )
    bad, good = results.to_pylist()
    assert bad["value"] is None
    assert bad["error"].startswith("half(): ZeroDivisionError")
    assert good == {"value": 2.0, "error": None}


def test_a_guarded_call_without_arguments():
    results = guarded_call(SqlFunction(source(), "always", pa.int64()))(pa.array([True, False]))
    assert [result["value"] for result in results.to_pylist()] == [1, None]


def test_arguments_that_have_defaults_may_be_left_out():
    text = "def more(a: int, b: int = 2) -> int:\n    return a + b\n"
    function = typed_function(source(text), "more")
    assert function.call(*function.converted([1])) == 3


def test_a_literal_with_none_allows_none():
    text = "from typing import Literal\ndef which(x: int) -> Literal['a', None]:\n    return 'a' if x else None\n"
    called = SqlFunction(source(text), "which", pa.string())
    assert plain_call(called)(pa.array([0, 1])).to_pylist() == [None, "a"]


POINT = POINTS.type
TYPED = pa.struct([("points", pa.list_(POINT))])
FITTING = [
    ("given_int", pa.int64(), "whole", 2), ("given_int", pa.int64(), "one", 1), ("given_text", pa.string(), "none", None),
    ("given_float", pa.float64(), "one", 1.0), ("given_point", POINT, "point", {"x": 1, "y": None}),
    ("given_point", POINT, "dict", {"x": 1, "y": None}),
    ("given_typed", TYPED, "typed", {"points": [{"x": 1, "y": None}]}),
    ("given_numbers", pa.list_(pa.int64()), "numbers", [1, 2]),
    ("given_counts", pa.map_(pa.string(), pa.int64()), "counts", [("a", 1)]),
]  # fmt: skip
UNFIT = [
    ("given_int", pa.int64(), "none", "returned None, whose hint is not optional: bigint"),
    ("given_int", pa.int64(), "half", "returned 1.5, which does not fit bigint"),
    ("given_int", pa.int64(), "true", "returned True, which does not fit bigint"),
    ("given_int", pa.int64(), "text", "returned 'a', which does not fit bigint"),
    ("given_int", pa.int64(), "large", "returned 1180591620717411303424, which does not fit bigint"),
    ("given_int", pa.int64(), "unshown", "returned a value of Unshown, which does not fit bigint"),
    ("given_text", pa.string(), "surrogate", "returned '\\ud800', which does not fit string"),
    ("given_text", pa.string(), "bytes", "returned b'a', which does not fit string"),
    ("given_text", pa.string(), "one", "returned 1, which does not fit string"),
    ("given_int", pa.int64(), "long", "returned '" + "x" * 79 + "…, which does not fit bigint"),
    ("given_float", pa.float64(), "true", "returned True, which does not fit double"),
    ("given_float", pa.float64(), "text", "returned 'a', which does not fit double"),
    ("given_float", pa.float64(), "odd", "returned 9007199254740993, which does not fit double"),
    ("given_float", pa.float64(), "large", ""),
    ("given_date", pa.date32(), "one", "returned 1, which does not fit date"),
    ("given_date", pa.date32(), "now", "returned datetime.datetime(2026, 1, 1, 0, 0), which does not fit date"),
    ("given_point", POINT, "no_x", "returned None in 'x', whose hint is not optional: bigint"),
    ("given_point", POINT, "half_x", "returned 0.5 in 'y', which does not fit bigint"),
    ("given_point", POINT, "more", "returned {'x': 1, 'z': 2}, which does not fit a struct: it has no field 'z'"),
    ("given_point", POINT, "lacks", "returned None in 'x', whose hint is not optional: bigint"),
    ("given_point", POINT, "one", "returned 1, which does not fit a struct"),
    ("given_typed", TYPED, "half_in", "returned 2.5 in 'points.[1].x', which does not fit bigint"),
    ("given_numbers", pa.list_(pa.int64()), "some", "returned None in '[1]', whose hint is not optional: bigint"),
    ("given_counts", pa.map_(pa.string(), pa.int64()), "wrong_key", "returned 1 in '[1]', which does not fit string"),
    ("given_counts", pa.map_(pa.string(), pa.int64()), "no_count", "returned None in '['a']', whose hint is not optional: bigint"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "returns", "which", "value"), FITTING)
def test_what_fits_is_returned(name, returns, which, value):
    assert call(name, returns, pa.array([which])) == [value]


@pytest.mark.parametrize(("name", "returns", "which", "reason"), UNFIT)
def test_what_does_not_fit_is_a_failure_of_its_row_alone(name, returns, which, reason):
    good = next(case[2] for case in FITTING if case[0] == name) if name != "given_date" else None
    column = pa.array([good, which] if good else [which])
    results = guarded_call(SqlFunction(source(), name, returns))(
        pa.array([True] * len(column)), column
    ).to_pylist()
    if reason:
        assert results[-1] == {"value": None, "error": f"{name}(): {reason}"}
        with pytest.raises(RuntimeError, match=r"a function failed: given_\w+\(\): returned"):
            plain_call(SqlFunction(source(), name, returns))(column)
    if good:
        assert results[0]["error"] is None
        assert results[0]["value"] == next(case[3] for case in FITTING if case[0] == name)


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("exit", "SystemExit: 3"),
        ("interrupt", "KeyboardInterrupt: "),
        ("os", "RuntimeError: os._exit(4) would end the worker"),
        ("sneaky", "Sneaky: its message can't be shown"),
        ("lines", "ValueError: a b \\ud800"),
    ],
)
def test_no_function_ends_its_worker(how, error):
    results = guarded_call(SqlFunction(source(), "ends", pa.int64()))(
        pa.array([True, True]), pa.array([how, ""])
    ).to_pylist()
    assert results[0]["error"].partition(" (macros")[0] == f"ends(): {error}"
    assert results[1] == {"value": 1, "error": None}


def die_in(name, driver):
    text = f"import os, signal\ndef {name}() -> int:\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    if (process := os.fork()) == 0:
        guarded_call(SqlFunction(source(text), name, pa.int64(), driver=driver))(pa.array([True]))
    assert os.waitpid(process, 0)[1] == signal.SIGKILL


def message_of_death(*functions):
    error = RuntimeError("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)")
    return in_function(problem_of("totals", error, "log"), functions).message


def test_a_worker_that_dies_leaves_the_name_of_its_function():
    functions_of_dead_workers(("dies", "scores"))
    die_in("dies", os.getpid())
    assert message_of_death("scores", "dies") == "totals: the Python worker died in dies()"
    assert message_of_death("scores", "dies") == "totals: a Python worker died"


def test_a_dead_worker_of_another_query_or_process_is_not_blamed():
    functions_of_dead_workers(("dies", "scores"))
    die_in("dies", os.getpid())
    die_in("scores", os.getppid())
    assert message_of_death("scores") == "totals: a Python worker died"
    assert message_of_death("dies") == "totals: the Python worker died in dies()", "of its own query"
    left = list(Path(tempfile.gettempdir()).glob(f"{CALLS}{os.getppid()}-*"))
    assert [file.read_text() for file in left] == ["scores"]
    for file in left:
        file.unlink()


def test_a_worker_needs_no_millstream():
    call = guarded_call(SqlFunction(source(), "given_int", pa.int64()))
    program = (
        "import sys, pickle, pyarrow as pa\n"
        "sys.modules['millstream'] = None\n"
        "call = pickle.load(sys.stdin.buffer)\n"
        "print(call(pa.array([True] * 3), pa.array(['one', 'half', 'none'])).to_pylist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=cloudpickle.dumps(call), capture_output=True, check=False
    )
    assert done.stderr.decode() == ""
    assert "returned 1.5, which does not fit bigint" in done.stdout.decode()


def test_a_located_call_names_the_row_that_fails_and_skips_rows_without_a_location():
    positions = pa.array([None, {"model": "m", "user": "a"}, {"model": "m", "user": "b"}])
    located = located_call(SqlFunction(source(), "given_int", pa.int64()))
    assert located(positions, pa.array(["half", "one", "whole"])).to_pylist() == [None, 1, 2]
    with pytest.raises(
        RuntimeError, match=r"a function failed: model m, user b: given_int\(\): returned 1\.5, "
    ):
        located(positions, pa.array(["none", "one", "half"]))
