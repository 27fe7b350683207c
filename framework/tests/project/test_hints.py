"""Type hints as Spark types."""

import sys

import pytest

from millstream.core.text import FileText
from millstream.project.functions import read_functions

PREAMBLE = """
from __future__ import annotations
import collections.abc, dataclasses, datetime, decimal, enum, typing, uuid
import datetime as dt
import typing as t
from collections.abc import Callable, Iterator, Sequence, Mapping
from dataclasses import dataclass, KW_ONLY
from decimal import Decimal as D
from typing import Annotated, Any, ClassVar, Dict, List, Literal, NamedTuple, NewType, NotRequired, Optional
from typing import Tuple, TypeAlias, TypedDict, Union
from typing_extensions import TypedDict as Typed
from shop import Elsewhere
UserId = str
Price: TypeAlias = Annotated[D, "decimal(10,2)"]
ProductId = NewType("ProductId", int)
Maybe = Optional[str]
Quoted = "list[UserId]"
Json = dict[str, "Json"]
Ping = list["Pong"]
Pong = list["Ping"]

@dataclass
class Point:
    x: int
    y: "int"

@dataclass(frozen=True, slots=True)
class Named(Point):
    LIMIT: ClassVar[int] = 3
    _: KW_ONLY
    name: str | None = None
    y: float = 0.0
    def area(self): return self.x

class Order(TypedDict, total=False):
    id: UserId
    items: list[Item]
    note: NotRequired[str]

class Sale(Order):
    price: Price

class Item(NamedTuple):
    point: Point
    when: dt.datetime = None

class Plain:
    x: int

class Below(Point):
    z: int

class Empty(TypedDict): ...

class Colour(str, enum.Enum):
    RED = "red"

@dataclass
class Tree:
    value: int
    children: list[Tree]

@dataclass
class A:
    b: B | None

@dataclass
class B:
    a: A

@dataclass
class Cases:
    Id: int
    id: int

@dataclass
class Foreign(Elsewhere):
    x: int
"""


def read(hint, preamble=PREAMBLE):
    """Return the type, whether NULL may come, and (code, what is underlined) of each error."""
    text = FileText("macros/f.py", f"{preamble}\ndef f(x: {hint}) -> int: ...\n")
    (function,), errors = read_functions(text)
    shown = [(e.code, e.line[e.location.column - 1 : e.location.end - 1]) for e in errors]
    (parameter,) = function.parameters
    return str(parameter.type), parameter.nullable, shown, errors


@pytest.mark.parametrize(
    ("hint", "kind"),
    [
        ("bool", "boolean"),
        ("int", "bigint"),
        ("float", "double"),
        ("str", "string"),
        ("bytes", "binary"),
        ("datetime.date", "date"),
        ("dt.datetime", "timestamp"),
        ("D", "decimal(38,18)"),
        ("decimal.Decimal", "decimal(38,18)"),
        ("list[int]", "array<bigint>"),
        ("List[int]", "array<bigint>"),
        ("Sequence[str]", "array<string>"),
        ("collections.abc.Sequence[str]", "array<string>"),
        ("tuple[float, ...]", "array<double>"),
        ("t.Tuple[float, ...]", "array<double>"),
        ("list[str | None]", "array<string>"),
        ("dict[str, list[int]]", "map<string,array<bigint>>"),
        ("Mapping[int, str]", "map<bigint,string>"),
        ("Literal['a', 'b']", "string"),
        ("Literal[1, 2]", "bigint"),
        ("'int'", "bigint"),
        ("'list[\"int\"]'", "array<bigint>"),
        ("Annotated[int, 'int']", "int"),
        ("Annotated[dict, 'struct<a: int>']", "struct<a:int>"),
        ("Annotated[int, 'a comment in a tuple' 'x'] if 0 else int", "unknown"),
        ("Annotated[str, 5]", "string"),
        ("UserId", "string"),
        ("Price", "decimal(10,2)"),
        ("ProductId", "bigint"),
        ("Quoted", "array<string>"),
        ("Point", "struct<x:bigint,y:bigint>"),
        ("Named", "struct<x:bigint,y:double,name:string>"),
        ("Item", "struct<point:struct<x:bigint,y:bigint>,when:timestamp>"),
        (
            "Sale",
            (
                "struct<id:string,items:array<struct<point:struct<x:bigint,y:bigint>,when:timestamp>>,"
                "note:string,price:decimal(10,2)>"
            ),
        ),
    ],
)
def test_a_hint_has_a_type(hint, kind):
    assert read(hint)[0] == kind


@pytest.mark.parametrize(
    ("hint", "nullable"),
    [
        ("int", False),
        ("int | None", True),
        ("None | int", True),
        ("Optional[int]", True),
        ("t.Optional[int]", True),
        ("Union[int, None]", True),
        ("'int | None'", True),
        ("Maybe", True),
        ("Literal['a', None]", True),
        ("Annotated[int | None, 'int']", True),
        ("Annotated[Maybe, 'char(2)']", True),
        ("Annotated[int, 'int'] | None", True),
        ("list[int | None]", False),
    ],
)
def test_none_makes_a_hint_nullable(hint, nullable):
    assert read(hint)[1:3] == (nullable, [])


@pytest.mark.parametrize(
    ("hint", "code", "underlined"),
    [
        ("Any", "MS304", "Any"),
        ("object", "MS304", "object"),
        ("list[Any]", "MS304", "Any"),
        ("list", "MS304", "list"),
        ("'dict'", "MS304", "dict"),
        ("set[int]", "MS303", "set[int]"),
        ("int | str", "MS303", "int | str"),
        ("int | str | None", "MS303", "int | str | None"),
        ("Union[int, str]", "MS303", "Union[int, str]"),
        ("None", "MS303", "None"),
        ("tuple[int, str]", "MS303", "tuple[int, str]"),
        ("dict[str]", "MS303", "dict[str]"),
        ("dict[Point, int]", "MS303", "Point"),
        ("dict[str | None, int]", "MS316", "str | None"),
        ("Callable[[int], str]", "MS303", "Callable[[int], str]"),
        ("Iterator[int]", "MS303", "Iterator[int]"),
        ("uuid.UUID", "MS303", "uuid.UUID"),
        ("datetime.timedelta", "MS303", "datetime.timedelta"),
        ("Elsewhere", "MS303", "Elsewhere"),
        ("3", "MS303", "3"),
        ("'int |'", "MS303", "'int |'"),
        ("'list[Any]'", "MS304", "Any"),
        ("é", "MS305", "é"),
        ("Ordr", "MS305", "Ordr"),
        ("Deque[int]", "MS305", "Deque"),
        ("Literal[1, 'a']", "MS303", "Literal[1, 'a']"),
        ("Annotated[int, 'array<intt>']", "MS306", "intt"),
        ("Annotated[int, 'a' 'b']", "MS306", "'a' 'b'"),
        ("Json", "MS313", '"Json"'),
        ("Ping", "MS313", '"Ping"'),
        ("Tree", "MS313", "Tree"),
        ("A", "MS313", "A"),
        ("Plain", "MS314", "Plain"),
        ("Below", "MS314", "Below"),
        ("Empty", "MS314", "Empty"),
        ("Colour", "MS314", "Colour"),
        ("Cases", "MS314", "Cases"),
        ("Foreign", "MS314", "Elsewhere"),
    ],
)
def test_a_hint_without_a_type_is_underlined(hint, code, underlined):
    assert read(hint)[2] == [(code, underlined)]


def test_a_misspelt_hint_is_guessed():
    assert read("Ordr")[3][0].help == "did you mean 'Order'?"


def test_a_known_hint_that_is_not_imported_says_its_import():
    (error,) = read("Optional[int]", "")[3]
    assert error.help == "write `from typing import Optional` above."


def test_recursion_names_the_path():
    assert "A → B → A" in read("A")[3][0].message


def test_a_mistake_in_a_struct_is_told_once():
    struct = "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: set\n    y: objct\n"
    errors = read_functions(FileText("f.py", struct + "def f(a: P, b: list[P]) -> P: ...\n"))[1]
    assert [(e.code, e.location.line) for e in errors] == [("MS303", 4), ("MS305", 5)]


def test_hints_after_wide_characters_and_over_lines_are_underlined():
    source = "def f(é: int = '😀',\r\n  ж: int = 'é', x:\r\n\tlist[objct] = 1) -> int: ...\r\n"
    (error,) = read_functions(FileText("f.py", source))[1]
    assert (error.location.line, error.location.column, error.location.end) == (3, 7, 12)


def test_names_bound_under_type_checking_are_known():
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from datetime import date\n"
    assert read("date", source)[0] == "date"


def test_a_class_of_the_module_hides_an_import():
    source = (
        "from dataclasses import dataclass\nfrom datetime import date\n@dataclass\nclass date:\n    x: int\n"
    )
    assert read("date", source)[0] == "struct<x:bigint>"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the `type` statement is Python 3.12's")
def test_the_type_statement_is_an_alias():
    assert read("Ids", "type Ids = list[int]\n")[0] == "array<bigint>"
