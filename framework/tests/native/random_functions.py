"""Random Python functions: statements and expressions by types, so that most of them can be translated."""

import random

PARAMETERS = {"i": "int", "j": "int", "x": "float", "y": "float", "s": "str", "b": "bool"}
A, E, SPACED, PAIR = '"a"', '"é"', '"a "', '("a", "é")'
_CONSTANTS = """
import math

WEIGHTS = {"a": 1.5, "b": 2.0, "é": -0.25}
COUNTS = {"a": 1, "zz": 7, "": 3}
MIXED = {1: "one", 2.5: "two", None: "none", "a": 4}
NAMES = frozenset({"a", "b", "purchase"})
STEPS = (1, 2.5, 3)
LIMIT = 60 * 60
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
        returns = self.pick("int", "float", "float", "str", "bool")
        hints = ", ".join(f"{each}: {kind} | None" for each, kind in PARAMETERS.items())
        lines = [f"def {name}({hints}) -> {returns} | None:"]
        # Values that are None are left to some functions: most would raise.
        if self.random.random() < 0.7:
            for each, kind in PARAMETERS.items():
                default = {"int": "0", "float": "0.0", "str": "''", "bool": "False"}[kind]
                lines.append(f"    {each} = {each} if {each} is not None else {default}")
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
                of = self.pick("int", "float", "str", "bool")
                name = f"v{self.random.randint(0, 3)}{of[0]}"
            line = f"{name} = {self.expression(of, 2)}"
            self.locals[name] = of
            return [line]
        if kind < 0.5:
            name, of = self.pick(*[each for each in self.locals.items() if each[1] in {"int", "float"}])
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
            head = self.pick(f"for k in range({self.pick('3', '2, 6', '5, 0, -2')}):", "for k in (4, 7, 9):")
            self.locals["k"] = "int"
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
            lambda: f"{self.name(self.pick('int', 'float', 'str'))} is {self.pick('not ', '')}None",
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
        }[of]()

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
            lambda: f"str(MIXED.get({self.name(self.pick('int', 'float', 'str'))}))",
        )()

    def bool_value(self, depth):
        return self.pick(
            lambda: f"({self.condition(depth)})",
            lambda: f"bool({self.expression(self.pick('int', 'float', 'str'), depth)})",
            lambda: f"(not {self.expression('bool', depth)})",
        )()
