"""Calls of the user's functions, as a Python worker makes them."""

from datetime import datetime, timezone

import pyarrow as pa
import pytest

from millstream.runner.python.worker import Source, callee, guarded_call, module_of, plain_call

FILE = """
from dataclasses import dataclass
from datetime import datetime
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
"""


def source(text=FILE):
    return Source("macros/scores.py", text, str(abs(hash(text))))


def call(name, returns, *columns, nested=False):
    return plain_call(source(), name, returns, nested=nested)(*columns).to_pylist()


POINTS = pa.array(
    [{"x": 1, "y": 2}, {"x": 3, "y": None}, None], pa.struct([("x", pa.int64()), ("y", pa.int64())])
)


def test_a_file_is_run_once():
    assert module_of(source()) is module_of(source())


def test_structs_are_what_the_hints_say():
    assert call("far", pa.int64(), POINTS) == [3, 3, -1]
    assert call("mirrored", POINTS.type, POINTS[:1], nested=True) == [{"x": 2, "y": 1}]
    assert call("named", pa.string(), pa.array([{"name": "a"}])) == ["A"]
    assert call("total", pa.int64(), pa.array([{"points": [{"x": 1, "y": 1}, {"x": 4, "y": 1}]}])) == [5]


def test_maps_are_dicts():
    given = pa.array([[("a", 2), ("b", 1)]], pa.map_(pa.string(), pa.int64()))
    assert call("sizes", pa.list_(pa.int64()), given, nested=True) == [[1, 2]]


def test_times_are_in_utc():
    at = pa.array([datetime(2026, 1, 1, 12, tzinfo=timezone.utc)], pa.timestamp("us", "Europe/Amsterdam"))
    assert call("hour", pa.int64(), at) == [12]
    made = call("next_day", pa.timestamp("us", "UTC"), at, nested=True)
    assert made == [datetime(2026, 1, 2, tzinfo=timezone.utc)]


def test_a_table_function_gives_a_list():
    assert call("words", pa.list_(pa.string()), pa.array(["a b"]), nested=True) == [["a", "b"]]


def test_a_failing_call_names_function_line_and_error():
    with pytest.raises(RuntimeError) as raised:
        call("half", pa.float64(), pa.array([5, 0]))
    line = 1 + FILE.split("\n").index("    return 10 / value")
    assert str(raised.value) == (
        f"a function failed: half(): ZeroDivisionError: division by zero (macros/scores.py:{line})"
    )


def test_a_guarded_call_is_made_for_the_rows_that_want_it():
    wanted = pa.array([True, False, None, True])
    module_of(source()).LOADED.clear()
    found = guarded_call(source(), "half", pa.float64(), nested=False)(wanted, pa.array([5, 1, 2, 4]))
    assert [each["value"] for each in found.to_pylist()] == [2.0, None, None, 2.5]
    assert module_of(source()).LOADED == [5, 4]


def test_a_guarded_call_gives_its_failure():
    found = guarded_call(source(), "half", pa.float64(), nested=False)(
        pa.array([True, True]), pa.array([0, 5])
    )
    bad, good = found.to_pylist()
    assert bad["value"] is None
    assert bad["error"].startswith("half(): ZeroDivisionError")
    assert good == {"value": 2.0, "error": None}


def test_a_guarded_call_without_arguments():
    found = guarded_call(source(), "always", pa.int64(), nested=False)(pa.array([True, False]))
    assert [each["value"] for each in found.to_pylist()] == [1, None]


def test_arguments_that_have_defaults_may_be_left_out():
    text = "def more(a: int, b: int = 2) -> int:\n    return a + b\n"
    known = callee(source(text), "more")
    assert known.call(*known.converted([1])) == 3
