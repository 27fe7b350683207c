"""Builtins that take all values of a list or a generator: `sum`, `min`, `any`, `sorted` and the like."""

from __future__ import annotations

import ast
import sys

from millstream.native import messages
from millstream.native.expressions import ExpressionTranslator
from millstream.native.iterations import each_value, list_value
from millstream.native.values import (
    BOOL,
    INT,
    NONE,
    NUMBERS,
    STR,
    JavaValue,
    Kinds,
    ObstacleError,
    convert_java,
    elements_of,
    java_type,
    to_java,
)

_COMPENSATED = sys.version_info >= (3, 12)
"""From then on, `sum` of floats depends on the version in the last digit."""
AGGREGATES = frozenset(f"builtins.{name}" for name in ("any", "all", "sum", "min", "max", "sorted", "list"))
_DEFAULTS = {"long": "0L", "double": "0.0", "boolean": "false"}


def translate_aggregate(
    translator: ExpressionTranslator, node: ast.Call, name: str, argument: ast.expr
) -> JavaValue:
    match name:
        case "builtins.any" | "builtins.all":
            return _quantified(translator, node, argument, stops_at=name == "builtins.any")
        case "builtins.sum":
            return _sum(translator, node, argument)
        case "builtins.min" | "builtins.max":
            return _extreme(translator, node, argument, name.partition(".")[2])
        case "builtins.sorted":
            return _sorted(translator, node, argument)
    return list_value(translator, node, argument)


def _quantified(
    translator: ExpressionTranslator, node: ast.Call, argument: ast.expr, *, stops_at: bool
) -> JavaValue:
    holds = translator.code.variable("boolean", to_java(not stops_at))

    def test(value: JavaValue, leave: str) -> None:
        truth = translator.truth(value)
        lines = [f"{holds} = {to_java(stops_at)};", leave]
        translator.code.write_block(f"if ({truth if stops_at else f'!({truth})'}) {{", lines)

    each_value(translator, node, argument, test)
    return JavaValue(holds, BOOL)


def _sum(translator: ExpressionTranslator, node: ast.Call, argument: ast.expr) -> JavaValue:
    code = translator.code
    kinds = seen = INT
    while True:  # until the kinds of the total are known
        java = java_type(kinds, wide=code.wide)
        with code.block() as lines:
            total = JavaValue(code.variable(java, convert_java("0L", "long", java)), kinds)

            def add(value: JavaValue, _: str, total: JavaValue = total, java: str = java) -> None:
                nonlocal seen
                if not value.only(NUMBERS | NONE):
                    raise ObstacleError(node, "`sum()` of anything but numbers")
                new_total = translator.arithmetic(node, ast.Add(), total, value)
                seen |= new_total.kinds
                if new_total.only(total.kinds):
                    new_java = java_type(new_total.kinds, wide=code.wide)
                    code.write(f"{total.code} = {convert_java(new_total.code, new_java, java)};")

            each_value(translator, node, argument, add)
        if seen <= kinds:
            break
        kinds = seen
    if _COMPENSATED and "float" in kinds:
        raise ObstacleError(node, "`sum()` of floats, whose last digit depends on the version of Python")
    code.lines += lines
    return total


def _extreme(translator: ExpressionTranslator, node: ast.Call, argument: ast.expr, name: str) -> JavaValue:
    """Translate `min` or `max`: a later value is taken only if it is less, or greater."""
    code = translator.code
    sign = ast.Lt() if name == "min" else ast.Gt()
    kinds: Kinds = NONE
    seen: Kinds = frozenset()
    while True:  # until the kinds of the values are known
        java = java_type(kinds, wide=code.wide)
        with code.block() as lines:
            best = JavaValue(code.variable(java, _DEFAULTS.get(java, "null")), kinds)
            has_best = code.variable("boolean", "false")

            def take(
                value: JavaValue, _: str, best: JavaValue = best, java: str = java, has_best: str = has_best
            ) -> None:
                nonlocal seen
                seen |= translator.scalar(node, value).kinds
                taken = code.variable("boolean", f"!{has_best}")
                with code.block() as comparison:
                    code.write(f"{taken} = {translator.compared(node, sign, value, best)};")
                code.write_block(f"if ({has_best}) {{", comparison)
                if value.only(best.kinds):
                    candidate = convert_java(value.code, java_type(value.kinds, wide=code.wide), java)
                    code.write_block(
                        f"if ({taken}) {{", [f"{best.code} = {candidate};", f"{has_best} = true;"]
                    )

            each_value(translator, node, argument, take)
        if (seen or NONE) == kinds:
            break
        kinds = seen
    code.lines += lines
    code.record_line(node.lineno)
    error = ", ".join(map(to_java, messages.of_empty(name)))
    code.write(f"if (!{has_best}) throw new PythonError({error});")
    return best


def _sorted(translator: ExpressionTranslator, node: ast.Call, argument: ast.expr) -> JavaValue:
    match node.keywords:
        case []:
            reverse = False
        case [ast.keyword(arg="reverse", value=ast.Constant(value=bool(reverse)))]:
            pass
        case _:
            raise ObstacleError(node, f"named arguments of `{ast.unparse(node.func)}`")
    value = list_value(translator, node, argument)
    kinds = elements_of(value)
    if not (kinds <= INT | BOOL or kinds == STR):
        raise ObstacleError(node, "`sorted()` of anything but integers, or texts, without None")
    return translator.code.temporary(
        value.kinds, f"PythonValues.sorted((java.util.List) {value.code}, {to_java(reverse)})"
    )
