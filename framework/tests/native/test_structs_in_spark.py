"""Structs of translated functions: dataclasses, NamedTuples and TypedDicts, as results and parameters."""

import pytest
from native.function_comparison import compared, registered, rows
from support.long import NATIVE_ROWS

from millstream.compile.native_functions import translate_function
from millstream.core.text import FileText
from millstream.core.user_code import SourceFile
from millstream.native import Obstacle
from millstream.project.functions import read_functions
from millstream.queries.emit.draft import LOCATED

CLASSES = """
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, Optional, TypedDict

LOW = -1.5
NAMES = ("a", "b", "é")

@dataclass
class Point:
    x: float
    y: float = 0.0
    label: str | None = None

    def length(self) -> float:
        return abs(self.x) + abs(self.y)

@dataclass(frozen=True, slots=True)
class Event:
    type: str
    value: float
    score: int

class Counted(NamedTuple):
    name: str
    count: int = 3
    exact: bool = True

class Labelled(TypedDict):
    zone: str
    area: "Optional[float]"
    at: Point

@dataclass
class Shape:
    center: Point
    corner: Point | None
    counted: Counted
    kind: Literal["a", "b"]

@dataclass
class Narrow:
    tiny: Annotated[int, "tinyint"]
    small: Annotated[int, "smallint"]
    whole: Annotated[int | None, "int"]
    single: Annotated[float, "float"]
"""
SCALARS = {"i": "int", "x": "float", "s": "str", "b": "bool"}
OF_SCALARS = """
def positional(i: int, x: float, s: str, b: bool) -> Point: return Point(x, x * 2, s)
def named(i: int, x: float, s: str, b: bool) -> Point: return Point(label=s, x=x)
def of_defaults(i: int, x: float, s: str, b: bool) -> Point: return Point(LOW)
def int_in_float(i: int, x: float, s: str, b: bool) -> Point: return Point(i, i + 1)
def wide_in_float(i: int, x: float, s: str, b: bool) -> Point: return Point(i * i, 0)
def float_in_int(i: int, x: float, s: str, b: bool) -> Event: return Event(s, x, x)
def wide_in_int(i: int, x: float, s: str, b: bool) -> Event: return Event(s, x, i * 3)
def bool_in_int(i: int, x: float, s: str, b: bool) -> Event: return Event(s, 1.0, b)
def bool_in_float(i: int, x: float, s: str, b: bool) -> Event: return Event(s, b, 1)
def text_in_int(i: int, x: float, s: str, b: bool) -> Event: return Event(s, 1.0, s)
def long_text_in_int(i: int, x: float, s: str, b: bool) -> Event: return Event(s, 1.0, s + "\\n \\t\\u3000" + NAMES[2] + s.replace("a", "0123456789012345678901234567890123456789"))
def int_in_text(i: int, x: float, s: str, b: bool) -> Event: return Event(i, 1.0, 1)
def int_in_bool(i: int, x: float, s: str, b: bool) -> Counted: return Counted(s, 1, i)
def none_in_int(i: int, x: float, s: str, b: bool) -> Event: return Event("a", 1.0, i if b else None)
def tuples(i: int, x: float, s: str, b: bool) -> Counted: return Counted(s, exact=b)
def dicts(i: int, x: float, s: str, b: bool) -> Labelled: return {"zone": s, "at": Point(x), "area": i if b else x}
def called_dicts(i: int, x: float, s: str, b: bool) -> Labelled: return Labelled(at=Point(x), zone=s, area=None)
def nested(i: int, x: float, s: str, b: bool) -> Shape: return Shape(Point(x, i), _corner(x, b), Counted(s, i), "a")
def nested_none(i: int, x: float, s: str, b: bool) -> Shape: return Shape(Point(x), None, Counted(s, i) if b else None, "b")
def nested_scalar(i: int, x: float, s: str, b: bool) -> Shape: return Shape(Point(x), i if b else None, Counted(s), "b")
def narrow(i: int, x: float, s: str, b: bool) -> Narrow: return Narrow(i, i, i, x)
def narrow_floats(i: int, x: float, s: str, b: bool) -> Narrow: return Narrow(int(x % 100), x % 30000, x * 1000, i)
def small_floats(i: int, x: float, s: str, b: bool) -> Narrow: return Narrow(-128, 32767, None, x * 1e-3)
def top_tiny(i: int, x: float, s: str, b: bool) -> Annotated[int, "tinyint"]: return i % 300 - 100 if b else i
def top_int(i: int, x: float, s: str, b: bool) -> Annotated[int, "int"]: return i if b else int(x)
def top_float(i: int, x: float, s: str, b: bool) -> Annotated[float, "float"]: return x if b else i
def literal(i: int, x: float, s: str, b: bool) -> Literal["a", None]: return "a" if b else None
def perhaps(i: int, x: float, s: str, b: bool) -> Point | None: return Point(x) if b else None
def never_none(i: int, x: float, s: str, b: bool) -> Point: return Point(x) if b else None
def scalar_or_struct(i: int, x: float, s: str, b: bool) -> Point: return Point(x) if b else i
def either_class(i: int, x: float, s: str, b: bool) -> Point: return Point(x) if b else {"y": x, "label": s, "x": i}
def first_or(i: int, x: float, s: str, b: bool) -> Point: return _corner(x, b) or Point(-1.0, label=s)
def and_then(i: int, x: float, s: str, b: bool) -> Point | None: return _corner(x, b) and Point(-1.0, label=s)
def helped(i: int, x: float, s: str, b: bool) -> Point: return _moved(_moved(Point(x, i), 2.0), by=i)
def fields(i: int, x: float, s: str, b: bool) -> float: return _moved(Point(x, i), x).x + Point(i).y
def dict_items(i: int, x: float, s: str, b: bool) -> str: return _labelled(s, x)["zone"] + str(_labelled(s, i)["at"].x)
def of_none(i: int, x: float, s: str, b: bool) -> float: return _corner(x, b).y
def item_of_none(i: int, x: float, s: str, b: bool) -> str:
    found = _labelled(s, x) if b else None
    return found["zone"]
def text_of_field(i: int, x: float, s: str, b: bool) -> str:
    found = Point(x, label=s)
    if found.label is not None and not b:
        return found.label.strip()
    return found.label.upper() + f"{found.x:.2f}"
def looped(i: int, x: float, s: str, b: bool) -> Point:
    found = Point(0, i)
    for step in range(5):
        if step == 3 and b:
            continue
        found = Point(found.x + x, found.y * step, s)
    return found
def joined(i: int, x: float, s: str, b: bool) -> Event:
    if b:
        found = Event(s, x, i)
    else:
        found = None
    if found is None:
        return Event("none", 0, 0)
    if not found:
        raise ValueError("never")
    return found
def failing(i: int, x: float, s: str, b: bool) -> Event:
    return Event(
        NAMES[i],
        1 / x,
        i // (i - 7),
    )

def _corner(x: float, b: bool) -> Point | None:
    if b:
        return Point(x, label="corner")
    return None
def _moved(point: Point, by: float) -> Point:
    moved = Point(point.x + by, y=point.y)
    return moved
def _labelled(s: str, x: float) -> Labelled:
    return {"at": Point(x), "zone": s, "area": 1.0}
"""
STRUCTS = {
    "p": {"x": "float", "y": "float", "label": "str"},
    "e": {"type": "str", "value": "float", "score": "int"},
    "n": {
        "center": {"x": "float", "y": "float", "label": "str"},
        "corner": {"x": "float", "y": "float", "label": "str"},
        "counted": {"name": "str", "count": "int", "exact": "bool"},
        "kind": "str",
    },
    "w": {"zone": "str", "area": "float", "at": {"x": "float", "y": "float", "label": "str"}},
}
OF_STRUCTS = """
def same(p: Point, e: Event, n: Shape, w: Labelled) -> Point: return p
def same_optional(p: Point, e: Event, n: Shape, w: Labelled) -> Shape | None: return n
def same_dict(p: Point, e: Event, n: Shape, w: Labelled) -> Labelled | None: return w
def total(p: Point, e: Event, n: Shape, w: Labelled) -> float: return p.x + p.y * e.score
def scaled(p: Point, e: Event, n: Shape, w: Labelled) -> Event: return Event(e.type.upper(), e.value / e.score, e.score + 1)
def deep(p: Point, e: Event, n: Shape, w: Labelled) -> float: return n.center.x + n.corner.y if n.corner is not None else n.counted.count
def deep_item(p: Point, e: Event, n: Shape, w: Labelled) -> str | None: return w["at"].label or w["zone"]
def lengths(p: Point, e: Event, n: Shape, w: Labelled) -> int: return len(e.type) + len(n.counted.name)
def compares(p: Point, e: Event, n: Shape, w: Labelled) -> bool: return p.x < w["at"].x or n.kind == e.type
def guarded(p: Point | None, e: Event | None, n: Shape, w: Labelled) -> float:
    if p is None or e is None:
        return -1.0
    if not p.x or e.value is None:
        return 0.0
    return e.value / p.x
def regrouped(p: Point, e: Event, n: Shape, w: Labelled) -> Shape: return Shape(p, n.corner, Counted(e.type, e.score), n.kind)
"""


@pytest.mark.long
@pytest.mark.parametrize(("parameters", "text"), [(SCALARS, OF_SCALARS), (STRUCTS, OF_STRUCTS)])
def test_each_construct(spark, parameters, text):
    text = CLASSES + text
    functions, _ = read_functions(FileText("macros/all.py", text))
    refused = {
        f.name: str(obstacle)
        for f in functions
        if isinstance(obstacle := translate_function(f, text), Obstacle)
    }
    assert refused == {}
    input_rows = rows(3, parameters, NATIVE_ROWS)
    _, values, failed = compared(spark, text, input_rows, parameters, "macros/all.py")
    assert values > failed > 0


@pytest.mark.long
def test_a_call_without_a_guard_returns_the_struct_or_stops_the_query(spark):
    text = f"{CLASSES}\ndef doubled(p: Point) -> Point: return Point(p.x * 2, p.y, p.label)\n"
    (function,) = read_functions(FileText("macros/plain.py", text))[0]
    registered(spark, SourceFile("macros/plain.py", text, "plain"), [function])
    point = "named_struct('x', {}, 'y', 1D, 'label', 'a')"
    frame = spark.sql(f"select doubled({point.format('2.5D')}).x as x, doubled({point.format('1D')}) as p")
    assert [tuple(row) for row in frame.collect()] == [(5.0, (2.0, 1.0, "a"))]
    located = f"doubled{LOCATED}(named_struct('topic', 'a', 'offset', 7L), {{}})"
    (row,) = spark.sql(f"select {located.format(point.format('3D'))} as p").collect()
    assert tuple(row.p) == (6.0, 1.0, "a")
    failing = spark.sql(f"select {located.format(point.format('cast(null as double)'))}")
    with pytest.raises(Exception, match=r"a function failed: topic a, offset 7: doubled\(\): TypeError"):
        failing.collect()
    failing = spark.sql(f"select doubled({point.format('cast(null as double)')})")
    with pytest.raises(Exception, match=r"a function failed: doubled\(\): TypeError: unsupported operand"):
        failing.collect()


@pytest.mark.long
def test_a_struct_with_other_fields_goes_to_python(spark):
    text = f"{CLASSES}\ndef total(p: Point) -> float: return p.x + p.y\n"
    (function,) = read_functions(FileText("macros/other.py", text))[0]
    registered(spark, SourceFile("macros/other.py", text, "other"), [function])
    structs = "select named_struct('y', id + 0D, 'x', 1D, 'label', '') as a, named_struct('x', 2D, 'y', id + 0D, 'label', '') as b"
    frame = spark.sql(f"select total(a), total(b) from ({structs} from range(1))")
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert "pythonUDF0" in plan
    assert "pythonUDF1" not in plan
    assert [tuple(row) for row in frame.collect()] == [(1.0, 2.0)]


def test_what_is_not_provable_runs_in_python():
    def obstacle(body, classes=CLASSES):
        text = f"{classes}\n{body}\n"
        function = read_functions(FileText("macros/a.py", text))[0][-1]
        return translate_function(function, text).what

    assert (
        obstacle("def f(x: float) -> bool: return Point(x) == Point(x)")
        == "`Point(x) == Point(x)`, a comparison of other values than numbers and texts"
    )
    assert (
        obstacle("def f(x: float) -> str: return str(Point(x))")
        == "`Point(x)`, no number or text, in this place"
    )
    assert (
        obstacle("def f(x: float) -> float: return Point(x).length()")
        == "`Point(x)`, no number or text, in this place"
    )
    assert (
        obstacle("def f(x: float) -> Counted: return Point(x)")
        == "a result of type struct<name:string,count:bigint,exact:boolean>"
    )
    assert obstacle("def f(x: float) -> float: return Point(x)") == "a result of type double"
    assert (
        obstacle("def f(x: float) -> Labelled: return {'zone': 'a'}")
        == "a result of type struct<zone:string,area:double,at:struct<x:double,y:double,label:string>>"
    )
    assert (
        obstacle("def f(x: float) -> Point:\n    p = Point(x)\n    p.y = 1.0\n    return p") == "`p.y = 1.0`"
    )
    assert obstacle("def f(x: float) -> Point: return Point(x, z=1)") == "the argument `z` of `Point`"
    assert obstacle("def f(x: float) -> Event: return Event('a', x)") == "a missing argument of `Event`"
    assert obstacle("Point.y = 3\ndef f(x: float) -> Point: return Point(x)") == "a call of `Point`"
    growing = (
        "def f(x: float) -> int:\n    p = None\n    for i in range(9):\n        p = {'a': p}\n    return 1"
    )
    assert obstacle(growing) == "a loop whose variables become other structs in each round"
    changing = (
        "@dataclass\nclass P:\n    x: float\n    def __post_init__(self) -> None:\n        self.x = 1.0\n"
    )
    assert (
        obstacle(f"{changing}def f(x: float) -> P: return P(x)")
        == "`def __post_init__(self) -> None:` in a class"
    )
    inherited = "@dataclass\nclass P(Point):\n    z: float = 1.0\n"
    assert (
        obstacle(f"{inherited}def f(x: float) -> P: return P(x)")
        == "the class `P`, which is not a plain dataclass, NamedTuple or TypedDict"
    )
    without_init = (
        "from dataclasses import field\n@dataclass\nclass P:\n    x: float = field(init=False, default=1.0)\n"
    )
    assert obstacle(f"{without_init}def f(x: float) -> P: return P()") == "`field(init=False, default=1.0)`"
    partial = "class P(TypedDict):\n    z: NotRequired[float]\n"
    assert (
        obstacle(f"from typing import NotRequired\n{partial}def f(p: P) -> float: return p['z']")
        == "`z: NotRequired[float]` in a class"
    )


def test_a_local_variable_hides_what_the_file_and_python_define():
    text = "import math\nx = 5\n"
    for body in ("max(1, 2)", "math.pi", "3 in (x, 3)", "len((x, 1))"):
        name = body.partition("(")[0].partition(".")[0] if "x" not in body[4:] else "x"
        source = f"{text}def f({name}: int) -> float: return {body} * 1.0\n"
        assert isinstance(
            translate_function(read_functions(FileText("macros/a.py", source))[0][0], source), Obstacle
        ), body
