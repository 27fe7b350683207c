"""Translated functions, judged by Python: Spark's results are those of a worker, errors included."""

import math
import random

import pytest
from native.function_comparison import compared, rows
from native.random_functions import ARROW, PARAMETERS, Maker
from support.long import NATIVE, NATIVE_ROWS

from millstream.compile.native_functions import translate_function
from millstream.core.text import FileText
from millstream.native import Obstacle
from millstream.project.functions import read_functions

CONSTRUCTS = """
import math
from math import floor

SCORES = {"a": 1.5, "b": 2.0, "é": -0.25}
COUNTS = {"a": 1, "zz": 7, "": 3}
NUMBERS = {1: 1.5, 0: 2.5, 2.5: 0.5, -7: 9.0}
NAMES = frozenset({"a", "b", "purchase"})
STEPS = (1, 2.5, 3)
RATE: float = 1 / 8
LIMIT = 60 * 60

def plus(i: int, j: int) -> int: return i + j
def less_of(i: int, j: int) -> int: return i - j
def times(i: int, j: int) -> int: return i * j
def cubed(i: int, j: int) -> float: return i * i * i / (j or 1)
def divided(i: int, j: int) -> float: return i / j
def halves(i: int, j: int) -> int: return i // j
def rest(i: int, j: int) -> int: return i % j
def mixed_sum(i: int, x: float) -> float: return i + x * RATE - i
def float_divided(x: float, y: float) -> float: return x / y
def float_halves(x: float, y: float) -> float: return x // y
def float_rest(x: float, y: float) -> float: return x % y
def int_rest(x: float, i: int) -> float: return x % i + i // (x or 1.0)
def negative(i: int, x: float) -> float: return -x + -i
def absolute(i: int, x: float) -> float: return abs(x) + abs(i)
def rounded(x: float, i: int) -> int: return round(x)
def rounded_0(x: float, i: int) -> float: return round(x, 0)
def rounded_1(x: float, i: int) -> float: return round(x, 1)
def rounded_2(x: float, i: int) -> float: return round(x, 2)
def rounded_5(x: float, i: int) -> float: return round(x, 5)
def rounded_16(x: float, i: int) -> float: return round(x, 16)
def rounded_int(x: float, i: int) -> int: return round(i, 2)
def truncated(x: float, i: int) -> int: return int(x)
def floored(x: float, i: int) -> int: return floor(x) + math.ceil(x) * 2
def least(i: int, j: int) -> int: return min(i, j, LIMIT)
def least_mixed(i: int, x: float) -> float: return min(i, x) * 1.0
def greatest(x: float, y: float) -> float: return max(x, y, 0.0)
def equal(i: int, x: float) -> bool: return i == x
def less(i: int, x: float) -> bool: return i < x
def at_most(x: float, i: int) -> bool: return x <= i
def is_between(i: int, x: float) -> bool: return -5 < i <= x != 3
def texts(s: str, t: str) -> bool: return s < t
def same_text(s: str, t: str) -> bool: return s == t or s != "a" and t > "b"
def joined(s: str, i: int) -> str: return s + "-" + str(i)
def shown(x: float, i: int) -> str: return str(x)
def formatted(x: float, i: int) -> str: return f"{x:.2f}|{i:d}|{i}|{x!s}|{x > i}"
def formatted_0(x: float, i: int) -> str: return f"{x:.0f}|{i:.1f}"
def length(s: str, t: str) -> int: return len(s) + len(NAMES)
def first(s: str, i: int) -> str: return s[0]
def last(s: str, i: int) -> str: return s[-1]
def at(s: str, i: int) -> str: return s[i]
def sliced(s: str, i: int) -> str: return s[1:] + s[:-1] + s[-2:2]
def sliced_by(s: str, i: int) -> str: return s[i:] + s[:i]
def upper_of(s: str, t: str) -> str: return s.upper()
def lower_of(s: str, t: str) -> str: return s.lower() + t.lower()
def stripped(s: str, t: str) -> str: return s.strip() + t.lstrip("a ") + s.rstrip(t)
def replaced(s: str, t: str) -> str: return s.replace("a", t)
def found(s: str, t: str) -> int: return s.find(t) * 100 + s.count(t)
def starts(s: str, t: str) -> bool: return s.startswith(t) or t.endswith(("a", "😀"))
def is_within(s: str, t: str) -> bool: return s in t or s in NAMES or t not in ("", "q")
def cut(s: str, t: str) -> str: return s.removeprefix(t) + t.removesuffix("a")
def weight(s: str, i: int) -> float: return SCORES.get(s, 0.5)
def count_of(s: str, i: int) -> int: return COUNTS[s]
def number_of(i: int, x: float) -> float: return NUMBERS.get(x, 0.0) + NUMBERS.get(i, 1.0)
def step_of(i: int, x: float) -> float: return STEPS[i] * 1.0
def either(s: str, i: int) -> str: return s or "none" if i else s and "some"
def optional(i: int | None, x: float | None) -> float | None:
    if i is None or not x:
        return None
    return x / i
def early(i: int, s: str) -> str:
    if i < 0:
        return "negative"
    elif i == 0 and s:
        return s
    label = "many" if i > 10 else "few"
    return f"{label} {s}"
def looped(i: int, x: float) -> float:
    total, = 0.0,
    return total
def summed(i: int, x: float) -> float:
    total = 0
    for step in range(i % 7, 20, 3):
        if step == 9:
            continue
        total += step * x
        if total > 1000:
            break
    return total
def counted(i: int, x: float) -> int:
    found = 0
    while i % 2 == 0 and found < 70:
        i //= 2
        found += 1
    return found
def weighted(i: int, x: float) -> float:
    total = 0.0
    for part in (1, 2.5, 4):
        total += part * i
    return total
def helped(i: int, x: float) -> float: return _clamped(x, high=float(LIMIT)) + _clamped(i * 1.0)
def _clamped(value: float, low: float = -1.0, high: float = 1.0) -> float:
    return max(low, min(value, high))
def refused(i: int, s: str) -> int:
    if i > 100:
        raise ValueError(f"too many: {i}\\n{s}")
    assert i != 7, s
    return i
def finite(x: float, i: int) -> bool: return math.isfinite(x) and not math.isnan(i) or math.isinf(x)
def constant(x: float, i: int) -> float: return math.pi * x + math.tau
"""
NOT_TRANSLATED = {"looped": "`total, = (0.0,)`"}


@pytest.mark.long
def test_each_construct(spark):
    count = NATIVE_ROWS
    functions, _ = read_functions(FileText("macros/all.py", CONSTRUCTS))
    refused = {
        f.name: obstacle.what
        for f in functions
        if isinstance(obstacle := translate_function(f, CONSTRUCTS), Obstacle)
    }
    assert refused == NOT_TRANSLATED
    kinds = {"bigint": "int", "double": "float", "string": "str"}
    by_types = {}
    for function in functions:
        by_types.setdefault(tuple(kinds[str(p.type)] for p in function.parameters), []).append(function.name)
    for types, names in by_types.items():
        parameters = dict(zip("pq", types, strict=True))
        input_rows = rows(len(names), parameters, count)
        _, values, failed = compared(spark, CONSTRUCTS, input_rows, parameters, "macros/all.py", set(names))
        assert values > failed


@pytest.mark.long
def test_texts_of_floats_have_the_fewest_digits(spark):
    text = "def shown(x: float) -> str: return str(x)\n"
    powers = [math.ldexp(1.0, exponent) for exponent in range(-1074, 1024)]
    input_rows = [
        [x] for power in powers for x in (power, math.nextafter(power, 0), math.nextafter(power, math.inf))
    ]
    dice = random.Random(1)
    for _ in range(50_000):
        # Numbers as people write them, of up to 18 digits, and their neighbors.
        written = float(f"{dice.randrange(10 ** dice.randint(1, 18))}e{dice.randint(-20, 4)}")
        input_rows += [[written], [math.nextafter(written, dice.choice((0, math.inf)))]]
    assert compared(spark, text, input_rows, {"x": "float"})[1:] == (len(input_rows), 0)


@pytest.mark.long
def test_random_functions(spark):
    judged(spark, Maker(1).file(50))


@pytest.mark.long
def test_many_random_functions(spark):
    for seed in range(2, 2 + NATIVE // 50):
        judged(spark, Maker(seed).file(50))


def judged(spark, text):
    parameters = {name: ARROW.get(kind, kind) for name, kind in PARAMETERS.items()}
    translated, values, failed = compared(spark, text, rows(1, parameters), parameters)
    assert len(translated) >= 40
    assert values > failed > 0
