"""Python functions as SQL functions."""

import subprocess
import sys
import time

import pytest

from millstream.core.text import FileText, Location
from millstream.project.functions import read_functions

TABLE = """
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generator, Iterable

@dataclass
class Row:
    user_id: str
    count: int

@dataclass
class State:
    seen: int = 0
"""


def read(source):
    return read_functions(FileText("macros/f.py", source))


def one(source):
    (function,), errors = read(source)
    assert errors == []
    return function


def underlined(source):
    return [(e.code, e.line[e.location.column - 1 : e.location.end - 1]) for e in read(source)[1]]


def test_a_function_has_its_parameters_and_what_it_returns():
    function = one("def discount(price: float, percent: int | None, code: str = 'x') -> float | None: ...\n")
    parameters = [(p.name, str(p.type), p.nullable, p.required) for p in function.parameters]
    assert parameters == [
        ("price", "double", False, True),
        ("percent", "bigint", True, True),
        ("code", "string", False, False),
    ]
    assert (str(function.returns), function.nullable, function.table, function.keyed) == (
        "double",
        True,
        False,
        False,
    )
    assert (function.name, function.path) == ("discount", "macros/f.py")


def test_a_function_stands_where_its_name_does():
    function = one("import functools\n\n@functools.cache\ndef   f(x: int) -> int: ...\n")
    assert function.location == Location("macros/f.py", 4, 7, 8)


def test_the_description_is_the_first_paragraph():
    function = one('def f() -> int:\n    """Count the\n    things.\n\n    Slowly.\n    """\n')
    assert function.description == "Count the things."


@pytest.mark.parametrize(
    "source",
    [
        "def _helper(x): ...\n",
        "class Tool:\n    def run(self, x): ...\n",
        "if __name__ == '__main__':\n    def f(x): ...\n",
        "f = lambda x: x\n",
        "",
        "# only a comment",
        "\ufeff",
    ],
)
def test_what_is_no_public_function_is_passed_over(source):
    assert read(source) == ((), [])


@pytest.mark.parametrize(
    ("hint", "row", "nullable"),
    [
        ("Iterator[Row]", "struct<user_id:string,count:bigint>", False),
        ("Iterable[str]", "struct<value:string>", False),
        ("Generator[list[int], None, None]", "struct<value:array<bigint>>", False),
        ("'Iterator[str | None]'", "struct<value:string>", True),
    ],
)
def test_a_function_that_yields_is_a_table_function(hint, row, nullable):
    function = one(f"{TABLE}\ndef split(x: str) -> {hint}:\n    yield x\n")
    assert (str(function.returns), function.nullable, function.table) == (row, nullable, True)


def test_yield_in_an_inner_function_makes_no_table():
    function = one("def f() -> list[int]:\n    def g():\n        yield 1\n    return list(g())\n")
    assert function.table is False


def test_key_rows_state_is_keyed():
    source = (
        "def f(key: str, rows: Iterator[Row], state: State | None) -> Iterator[Row]:\n    yield from rows\n"
    )
    function = one(TABLE + source)
    assert (function.keyed, function.table) == (True, True)
    assert [(str(p.type), p.nullable) for p in function.parameters] == [
        ("string", False),
        ("struct<user_id:string,count:bigint>", False),
        ("struct<seen:bigint>", True),
    ]


@pytest.mark.parametrize(
    ("rows", "state", "returns", "expected"),
    [
        ("list[Row]", "State", "Iterator[Row]", [("MS317", "list[Row]")]),
        ("Iterator[int]", "State", "Iterator[Row]", [("MS317", "Iterator[int]")]),
        ("Iterator[Row]", "int", "Iterator[Row]", [("MS317", "int")]),
        ("Iterator[Row]", "State", "Row", [("MS315", "Row")]),
        ("Iterator[Rwo]", "State", "Iterator[Row]", [("MS305", "Rwo")]),
    ],
)
def test_keyed_functions_need_rows_and_a_struct(rows, state, returns, expected):
    source = f"{TABLE}\ndef f(key: str, rows: {rows}, state: {state}) -> {returns}:\n    yield 1\n"
    assert underlined(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(x) -> int: ...", [("MS301", "x")]),
        ("def f(x: int): ...", [("MS302", "f")]),
        ("def f(x, y): ...", [("MS302", "f"), ("MS301", "x"), ("MS301", "y")]),
        ("def f(*args: int) -> int: ...", [("MS307", "args")]),
        ("def f(**options: int) -> int: ...", [("MS307", "options")]),
        ("def f(*, é: int) -> int: ...", [("MS307", "é")]),
        ("async def f() -> int: ...", [("MS308", "f")]),
        ("import shop\n@shop.traced('x')\ndef f() -> int: ...", [("MS309", "shop.traced('x')")]),
        ("def f() -> int: ...\ndef f() -> str: ...", [("MS311", "f")]),
        ("def select() -> int: ...", [("MS312", "select")]),
        ("def parseId() -> int: ...", [("MS312", "parseId")]),
        ("def größe() -> int: ...", [("MS312", "größe")]),
        ("def f() -> int:\n    yield 1", [("MS315", "int")]),
        ("from typing import Iterator\ndef f() -> Iterator[int]: ...", [("MS315", "Iterator[int]")]),
        (
            "from typing import Iterator\ndef f() -> Iterator[int] | None:\n    yield 1",
            [("MS316", "Iterator[int] | None")],
        ),
        (f"{TABLE}def f() -> Iterator[Row | None]:\n    yield None", [("MS316", "Row | None")]),
        (
            f"import functools as ft\n{TABLE}\n@ft.cache\ndef f() -> Iterator[int]:\n    yield 1",
            [("MS309", "ft.cache")],
        ),
    ],
)
def test_mistakes_are_underlined(source, expected):
    assert underlined(source) == expected


def test_every_error_has_a_remedy():
    source = (
        "def select(x, *y, z: Any, w: set = 1):\n    yield 1\nasync def select(): ...\n@x\ndef G(): ...\n"
    )
    errors = read(source)[1]
    assert len(errors) >= 6
    assert all(error.help.endswith((".", "?")) for error in errors)


def test_a_keyword_only_parameter_with_a_default_is_not_sqls_business():
    assert one("def f(x: int, *, scale=2) -> int: ...").parameters[-1].name == "x"


@pytest.mark.parametrize(("name", "better"), [("parseUserId", "parse_user_id"), ("select", "select_of")])
def test_a_usable_name_is_proposed(name, better):
    (error,) = read(f"def {name}() -> int: ...")[1]
    assert f"'{better}'" in error.help


def test_the_second_definition_points_at_the_first():
    (error,) = read("def f() -> int: ...\ndef f() -> int: ...\n")[1]
    assert error.notes[0].location == Location("macros/f.py", 1, 5, 6)


def test_a_function_with_mistakes_is_still_known():
    (function,), _ = read("def f(x, y: int): ...")
    assert [str(p.type) for p in function.parameters] == ["unknown", "bigint"]


@pytest.mark.parametrize(
    ("source", "line", "column", "message"),
    [
        ("print 'x'", 1, 1, "Missing parentheses in call to 'print'"),
        ("def f(x int): ...", 1, 9, ""),
        ("x = 1\r\ny = (1,\r\n", 2, 5, "'(' was never closed"),
        ("é = ) 1", 1, 5, "unmatched ')'"),
        ("\ufeffé = )", 1, 6, "unmatched ')'"),
        ("x = 'abc\ny", 1, 5, "unterminated string literal"),
        ("def f():\nreturn 1", 2, 1, "expected an indented block"),
        ("if x:\n    y\n  z", 3, 10, "unindent does not match"),
        ("return 1", 1, 1, "'return' outside function"),
        ("def f(a, a): pass", 1, 1, "duplicate argument 'a'"),
        ("x = 1\na\0b", 2, 2, "null"),
        ("x\ud800", 1, 2, "incomplete character"),
        ("(" * 1000, 1, 201, "too many nested"),
        ("-" * 100_000 + "1", 1, 1, "nested too deeply"),
    ],
)
def test_syntax_errors_are_located(source, line, column, message):
    functions, (error,) = read(source)
    assert functions == ()
    assert error.code == "MS310"
    assert message in error.message
    assert error.location.line == line
    if "duplicate" not in message and "unindent" not in message:  # their columns differ between Pythons
        assert error.location.column == column


def test_a_doubtful_escape_is_no_error():
    assert one("def f() -> str:\n    return '\\d'\n").name == "f"


def test_a_long_sum_is_read():
    terms = " + ".join(["x"] * 900)
    assert one(f"def f(x: int) -> int:\n    return {terms}\n").digest


def test_nothing_is_imported_or_run(tmp_path):
    mark = tmp_path / "ran"
    source = f"import os\nopen({str(mark)!r}, 'w')\nos._exit(3)\ndef f() -> int: ...\n"
    program = (
        "from millstream.core.text import FileText; from millstream.project.functions import read_functions\n"
        f"assert read_functions(FileText('m.py', {source!r}))[0]"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
    assert not mark.exists()


def test_two_hundred_files_take_a_moment():
    source = TABLE + "\n".join(
        f"def f{n}(x: str, row: Row) -> int | None:\n    '''Doc.'''\n    return len(x) + row.count * {n}\n"
        for n in range(4)
    )
    texts = [FileText(f"macros/f{n}.py", source + f"LAST = {n}\n") for n in range(200)]
    start = time.process_time()
    for text in texts:
        read_functions(text)
    assert time.process_time() - start < 1.0  # measured: 0.2; the bound is for busy machines


@pytest.mark.parametrize(
    ("call", "reported"),
    [
        ("exec(code)", True),
        ("eval('1 + ' + code)", True),
        ("open(code).read()", True),
        ("Path(code).read_text()", True),
        ("importlib.import_module(code)", True),
        ("open('rates.csv').read()", False),
        ("Path('rates.csv').read_text()", False),
        ("eval('1 + 1')", False),
        ("code.read()", False),
        ("gate.open(code)", False),
        ("Path(code).read_text('utf-8')", True),
        ("open(Path(__file__).parent / code).read()", True),
        ("open(os.path.join(os.path.dirname(__file__), 'rates.csv')).read()", False),
        ("(Path(__file__).parent / 'rates.csv').read_text('utf-8')", False),
    ],
)
def test_content_that_can_change_unnoticed(call, reported):
    helper = f"import importlib\nfrom pathlib import Path\ndef _helper(code):\n    return {call}\n"
    functions = "".join(f"def {name}(x: str) -> str:\n    return _helper(x)\n" for name in ("one", "two"))
    functions_read, warnings = read(helper + functions)
    assert [function.name for function in functions_read] == ["one", "two"]
    assert [(warning.code, warning.severity, warning.location.line) for warning in warnings] == (
        [("MS323", "warning", 4)] if reported else []
    )
