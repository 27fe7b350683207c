"""Expressions of Python: each is evaluated in Python's order, into variables of Java."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

from millstream.native import messages
from millstream.native.code import JavaCode, JavaVariable, Locals
from millstream.native.constants import ModuleNames
from millstream.native.structs import StructClass
from millstream.native.values import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    NUMBERS,
    STR,
    Constant,
    JavaValue,
    Kinds,
    ObstacleError,
    boxed_literal,
    convert_java,
    elements_of,
    is_translatable,
    java_type,
    kind_of,
    to_java,
)

_ARITHMETIC: Mapping[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply",
    ast.Div: "divide", ast.FloorDiv: "floorDivide", ast.Mod: "modulo",
}  # fmt: skip
_OF_FLOATS = {"add": "+", "subtract": "-", "multiply": "*"}
_ORDER: Mapping[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "less"), ast.LtE: ("<=", "lessOrEqual"),
    ast.Gt: (">", "greater"), ast.GtE: (">=", "greaterOrEqual"),
}  # fmt: skip
_MIRRORED = {"greater": "less", "greaterOrEqual": "lessOrEqual"}


class JavaOwner(Protocol):
    """What expressions need of the class of Java that they become a part of."""

    names: ModuleNames
    shows_texts: bool
    """Whether an error can show a text as `repr()` does."""

    def field(self, constant: Constant) -> str:
        """Return the name of a constant collection."""

    def characters(self, name: str) -> str:
        """Return the arguments that `PythonTexts` needs to change the case of texts."""

    def call(self, translator: ExpressionTranslator, node: ast.Call, called: ast.FunctionDef) -> JavaValue:
        """Translate the call of another function of the file."""

    def construct(self, translator: ExpressionTranslator, node: ast.Call, struct: StructClass) -> JavaValue:
        """Translate the call of a class of the file."""


class ExpressionTranslator(ABC):
    """Translates the expressions of one function."""

    def __init__(self, program: JavaOwner, code: JavaCode, local_names: frozenset[str]) -> None:
        self.program = program
        self.names: ModuleNames = program.names
        self.code = code
        self.local_names = local_names

    def value(self, node: ast.expr) -> JavaValue:
        """Evaluate an expression that must be a scalar."""
        return self.scalar(node, self.any_value(node))

    def scalar(self, node: ast.expr, value: JavaValue) -> JavaValue:
        if not value.is_scalar:
            raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`, no number or text, in this place")
        return value

    def any_value(self, node: ast.expr) -> JavaValue:
        match node:
            case ast.Constant(value=value):
                return self._scalar(node, value)
            case ast.Name(id=name):
                return self.code.read(name) or self._global(node)
            case ast.Attribute() if self.qualified_name(node):
                return self._global(node)
            case ast.BinOp(left=left, op=op, right=right):
                a = self.value(left)
                return self.arithmetic(node, op, a, self.value(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.code.temporary(BOOL, f"!{self.condition(operand)}")
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(node, op, self.value(operand))
            case ast.Compare():
                return JavaValue(self.condition(node), BOOL)
            case ast.BoolOp(op=op, values=values):
                return self._either(values, stops_at=isinstance(op, ast.Or))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._conditional(test, body, orelse)
        return self.other(node)

    @abstractmethod
    def other(self, node: ast.expr) -> JavaValue:
        """Evaluate what is translated in other files."""

    def _scalar(self, node: ast.expr, value: Any) -> JavaValue:
        if not is_translatable(value):
            raise ObstacleError(node, f"the constant `{ast.unparse(node)[:40]}`")
        kinds = kind_of(value)
        code = to_java(value)
        if java_type(kinds, wide=self.code.wide) == "Object":
            code = boxed_literal(value)
        return JavaValue(code, kinds)

    def _global(self, node: ast.expr) -> JavaValue:
        constant = self.constant(node)
        if isinstance(constant, Constant):
            raise ObstacleError(node, f"the collection `{ast.unparse(node)[:40]}` as a value")
        return self._scalar(node, constant)

    def default(self, node: ast.expr) -> JavaValue:
        """Return the default of a parameter, which knows the names of the module only."""
        constant = self.names.constant(node)
        if isinstance(constant, Constant):
            raise ObstacleError(node, "a collection as a default")
        return self._scalar(node, constant)

    def constant(self, node: ast.expr) -> Any:
        for descendant in ast.walk(node):
            if isinstance(descendant, ast.Name) and descendant.id in self.local_names:
                what = "which may be unbound here" if descendant is node else "which is not a constant"
                raise ObstacleError(node, f"`{descendant.id}`, {what}")
        return self.names.constant(node)

    def qualified_name(self, node: ast.expr) -> str:
        """Return the qualified name of a builtin or of a part of `math`, unless a local variable hides it."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return (
            ""
            if isinstance(root, ast.Name) and root.id in self.local_names
            else self.names.qualified_name(node)
        )

    def collection(self, node: ast.expr) -> Constant | None:
        """Return a constant collection, if the expression is one."""
        if isinstance(node, ast.Name) and (self.code.locals or {}).get(node.id) is not None:
            return None
        match node:
            case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.Name() | ast.Call():
                pass
            case _:
                return None
        if isinstance(node, ast.Call) and not self.qualified_name(node.func).startswith("builtins."):
            return None
        if isinstance(node, ast.Name) and node.id in self.local_names:
            return None
        try:
            constant = self.constant(node)
        except ObstacleError:
            if isinstance(node, ast.Name):
                raise
            return None
        return constant if isinstance(constant, Constant) else None

    # Conditions

    def condition(self, node: ast.expr) -> str:
        """Evaluate the truth of an expression; return a Java boolean that can be written repeatedly."""
        match node:
            case ast.BoolOp(op=op, values=values):
                stops_at = isinstance(op, ast.Or)
                holds = self.code.variable("boolean", self.condition(values[0]))
                before = self.code.locals
                self.narrow(values[0], truth=not stops_at)
                for value in values[1:]:
                    with self.code.block() as lines:
                        self.code.write(f"{holds} = {self.condition(value)};")
                    self.code.write_block(f"if ({'!' if stops_at else ''}{holds}) {{", lines)
                    self.narrow(value, truth=not stops_at)
                self.code.locals = before
                return holds
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.condition(operand)
                return "false" if inner == "true" else "true" if inner == "false" else f"!{inner}"
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._comparison(node, left, ops, comparators)
            case _:
                return self.truth(self.any_value(node))

    def truth(self, value: JavaValue) -> str:
        code = value.code
        if value.kinds == NONE:
            return "false"
        match java_type(value.kinds, wide=self.code.wide):
            case "boolean":
                return code
            case "long":
                return f"({code} != 0L)"
            case "double":
                return f"({code} != 0.0)"
            case "String":
                return f"!{code}.isEmpty()"
            case _:
                return f"PythonValues.truth({code})"

    def narrow(self, test: ast.expr, *, truth: bool) -> None:
        self.code.locals = narrow_locals(self.code.locals, test, truth=truth)

    def _comparison(
        self, node: ast.Compare, left: ast.expr, ops: list[ast.cmpop], comparators: list[ast.expr]
    ) -> str:
        if isinstance(ops[0], ast.In | ast.NotIn):
            if len(ops) > 1:
                raise ObstacleError(node, "a chain of comparisons with `in`")
            contained = self._within(node, self.value(left), comparators[0])
            return f"!{contained}" if isinstance(ops[0], ast.NotIn) else contained
        return self._chain(node, self.any_value(left), ops, comparators)

    def _chain(
        self, node: ast.Compare, a: JavaValue, ops: list[ast.cmpop], comparators: list[ast.expr]
    ) -> str:
        if isinstance(ops[0], ast.In | ast.NotIn):
            raise ObstacleError(node, "a chain of comparisons with `in`")
        b = self.any_value(comparators[0])
        first = self.compared(node, ops[0], a, b)
        if len(ops) == 1:
            return first
        holds = self.code.variable("boolean", first)
        with self.code.block() as lines:
            self.code.write(f"{holds} = {self._chain(node, b, ops[1:], comparators[1:])};")
        self.code.write_block(f"if ({holds}) {{", lines)
        return holds

    def compared(self, node: ast.expr, op: ast.cmpop, a: JavaValue, b: JavaValue) -> str:
        """Return a Java boolean for one comparison."""
        self.code.record_line(node.lineno)
        match op:
            case ast.Is() | ast.IsNot():
                equal = self._identical(node, a, b)
                return f"!{equal}" if isinstance(op, ast.IsNot) else equal
            case _ if not (a.is_scalar and b.is_scalar) and not JavaValue("", a.kinds | b.kinds).is_time:
                raise ObstacleError(
                    node, f"`{ast.unparse(node)[:40]}`, a comparison of other values than numbers and texts"
                )
            case ast.Eq() | ast.NotEq():
                equal = self._equal(a, b)
                return self._boolean(f"!{equal}" if isinstance(op, ast.NotEq) else equal)
            case _ if type(op) in _ORDER:
                return self._boolean(self._ordered(*_ORDER[type(op)], a, b))
        raise ObstacleError(node, f"the comparison `{ast.unparse(node)[:40]}`")

    def _boolean(self, code: str) -> str:
        return self.code.temporary(BOOL, code).code

    def _identical(self, node: ast.expr, a: JavaValue, b: JavaValue) -> str:
        if b.kinds != NONE:
            raise ObstacleError(node, "`is` with anything but None")
        if "NoneType" not in a.kinds:
            return "false"
        return "true" if a.kinds == NONE else f"({a.code} == null)"

    def _equal(self, a: JavaValue, b: JavaValue) -> str:
        if a.kinds == b.kinds and java_type(a.kinds, wide=self.code.wide) in {"long", "double", "boolean"}:
            return f"({a.code} == {b.code})"
        if a.kinds == b.kinds == STR:
            return f"{a.code}.equals({b.code})"
        if not self.code.wide and (a.kinds, b.kinds) == (INT, FLOAT):
            return f"PythonNumbers.equal({a.code}, {b.code})"
        if not self.code.wide and (a.kinds, b.kinds) == (FLOAT, INT):
            return f"PythonNumbers.equal({b.code}, {a.code})"
        return f"PythonValues.equal({self.code.boxed(a)}, {self.code.boxed(b)})"

    def _ordered(self, sign: str, name: str, a: JavaValue, b: JavaValue) -> str:
        kinds = (a.kinds, b.kinds)
        if kinds == (FLOAT, FLOAT) or (kinds == (INT, INT) and not self.code.wide):
            return f"({a.code} {sign} {b.code})"
        if kinds == (STR, STR):
            return f"(PythonTexts.compare({a.code}, {b.code}) {sign} 0)"
        if not self.code.wide and kinds in {(INT, FLOAT), (FLOAT, INT)}:
            mirrored = _MIRRORED.get(name)
            first, second = (b, a) if mirrored else (a, b)
            return f"PythonNumbers.{mirrored or name}({first.code}, {second.code})"
        return f"PythonValues.{name}({self.code.boxed(a)}, {self.code.boxed(b)})"

    def _within(self, node: ast.Compare, value: JavaValue, container: ast.expr) -> str:
        constant = self.collection(container)
        if constant is not None:
            field = self.program.field(constant)
            return self._boolean(f"PythonValues.contains({field}, {self.code.boxed(value)})")
        if isinstance(container, ast.Tuple):
            container = ast.copy_location(ast.List(container.elts, ast.Load()), container)
        text = self.any_value(container)
        text = self.present(node, text, *messages.of_none("in"))
        if text.is_list:
            return self._in_list(node, text, value)
        value = self.present(node, value, *messages.of_none("in str"))
        if text.kinds != STR or value.kinds != STR:
            raise ObstacleError(node, "`in` of something that is not a list, a constant collection or a text")
        return self._boolean(f"{text.code}.contains({value.code})")

    def _in_list(self, node: ast.expr, elements: JavaValue, value: JavaValue) -> str:
        kinds = elements_of(elements)
        # Python finds the same NaN, but no equal one.
        if not JavaValue("", kinds).is_scalar or "float" in kinds & value.kinds:
            raise ObstacleError(node, "`in` of a list of structs, lists or floats")
        return self._boolean(
            f"PythonValues.contains((java.util.List) {elements.code}, {self.code.boxed(value)})"
        )

    # Values by conditions

    def _either(self, values: list[ast.expr], *, stops_at: bool) -> JavaValue:
        """Translate `and` and `or`, which return one of their operands."""
        first, *rest = values
        left = self.any_value(first)
        if not rest:
            return left
        before = self.code.locals
        test = self.truth(left)
        with self.code.block() as lines:
            self.narrow(first, truth=not stops_at)
            right = self._either(rest, stops_at=stops_at)
            self.code.locals = before
        left_kinds = left.kinds - (NONE if stops_at else frozenset())
        return self._chosen(
            test if stops_at else f"!{test}", (left, left_kinds, []), (right, right.kinds, lines)
        )

    def _conditional(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> JavaValue:
        condition = self.condition(test)
        before = self.code.locals
        branches = []
        for node, truth in ((body, True), (orelse, False)):
            with self.code.block() as lines:
                self.narrow(test, truth=truth)
                value = self.any_value(node)
                self.code.locals = before
            branches.append((value, value.kinds, lines))
        return self._chosen(condition, *branches)

    def _chosen(
        self,
        condition: str,
        first: tuple[JavaValue, Kinds, list[str]],
        second: tuple[JavaValue, Kinds, list[str]],
    ) -> JavaValue:
        kinds = first[1] | second[1]
        wide = self.code.wide
        java = java_type(kinds, wide=wide)
        name = self.code.variable(java, {"long": "0L", "double": "0.0", "boolean": "false"}.get(java, "null"))
        for value, _, lines in (first, second):
            lines.append(f"{name} = {convert_java(value.code, java_type(value.kinds, wide=wide), java)};")
        self.code.write_choice(condition, first[2], second[2])
        return JavaValue(name, kinds)

    # Arithmetic

    def long(self, value: JavaValue) -> str:
        return f"({value.code} ? 1L : 0L)" if value.kinds == BOOL else value.code

    def double(self, value: JavaValue) -> str:
        if value.kinds == FLOAT:
            return value.code
        if java_type(value.kinds, wide=self.code.wide) == "Object":
            return f"PythonValues.toDouble({value.code})"
        return f"((double) {self.long(value)})"

    def arithmetic(self, node: ast.expr, op: ast.operator, a: JavaValue, b: JavaValue) -> JavaValue:
        name = _ARITHMETIC.get(type(op))
        if name is None:
            raise ObstacleError(node, f"the operator of `{ast.unparse(node)[:40]}`")
        texts = "str" in a.kinds or "str" in b.kinds
        if (name == "multiply" and texts) or (name == "modulo" and "str" in a.kinds):
            raise ObstacleError(node, f"`{'*' if name == 'multiply' else '%'}` of a text")
        self.code.record_line(node.lineno)
        errors = messages.division_messages(name)
        if len(a.kinds) == len(b.kinds) == 1 and a.kinds | b.kinds <= NUMBERS:
            if FLOAT in {a.kinds, b.kinds}:
                return self._of_floats(name, a, b, errors)
            if not self.code.wide:
                error_arguments = f", {to_java(errors[0])}" if errors else ""
                code = f"PythonNumbers.{name}({self.long(a)}, {self.long(b)}{error_arguments})"
                return self.code.temporary(FLOAT if name == "divide" else INT, code)
        if a.kinds == b.kinds == STR and name == "add":
            return self.code.temporary(STR, f"{a.code}.concat({b.code})")
        error_arguments = "".join(f", {to_java(error)}" for error in errors)
        code = f"PythonValues.{name}({self.code.boxed(a)}, {self.code.boxed(b)}{error_arguments})"
        return self.code.temporary(_result(name, a.kinds, b.kinds), code, "Object")

    def _of_floats(self, name: str, a: JavaValue, b: JavaValue, errors: tuple[str, ...]) -> JavaValue:
        left, right = self.double(a), self.double(b)
        if name in _OF_FLOATS:
            return self.code.temporary(FLOAT, f"{left} {_OF_FLOATS[name]} {right}")
        return self.code.temporary(FLOAT, f"PythonNumbers.{name}({left}, {right}, {to_java(errors[1])})")

    def _unary(self, node: ast.expr, op: ast.unaryop, value: JavaValue) -> JavaValue:
        names: Mapping[type[ast.unaryop], str] = {ast.USub: "negate", ast.UAdd: "positive"}
        name = names.get(type(op))
        if name is None:
            raise ObstacleError(node, f"the operator of `{ast.unparse(node)[:40]}`")
        self.code.record_line(node.lineno)
        if value.kinds == FLOAT:
            return self.code.temporary(FLOAT, f"-{value.code}") if name == "negate" else value
        if value.kinds in {INT, BOOL} and not self.code.wide:
            code = f"PythonNumbers.negate({self.long(value)})" if name == "negate" else self.long(value)
            return self.code.temporary(INT, code)
        kinds = frozenset("int" if kind == "bool" else kind for kind in value.kinds & NUMBERS) or NONE
        return self.code.temporary(kinds, f"PythonValues.{name}({self.code.boxed(value)})", "Object")

    # What raises for None

    def present(self, node: ast.stmt | ast.expr, value: JavaValue, error: str, message: str) -> JavaValue:
        """Raise an error if a value is None; return it as one that is not."""
        if "NoneType" not in value.kinds or value.kinds == NONE:
            return value
        self.code.record_line(node.lineno)
        self.code.write(
            f"if ({value.code} == null) throw new PythonError({to_java(error)}, {to_java(message)});"
        )
        return self.code.temporary(value.kinds - NONE, value.code, "Object")

    def both_present(
        self, node: ast.expr, sign: str, a: JavaValue, b: JavaValue
    ) -> tuple[JavaValue, JavaValue]:
        """Raise an error if an operand of an augmented assignment is None."""
        tests = [f"{operand.code} == null" for operand in (a, b) if "NoneType" in operand.kinds]
        if not tests or NONE in {a.kinds, b.kinds}:
            return a, b
        self.code.record_line(node.lineno)
        operands = f"{self.code.boxed(a)}, {self.code.boxed(b)}"
        error = f"PythonValues.unsupported({to_java(sign)}, {operands})"
        self.code.write(f"if ({' || '.join(tests)}) throw {error};")
        present = [
            self.code.temporary(operand.kinds - NONE, operand.code, "Object")
            if "NoneType" in operand.kinds
            else operand
            for operand in (a, b)
        ]
        return present[0], present[1]


def _result(name: str, left: Kinds, right: Kinds) -> Kinds:
    """Return the kinds of an arithmetic result; of None, if it always raises."""
    kinds: set[str] = set()
    for a in left:
        for b in right:
            if {a, b} <= NUMBERS:
                kinds.add("float" if name == "divide" or "float" in {a, b} else "int")
            elif a == b == "str" and name == "add":
                kinds.add("str")
    return frozenset(kinds) or NONE


def narrow_locals(locals_: Locals | None, test: ast.expr, *, truth: bool) -> Locals | None:
    """Return what is known of variables where a condition holds, or does not."""
    if locals_ is None:
        return None
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return narrow_locals(locals_, operand, truth=not truth)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) == truth:
            for value in values:
                locals_ = narrow_locals(locals_, value, truth=truth)
            return locals_
        case ast.Name(id=name) if truth:
            return _without_none(locals_, name)
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=None)]):
            if isinstance(op, ast.IsNot) if truth else isinstance(op, ast.Is):
                return _without_none(locals_, name)
    return locals_


def _without_none(locals_: Locals, name: str) -> Locals:
    local = locals_.get(name)
    if local is None or local.kinds <= NONE:
        return locals_
    return {**locals_, name: JavaVariable(local.type, local.kinds - NONE, local.slot)}
