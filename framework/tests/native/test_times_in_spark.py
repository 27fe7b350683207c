"""Dates and times of translated functions: their parts, and comparisons."""

import random
from datetime import date, datetime, timedelta, timezone

import pytest
from native.function_comparison import compared
from support.long import NATIVE_ROWS

from millstream.compile.native_functions import translate_function
from millstream.core.text import FileText
from millstream.native import Obstacle
from millstream.project.functions import read_functions

HEAD = """
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated

@dataclass
class Visit:
    at: datetime
    day: date | None
    hours: list[int]
"""
SIGNATURE = "t: datetime, u: datetime | None, d: date, e: date"
PARAMETERS = {"t": "time", "u": "time", "d": "date", "e": "date"}
FUNCTIONS = {
    "parts": ("list[int]", "[t.year, t.month, t.day, t.hour, t.minute, t.second]"),
    "parts_of_date": ("list[int]", "[d.year, d.month, d.day]"),
    "weekdays": ("list[int]", "[t.weekday(), t.isoweekday(), d.weekday(), d.isoweekday()]"),
    "seconds": ("float", "t.timestamp()"),
    "between": ("float", "(u.timestamp() - t.timestamp()) / 3600"),
    "day_of": ("date", "t.date()"),
    "is_weekend": ("bool", "t.weekday() >= 5 or d.isoweekday() > 5"),
    "earlier": ("bool", "t < u"),
    "earlier_date": ("bool", "d <= e"),
    "same_day": ("bool", "t.date() == d and d != e"),
    "same_time": ("bool", "t == u"),
    "later": ("datetime | None", "t if u is None or t > u else u"),
    "true": ("bool", "bool(t) and not d"),
    "same": ("datetime", "u"),
    "visit": ("Visit", "Visit(t, e, [t.hour, u.hour if u else 0])"),
    "late": ("list[datetime]", "[x for x in [t, u] if x is not None and x.hour > 11]"),
    "number_as_time": ("datetime", "t.year if d.day == 3 else t"),
}


def times(seed, count):
    dice = random.Random(seed)
    first, last = (
        datetime(1, 1, 1, tzinfo=timezone.utc),
        datetime(9999, 12, 31, 23, 59, 59, 999999, timezone.utc),
    )
    near = [
        first,
        last,
        datetime(1970, 1, 1, tzinfo=timezone.utc),
        datetime(2024, 2, 29, 23, 59, 59, 1, timezone.utc),
    ]

    def time():
        chance = dice.random()
        if chance < 0.05:
            return None
        if chance < 0.3:
            return dice.choice(near)
        if chance < 0.6:
            return near[2] + timedelta(microseconds=dice.randint(-(10**16), 2 * 10**15))
        return first + timedelta(microseconds=dice.randrange(int((last - first).total_seconds()) * 10**6))

    def day():
        timestamp = time()
        return timestamp and date(timestamp.year, timestamp.month, timestamp.day)

    return [[time(), time(), day(), day()] for _ in range(count)]


@pytest.mark.long
def test_each_construct(spark):
    functions = "\n".join(
        f"def {name}_of({SIGNATURE}) -> {hint}: return {body}" for name, (hint, body) in FUNCTIONS.items()
    )
    text = f"{HEAD}\n{functions}\n"
    refused = {
        f.name: obstacle.what
        for f in read_functions(FileText("macros/all.py", text))[0]
        if isinstance(obstacle := translate_function(f, text), Obstacle)
    }
    assert refused == {}
    _, values, failed = compared(spark, text, times(7, NATIVE_ROWS), PARAMETERS, "macros/all.py")
    assert values > failed > 0


@pytest.mark.parametrize(
    ("body", "obstacle"),
    [
        ("-> bool: return t < d", "`t < d`, a comparison of other values than numbers and texts"),
        ("-> str: return str(t)", "`t`, no number or text, in this place"),
        ("-> str: return t.isoformat()", "`.isoformat()` of a date or a time"),
        ("-> int: return d.hour", "`.hour` of a date or a time"),
        ("-> int: return (t - u).days", "`t`, no number or text, in this place"),
        ("-> date: return t", "a result of type date"),
        ("-> str: return t", "a result of type string"),
    ],
)  # fmt: skip
def test_what_is_not_provable_runs_in_python(body, obstacle):
    text = f"{HEAD}\ndef f({SIGNATURE}) {body}\n"
    assert translate_function(read_functions(FileText("macros/a.py", text))[0][-1], text).what == obstacle


def test_a_time_of_another_class_runs_in_python():
    text = f"{HEAD}\ndef f(t: Annotated[str, 'timestamp']) -> int: return 1\n"
    assert (
        translate_function(read_functions(FileText("macros/a.py", text))[0][-1], text).what
        == "a parameter of type timestamp"
    )
