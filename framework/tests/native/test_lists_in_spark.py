"""Lists of translated functions: parameters, results, comprehensions, and what takes all of their values."""

import sys

import pytest
from native.function_comparison import compared, rows
from support.long import NATIVE_ROWS

from millstream.compile.native_functions import translate_function
from millstream.core.text import FileText
from millstream.native import Obstacle
from millstream.project.functions import read_functions

PARAMETERS = {
    "ns": ["int"],
    "xs": ["float"],
    "ts": ["str"],
    "ps": [{"x": "float", "n": "int"}],
    "i": "int",
    "s": "str",
}
HEAD = """
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, List

STEPS = [1, 2.5, 4]

@dataclass
class Part:
    x: float
    n: int | None

@dataclass
class Whole:
    parts: list[Part]
    names: list[str | None]
"""
SIGNATURE = "ns: list[int], xs: Sequence[float], ts: List[str], ps: list[Part], i: int, s: str"
FUNCTIONS = {
    "same_ints": ("list[int]", "ns"),
    "same_floats": ("list[float | None] | None", "xs"),
    "same_texts": ("list[str]", "ts"),
    "same_structs": ("list[Part] | None", "ps"),
    "ints_as_floats": ("list[float]", "ns"),
    "floats_as_ints": ("list[int]", "xs"),
    "as_tuple": ("tuple[int, ...]", "[i, len(s)]"),
    "small": ("Annotated[list[int], 'array<bigint>']", "[i, 1]"),
    "mixed": ("list[float]", "[i, 1.5, i * i, len(ns)]"),
    "texts_in_ints": ("list[int]", "[1, s]"),
    "list_for_int": ("list[list[int]]", "[ns, [i], []]"),
    "structs": ("list[Part]", "[Part(x * 2, i) for x in xs if x is not None]"),
    "unfit_structs": ("list[Part]", "[Part(x, x) for x in xs]"),
    "in_struct": ("Whole", "Whole([Part(i, n) for n in ns], [t for t in ts if t])"),
    "whole": ("Whole", "Whole(ps, ts)"),
    "length": ("int", "len(ns) + len(xs) * 10"),
    "first": ("int | None", "ns[0]"),
    "at": ("float | None", "xs[i]"),
    "last_name": ("str", "ts[-1].strip()"),
    "sliced": ("list[int | None]", "ns[1:]"),
    "sliced_by": ("list[str | None]", "ts[i:-1]"),
    "sliced_twice": ("list[float | None]", "xs[:-1][-2:i]"),
    "is_within": ("bool", "i in ns"),
    "not_within": ("bool", "s not in ts"),
    "within_display": ("bool", "i in (len(ns), 2, 5) or s in [s + 'a', 'b']"),
    "none_within": ("bool", "None in ns"),
    "empty": ("str", "'none' if not ns else 'some'"),
    "is_true": ("bool", "bool(xs)"),
    "total": ("int", "sum(ns)"),
    "total_of_floats": ("float", "sum(xs)"),
    "mean": ("float", "sum(xs) / len(xs)"),
    "total_of_present": ("float", "sum(x for x in xs if x is not None)"),
    "total_of_both": ("float", "sum([x * i for x in xs] or ns)"),
    "squares": ("int", "sum(n * n for n in ns)"),
    "squares_of_range": ("int", "sum(k * k for k in range(i % 9) if k != 3)"),
    "total_of_range": ("int", "sum(range(i % 20, 40, 3))"),
    "total_of_steps": ("float", "sum(step * i for step in STEPS)"),
    "least": ("int", "min(ns)"),
    "greatest": ("float | None", "max(xs)"),
    "least_text": ("str", "min(ts)"),
    "least_present": ("str", "min(t for t in ts if t is not None)"),
    "least_mixed": ("float", "min([i, 2.5, len(s)])"),
    "greatest_character": ("str", "max(s)"),
    "least_of_field": ("float", "min(p.x for p in ps)"),
    "all_of": ("bool", "all(n > 2 for n in ns)"),
    "any_of": ("bool", "any(1 / n > 0.1 for n in ns)"),
    "all_true": ("bool", "all(ts)"),
    "any_true": ("bool", "any(xs)"),
    "any_struct": ("bool", "any(ps)"),
    "ordered": ("list[int]", "sorted(n for n in ns if n is not None)"),
    "ordered_texts": ("list[str]", "sorted([t for t in ts if t is not None], reverse=True)"),
    "ordered_mixed": ("list[str]", "[str(n) for n in sorted([len(s), len(s) > 3, 1, True, False, 0])]"),
    "wide_ordered": ("list[float]", "sorted([n * n * n for n in ns if n is not None])"),
    "copied": ("list[int | None]", "list(ns)"),
    "numbers": ("list[int]", "list(range(i % 7))"),
    "characters": ("list[str]", "list(s)"),
    "upper_characters": ("list[str]", "[c.upper() for c in s if c != 'a']"),
    "joined": ("str", "s.join(ts)"),
    "joined_parts": ("str", "', '.join(f'{t}{i}' for t in ts)"),
    "joined_characters": ("str", "'-'.join(s)"),
    "joined_range": ("str", "'/'.join(str(k) for k in range(i % 5))"),
    "split_by": ("list[str]", "s.split('a')"),
    "split_once": ("list[str]", "s.split(' ', 1)"),
    "split_none": ("list[str]", "s.split('b', 0)"),
    "words": ("list[str]", "s.split()"),
    "rejoined": ("str", "' '.join(w.strip('a') for w in s.split('b') if w)"),
    "nested": ("list[list[int]]", "[[n * k for k in range(3)] for n in ns if n is not None]"),
    "hidden": ("int", "sum([i for i in range(3)]) + i"),
    "lines": ("float", "sum(\n        1 / n\n        for n in ns\n        if n != 3\n    )"),
    "chosen": ("list[int | None]", "ns if i > 3 else [i]"),
    "perhaps": ("list[int | None]", "ns or [i]"),
    "fields": ("float", "sum(p.x * (p.n or 1) for p in ps if p is not None)"),
    "failing": ("list[int]", "[10 // n for n in ns]"),
}
LOOPS = f"""
def looped({SIGNATURE}) -> float:
    total = 0.0
    for x in xs:
        if x is None:
            continue
        if total > 1e300:
            break
        total += x
    return total
def replaced({SIGNATURE}) -> int:
    found = 0
    for n in ns:
        ns = [1]
        found += n * len(ns)
    return found
def by_character({SIGNATURE}) -> str:
    found = ""
    for c in s:
        found = c + found
    return found
def by_part({SIGNATURE}) -> list[Part]:
    found = [Part(0.0, None)]
    for p in ps:
        if p is not None and p.n:
            found = [Part(p.x, p.n + i), Part(i, 0)]
    return found
def helped({SIGNATURE}) -> list[str]: return _shown([str(n) for n in ns], len(ts))
def _shown(texts: list[str], count: int) -> list[str]: return texts[:count] if count else [f"{{count}}"]
"""


def written():
    functions = "\n".join(
        f"def {name}({SIGNATURE}) -> {returns}: return {body}" for name, (returns, body) in FUNCTIONS.items()
    )
    return HEAD + functions + LOOPS


NOT_TRANSLATED = {"small": "a result of type array<bigint>"}
_SUMS_OF_FLOATS = (
    "total_of_floats", "mean", "total_of_present", "total_of_both", "total_of_steps", "lines", "fields",
)  # fmt: skip
if sys.version_info >= (3, 12):
    what = "`sum()` of floats, whose last digit depends on the version of Python"
    NOT_TRANSLATED |= dict.fromkeys(_SUMS_OF_FLOATS, what)


@pytest.mark.long
def test_each_construct(spark):
    text = written()
    functions, _ = read_functions(FileText("macros/all.py", text))
    refused = {
        f.name: obstacle.what
        for f in functions
        if isinstance(obstacle := translate_function(f, text), Obstacle)
    }
    assert refused == NOT_TRANSLATED
    _, values, failed = compared(spark, text, rows(5, PARAMETERS, NATIVE_ROWS), PARAMETERS, "macros/all.py")
    assert values > failed > 0


@pytest.mark.parametrize(
    ("body", "obstacle"),
    [
        ("-> list[float]: return sorted(xs)", "`sorted()` of anything but integers, or texts, without None"),
        ("-> bool: return xs[0] in xs", "`in` of a list of structs, lists or floats"),
        ("-> bool: return ns == ns", "`ns == ns`, a comparison of other values than numbers and texts"),
        ("-> float: return sum(ts)", "`sum()` of anything but numbers"),
        ("-> str: return ','.join(xs)", "`.join()` of anything but texts"),
        ("-> str: return str(ns)", "`ns`, no number or text, in this place"),
        ("-> int: return sum(n * m for n in ns for m in ns)", "a comprehension with several `for`, or several variables"),
        ("-> list[int]:\n    ns.append(1)\n    return ns", "`ns.append(1)`"),
        ("-> list[int]:\n    ns[0] = 1\n    return ns", "`ns[0] = 1`"),
        ("-> list[int]: return ns[::2]", "a slice with a step"),
        ("-> list[int]: return ns + ns", "`ns`, no number or text, in this place"),
        ("-> int: return min(ns, default=0)", "named arguments of `min`"),
        ("-> int: return ns", "a result of type bigint"),
        ("-> list[str]: return ps", "a result of type string"),
    ],
)  # fmt: skip
def test_what_is_not_provable_runs_in_python(body, obstacle):
    text = f"{HEAD}\ndef f({SIGNATURE}) {body}\n"
    function = read_functions(FileText("macros/a.py", text))[0][-1]
    assert translate_function(function, text).what == obstacle


def test_a_tuple_as_a_parameter_runs_in_python():
    text = "def f(ns: tuple[int, ...]) -> int: return len(ns)\n"
    assert (
        translate_function(read_functions(FileText("macros/a.py", text))[0][0], text).what
        == "a parameter of type array<bigint>"
    )
