"""Random Python functions: statements and expressions by types, so that most of them can be translated."""

import random

PARAMETERS = {
    "i": "int", "j": "int", "x": "float", "y": "float", "s": "str", "b": "bool",
    "p": "point", "ns": "ints", "ts": "texts",
}  # fmt: skip
ARROW = {"point": {"x": "float", "n": "int", "s": "str"}, "ints": ["int"], "texts": ["str"]}
"""The kinds of values that are not scalars."""
_SCALARS = ("int", "float", "str", "bool")
_KINDS = (*_SCALARS, *ARROW)
_HINTS = {"point": "Point", "ints": "list[int | None]", "texts": "list[str | None]"}
_DEFAULTS = {
    "int": "0", "float": "0.0", "str": "''", "bool": "False",
    "point": "Point(1.5, 2)", "ints": "[]", "texts": "['a', '']",
}  # fmt: skip
A, E, SPACED, PAIR = '"a"', '"é"', '"a "', '("a", "é")'
_CONSTANTS = """
import math
from dataclasses import dataclass

WEIGHTS = {"a": 1.5, "b": 2.0, "é": -0.25}
COUNTS = {"a": 1, "zz": 7, "": 3}
MIXED = {1: "one", 2.5: "two", None: "none", "a": 4}
NAMES = frozenset({"a", "b", "purchase"})
STEPS = (1, 2.5, 3)
LIMIT = 60 * 60

@dataclass
class Point:
    x: float | None
    n: int | None = 3
    s: str | None = "é"

def _moved(point, by, label="moved"):
    if by == 2:
        return Point(s=label, x=point.x)
    return Point(point.x + by, point.n, point.s)
"""


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def file(self, count):
        return "\n".join([_CONSTANTS, *(self.function(f"f{number}") for number in range(count))])

    def function(self, name):
        self.locals = dict(PARAMETERS)
        self.optional = set(PARAMETERS)
        returns = self.pick("float", *_KINDS)
        hints = ", ".join(
            f"{parameter}: {_HINTS.get(kind, kind)} | None" for parameter, kind in PARAMETERS.items()
        )
        lines = [f"def {name}({hints}) -> {_HINTS.get(returns, returns)} | None:"]
        # Values that are None are left to some functions: most would raise.
        if self.random.random() < 0.7:
            for parameter, kind in PARAMETERS.items():
                lines.append(
                    f"    {parameter} = {parameter} if {parameter} is not None else {_DEFAULTS[kind]}"
                )
            self.optional = set()
        for _ in range(self.random.randint(0, 4)):
            lines += [f"    {line}" for line in self.statement(returns)]
        lines.append(f"    return {self.expression(returns, 3)}")
        return "\n".join(lines) + "\n"

    def statement(self, returns, depth=2, loop=False):
        kind = self.random.random()
        if kind < 0.4 or depth == 0:
            name, of = self.pick(*self.locals.items())
            if self.random.random() < 0.5:
                of = self.pick(*_KINDS)
                name = f"v{self.random.randint(0, 3)}_{of}"
            line = f"{name} = {self.expression(of, 2)}"
            self.locals[name] = of
            return [line]
        if kind < 0.5:
            name, of = self.pick(*[local for local in self.locals.items() if local[1] in {"int", "float"}])
            return [f"{name} {self.pick('+', '-', '*')}= {self.expression(of, 1)}"]
        if kind < 0.75:
            before = dict(self.locals)
            lines = [f"if {self.condition(2)}:"]
            lines += [f"    {line}" for line in self.block(returns, depth - 1, loop)]
            after = dict(self.locals)
            self.locals = dict(before)
            if self.random.random() < 0.6:
                lines.append("else:")
                lines += [f"    {line}" for line in self.block(returns, depth - 1, loop)]
                self.locals = {k: v for k, v in after.items() if self.locals.get(k) == v}
            return lines
        if kind < 0.9:
            before = dict(self.locals)
            over, kind = self.pick(
                (f"range({self.pick('3', '2, 6', '5, 0, -2')})", "int"),
                ("(4, 7, 9)", "int"),
                (self.expression("ints", 1), "int"),
                (self.expression(self.pick("texts", "str"), 1), "str"),
            )
            name = f"k_{kind}"
            head = f"for {name} in {over}:"
            self.locals[name] = kind
            lines = [head, *(f"    {line}" for line in self.block(returns, depth - 1, loop=True))]
            self.locals = before
            return lines
        if loop:
            return [f"if {self.condition(1)}:", f"    {self.pick('break', 'continue')}"]
        if kind < 0.95:
            return [f"if {self.condition(1)}:", f"    raise ValueError({self.expression('str', 1)})"]
        return [f"if {self.condition(2)}:", f"    return {self.expression(returns, 2)}"]

    def block(self, returns, depth, loop):
        lines = []
        for _ in range(self.random.randint(1, 2)):
            lines += self.statement(returns, depth, loop)
        return lines

    def name(self, of):
        return self.pick(*[name for name, kind in self.locals.items() if kind == of])

    def condition(self, depth):
        if depth and self.random.random() < 0.4:
            joined = self.pick("and", "or")
            return f"({self.condition(depth - 1)} {joined} {self.condition(depth - 1)})"
        return self.pick(
            lambda: f"{self.expression('int', 1)} {self.comparison()} {self.expression('float', 1)}",
            lambda: f"{self.expression('float', 1)} {self.comparison()} {self.expression('int', 1)}",
            lambda: f"{self.expression('int', 1)} {self.comparison()} {self.expression('int', 1)}",
            lambda: f"{self.expression('str', 1)} {self.comparison()} {self.expression('str', 1)}",
            lambda: f"{self.name('str')} {self.pick('in', 'not in')} {self.pick('NAMES', 'COUNTS', PAIR)}",
            lambda: f"not {self.name(self.pick('int', 'float', 'str', 'bool'))}",
            lambda: f"{self.name(self.pick(*_KINDS))} is {self.pick('not ', '')}None",
            lambda: f"{self.name('point')}.{self.pick('x', 'n', 's')} is {self.pick('not ', '')}None",
            lambda: self.expression(self.pick(*ARROW), 1),
            lambda: f"{self.expression('int', 1)} {self.pick('in', 'not in')} {self.expression('ints', 1)}",
            lambda: f"{self.expression('str', 1)} {self.pick('in', 'not in')} {self.expression('texts', 1)}",
            lambda: f"{self.pick('any', 'all')}({self.generated('bool', 1)})",
            lambda: f"{self.pick('any', 'all')}({self.expression(self.pick('ints', 'texts'), 1)})",
            lambda: f"{self.pick('0', '-1.5')} < {self.name('float')} <= {self.expression('int', 1)}",
            lambda: (
                f"{self.expression('str', 1)}.{self.pick('startswith', 'endswith')}({self.pick(A, PAIR)})"
            ),
            lambda: f"math.{self.pick('isnan', 'isinf', 'isfinite')}({self.expression('float', 1)})",
        )()

    def comparison(self):
        return self.pick("<", "<=", ">", ">=", "==", "!=")

    def expression(self, of, depth):
        if depth <= 0 or self.random.random() < 0.15:
            return self.name(of) if self.random.random() < 0.6 else self.literal(of)
        if self.random.random() < 0.12:
            return f"({self.expression(of, depth - 1)} if {self.condition(1)} else {self.expression(of, depth - 1)})"
        if self.random.random() < 0.08:
            return f"({self.expression(of, depth - 1)} {self.pick('or', 'and')} {self.expression(of, depth - 1)})"
        return getattr(self, f"{of}_value")(depth - 1)

    def literal(self, of):
        return {
            "int": lambda: self.pick("0", "1", "7", "-3", "255", "9007199254740993", "LIMIT", str(2**62)),
            "float": lambda: self.pick(
                "0.0", "-0.0", "0.5", "2.675", "1e16", "1e-7", "3.0", "math.pi", "1e300"
            ),
            "str": lambda: self.pick('"a"', '"éb"', '""', '"x\\u1234"', '"😀b"', '"A\\n"', '" b "'),
            "bool": lambda: self.pick("True", "False"),
            "point": lambda: self.pick("Point(0.5)", "Point(x=-1.5, n=2)"),
            "ints": lambda: self.pick("[1, -3, 7]", "[]"),
            "texts": lambda: self.pick('["a", ""]', '["b"]'),
        }[of]()

    def generated(self, of, depth):
        """Return what is between the brackets of a comprehension, or of a call with a generator."""
        before = dict(self.locals)
        kind, over = self.pick(
            ("int", self.expression("ints", depth)),
            ("int", f"range({self.expression('int', 0)} % 5)"),
            ("str", self.expression("texts", depth)),
            ("str", self.name("str")),
        )
        name = f"c{depth}_{kind}"
        self.locals[name] = kind
        tests = self.pick("", f" if {name} is not None", f" if {self.condition(0)}")
        text = f"{self.expression(of, depth)} for {name} in {over}{tests}"
        self.locals = before
        return text

    def int_value(self, depth):
        a, b = self.expression("int", depth), self.expression("int", depth)
        return self.pick(
            lambda: f"({a} {self.pick('+', '-', '*', '//', '%')} {b})",
            lambda: f"({a} + {self.expression('bool', depth)})",
            lambda: f"(-{a})",
            lambda: f"abs({a})",
            lambda: f"{self.pick('min', 'max')}({a}, {b})",
            lambda: f"len({self.expression('str', depth)})",
            lambda: (
                f"{self.pick('int', 'round', 'math.floor', 'math.ceil')}({self.expression('float', depth)})"
            ),
            lambda: f"COUNTS.get({self.expression('str', depth)}, {a})",
            lambda: f"COUNTS[{self.expression('str', depth)}]",
            lambda: f"{self.expression('point', depth)}.n",
            lambda: f"{self.pick('len', 'sum', 'min', 'max')}({self.expression('ints', depth)})",
            lambda: f"{self.pick('sum', 'min', 'max')}({self.generated('int', depth)})",
            lambda: f"{self.expression('ints', depth)}[{self.pick('0', '-1', self.name('int'))}]",
            lambda: f"{self.expression('str', depth)}.{self.pick('find', 'count')}({self.literal('str')})",
        )()

    def float_value(self, depth):
        a, b = self.expression("float", depth), self.expression(self.pick("float", "int"), depth)
        return self.pick(
            lambda: f"({a} {self.pick('+', '-', '*', '/', '//', '%')} {b})",
            lambda: f"({b} {self.pick('+', '-', '*', '/', '//', '%')} {a})",
            lambda: f"({self.expression('int', depth)} / {self.expression('int', depth)})",
            lambda: f"round({a}, {self.random.randint(0, 4)})",
            lambda: f"(-{a})",
            lambda: f"abs({a})",
            lambda: (
                f"{self.pick('min', 'max')}({a}, {self.expression('float', depth)}, {self.literal('float')})"
            ),
            lambda: f"min({a}, {self.expression('int', depth)})",
            lambda: f"float({b})",
            lambda: f"{self.expression('point', depth)}.x",
            lambda: f"{self.pick('sum', 'min', 'max')}({self.generated('float', depth)})",
            lambda: f"WEIGHTS.get({self.expression('str', depth)}, {a})",
            lambda: f"STEPS[{self.expression('int', depth)} % 3]",
        )()

    def str_value(self, depth):
        a = self.expression("str", depth)
        return self.pick(
            lambda: f"({a} + {self.expression('str', depth)})",
            lambda: f"str({self.expression(self.pick('int', 'float', 'str', 'bool'), depth)})",
            lambda: f'f"{{{self.name("int")}}}-{{{self.name("float")}:.2f}}{{{self.name("str")}}}"',
            lambda: f"{a}[{self.pick('0', '-1', 'i', '1:', ':2', '-2:', 'i:j', '1:3')}]",
            lambda: f"{a}.{self.pick('strip', 'lstrip', 'rstrip')}({self.pick('', SPACED)})",
            lambda: f"{a}.{self.pick('upper', 'lower')}()",
            lambda: f"{a}.replace({self.pick(A, E)}, {self.expression('str', 0)})",
            lambda: f"{a}.{self.pick('removeprefix', 'removesuffix')}({self.literal('str')})",
            lambda: f"{self.expression('point', depth)}.s",
            lambda: f"{a}.join({self.expression(self.pick('texts', 'str'), depth)})",
            lambda: f"{self.literal('str')}.join({self.generated('str', depth)})",
            lambda: f"{self.expression('texts', depth)}[{self.pick('0', '-1', self.name('int'))}]",
            lambda: f"str(MIXED.get({self.name(self.pick('int', 'float', 'str'))}))",
        )()

    def point_value(self, depth):
        # Some fields get a value of another type.
        x = self.expression("float" if self.random.random() < 0.9 else self.pick(*_SCALARS), depth)
        n = self.expression("int" if self.random.random() < 0.9 else self.pick(*_SCALARS), depth)
        return self.pick(
            lambda: f"Point({x}, {n}, {self.expression('str', depth)})",
            lambda: f"Point(s={self.expression('str', depth)}, x={x})",
            lambda: f"Point({x}, n={n})",
            lambda: f"_moved({self.expression('point', depth)}, {x})",
        )()

    def ints_value(self, depth):
        return self.pick(
            lambda: f"[{self.expression('int', depth)}, {self.expression('int', 0)}]",
            lambda: f"[{self.generated('int', depth)}]",
            lambda: f"{self.expression('ints', depth)}[{self.pick('1:', ':2', '-2:', 'i:j', ':')}]",
            lambda: f"sorted([{self.expression('int', 0)} or 5, len({self.expression('texts', depth)}), 7])",
            lambda: f"list(range({self.expression('int', 0)} % 4))",
        )()

    def texts_value(self, depth):
        return self.pick(
            lambda: f"[{self.expression('str', depth)}, {self.expression('str', 0)}]",
            lambda: f"[{self.generated('str', depth)}]",
            lambda: f"{self.expression('texts', depth)}[{self.pick('1:', ':2', '-2:', 'i:j', ':')}]",
            lambda: f"{self.expression('str', depth)}.split({self.pick('', A, SPACED, A + ', 1')})",
            lambda: f"list({self.expression('str', depth)})",
        )()

    def bool_value(self, depth):
        return self.pick(
            lambda: f"({self.condition(depth)})",
            lambda: f"bool({self.expression(self.pick('int', 'float', 'str'), depth)})",
            lambda: f"(not {self.expression('bool', depth)})",
        )()
