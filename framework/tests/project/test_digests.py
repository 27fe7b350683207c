"""A function's digest changes when what it computes may change, and with nothing else."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core.text import FileText
from millstream.project.functions import read_functions

SOURCE = '''
import json
import re as regex
from dataclasses import dataclass
from decimal import Decimal
RATES = {"a": 1}
RATES["b"] = 2
LIMIT = 10
OTHER = 3
CACHE = {}

@dataclass
class Row:
    x: int

def _deep(x):
    return x + LIMIT

def _helper(x: int) -> int:
    return _deep(x) * RATES["a"]

def _fill():
    CACHE["k"] = 1

_fill()

def unrelated(x: int) -> int:
    return x + OTHER

def f(x: int, row: "Row") -> str:
    """Document."""
    key = CACHE.get(x)
    return json.dumps(_helper(x), key)
'''


def digest(source, name="f"):
    return {f.name: f.digest for f in read_functions(FileText("m.py", source))[0]}[name]


def changed(old, new):
    assert old in SOURCE
    return digest(SOURCE.replace(old, new)) != digest(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("_helper(x), key)", "_helper(x), None)"),
        ("LIMIT = 10", "LIMIT = 11"),
        ("LIMIT = 10", "LIMIT = 10.0"),
        ("x + LIMIT", "LIMIT + x"),
        ('RATES = {"a": 1}', 'RATES = {"a": 2}'),
        ('RATES["b"] = 2', 'RATES["a"] = 2'),
        ('RATES["b"] = 2', ""),
        ('CACHE["k"] = 1', 'CACHE["k"] = 2'),
        ("_fill()\n\ndef unrelated", "\ndef unrelated"),
        ("import json", "import simplejson as json"),
        ("    x: int\n", "    x: float\n"),
        ("f(x: int, row", "f(x: float, row"),
        ('row: "Row")', 'row: "Row" = LIMIT)'),
        ("LIMIT = 10", "LIMIT = 10\nfrom stars import *"),
        ("LIMIT = 10", "LIMIT = 10\nfor LIMIT in range(3): pass"),
        ("LIMIT = 10", "LIMIT = 10\nprint(LIMIT)"),
        ("def f(", "import functools\n@functools.cache\ndef f("),
    ],
)
def test_a_change_that_the_function_may_see_changes_the_digest(old, new):
    assert changed(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("OTHER = 3", "OTHER = 4"),
        ("OTHER = 3", ""),
        ("x + OTHER", "x - OTHER"),
        ("import re as regex", ""),
        ('    """Document."""\n', ""),
        ("Document.", "Written anew."),
        ("def _deep(x):\n", "def _deep(x):\n    '''Deep.'''\n"),
        ("LIMIT = 10", "LIMIT = (  # a limit\n    10\n)"),
        ('RATES["a"]', "RATES['a']"),
        ("LIMIT = 10", "LIMIT = 0b1010"),
        ("\nimport json", "\nfrom __future__ import annotations\nimport json"),
        ("LIMIT = 10", "LIMIT = 10\nif __name__ == '__main__':\n    LIMIT = 3"),
        ("OTHER = 3", "OTHER = 3\nkey = 4"),
        ("OTHER = 3", "OTHER = 3\ndef new(x: int) -> int:\n    LIMIT = 3\n    return x"),
        ("x + OTHER", "sum(LIMIT for LIMIT in (x, OTHER))"),
    ],
)
def test_a_change_that_it_cannot_see_does_not(old, new):
    assert not changed(old, new)


def test_the_order_of_helpers_says_nothing():
    first, second = "def _a(x):\n    return x\n", "def _b(x):\n    return _a(x)\n"
    last = "def f(x: int) -> int:\n    return _b(x)\n"
    assert digest(first + second + last) == digest(last + second + first)


def test_the_order_of_assignments_to_one_name_counts():
    last = "def f() -> int:\n    return A\n"
    assert digest("A = 1\nA = 2\n" + last) != digest("A = 2\nA = 1\n" + last)


def test_who_reads_globals_reads_all():
    body = "def f() -> int:\n    return globals()['OTHER']\n"
    assert digest("OTHER = 1\n" + body) != digest("OTHER = 2\n" + body)


def test_a_global_written_elsewhere_counts():
    body = "N = 0\ndef _bump():\n    global N\n    N = {}\ndef f() -> int:\n    return N\n"
    assert digest(body.format(1)) != digest(body.format(2))


def test_a_call_on_import_counts_through_other_functions():
    body = (
        "T = {}\ndef _put(x):\n    T[x] = 1\ndef _init(x):\n    _put(x)\n"
        "X = _init(%d)\ndef f() -> int:\n    return T[1]\n"
    )
    assert digest(body % 1) != digest(body % 2)


def test_who_shares_a_memo_is_unrelated():
    memo = "MEMO = {}\ndef _look(x):\n    MEMO[x] = x\n    return MEMO[x]\n"
    body = "def f(x: int) -> int:\n    return _look(x)\ndef g(x: int) -> int:\n    return _look(x) + %d\n"
    assert digest(memo + body % 1) == digest(memo + body % 2)


def test_functions_that_call_each_other_have_their_own_digests():
    source = "def f() -> int:\n    return g()\ndef g() -> int:\n    return f()\n"
    assert digest(source, "f") != digest(source, "g")


def test_a_name_of_a_comprehension_hides_no_constant():
    source = "LIMIT = {}\ndef f() -> int:\n    return sum(LIMIT for LIMIT in [1]) + LIMIT\n"
    assert digest(source.format(1)) != digest(source.format(2))


def test_the_digest_is_one_over_all_versions_of_python():
    source = "A = 1\ndef f(x: int) -> str:\n    return f'{x!r:>{A}}' if x else [y for y in 'é']\n"
    assert digest(source) == "5334cdc6aa2a96e71ec23bee48d9f3a6"


@st.composite
def modules(draw):
    """A module of constants and helpers that read earlier ones, and which of them `f` reaches."""
    size = draw(st.integers(2, 7))
    lines, reads = [], []
    for n in range(size):
        used = sorted(draw(st.sets(st.integers(0, n - 1), max_size=2))) if n else []
        reads.append(set(used).union(*(reads[m] for m in used)))
        terms = ["{" + f"c{n}" + "}"]
        if draw(st.booleans()):
            lines.append(f"v{n} = {' + '.join([*terms, *(f'_of(v{m})' for m in used)])}")
        else:
            lines.append(
                f"def v{n}(x: int = 0) -> int:\n    return {' + '.join([*terms, *(f'v{m}' for m in used)])}"
            )
    return "\n".join(lines), size, reads


@given(modules(), st.data())
def test_a_digest_follows_exactly_what_is_reached(module, data):
    template, size, reads = module
    top = data.draw(st.sets(st.integers(0, size - 1), max_size=2))
    template += f"\ndef f(x: int) -> int:\n    return x{''.join(f' + v{n}' for n in sorted(top))}\n"
    reached = top.union(*(reads[n] for n in top))
    values = {f"c{n}": n for n in range(size)}
    edited = data.draw(st.integers(0, size - 1))
    before = digest(template.format(**values))
    after = digest(template.format(**{**values, f"c{edited}": 99}))
    # `_of(v)` might change v in place, so what hands v on may count too; never less than what is reached.
    if edited in reached:
        assert before != after
    elif "_of" not in template:
        assert before == after


@given(modules(), st.sampled_from(["f", "unparsed", "comments", "blank"]))
def test_formatting_never_counts(module, way):
    template, size, _ = module
    body = "".join(f" + v{n}" for n in range(size))
    source = f"{template}\ndef f(x: int) -> int:\n    return (x{body})\n".format(
        **{f"c{n}": n for n in range(size)}
    )
    match way:
        case "unparsed":
            other = ast.unparse(ast.parse(source))
        case "comments":
            other = source.replace("\n", "  # why\n")
        case "blank":
            other = source.replace("\n", "\r\n\r\n")
        case _:
            other = source.replace("(x", "(\n  x")
    assert digest(other) == digest(source)


def test_operators_stay_apart():
    body = "def f(a: int, b: int, c: int) -> bool:\n    return a {} b {} c\n"
    assert digest(body.format("is", "not in")) != digest(body.format("is not", "in"))
