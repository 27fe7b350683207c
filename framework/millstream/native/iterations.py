"""What loops and comprehensions run over: ranges, lists, constant collections and the characters of texts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable

from msgspec import Struct

from millstream.native import messages
from millstream.native.code import JavaVariable
from millstream.native.expressions import ExpressionTranslator
from millstream.native.values import (
    BOOL,
    INT,
    NONE,
    STR,
    Constant,
    JavaValue,
    Kinds,
    ObstacleError,
    elements_of,
    java_type,
    kind_of,
    list_of,
    union_kinds,
)


class Iteration(Struct, frozen=True):
    ended: str
    """The condition, in Java, that no value is left."""
    advance: Callable[[], JavaValue]
    """Writes what takes the next value."""


def loop_over(translator: ExpressionTranslator, loop: ast.stmt | ast.expr, iterated: ast.expr) -> Iteration:
    """Evaluate what a `for` runs over."""
    return translate_iteration(translator, loop if sys.version_info < (3, 13) else iterated, iterated)


def translate_iteration(
    translator: ExpressionTranslator, node: ast.stmt | ast.expr, iterated: ast.expr
) -> Iteration:
    """Evaluate what a loop runs over; `node` has the line of the error if it is None."""
    of_range = _range_call(translator, iterated)
    if of_range is not None:
        return _range(translator, of_range)
    value = evaluate_list(translator, node, iterated)
    source = translator.code.variable("java.util.List", f"(java.util.List) {value.code}")
    index = translator.code.variable("int", "0")

    def advance() -> JavaValue:
        current = translator.code.temporary(elements_of(value), f"{source}.get({index})", "Object")
        translator.code.write(f"{index} = {index} + 1;")
        return current

    return Iteration(f"{index} >= {source}.size()", advance)


def evaluate_list(
    translator: ExpressionTranslator,
    node: ast.stmt | ast.expr,
    iterated: ast.expr,
    error: tuple[str, str] | None = None,
) -> JavaValue:
    """Evaluate a list, or a text as the list of its characters; `error` is raised for None."""
    constant = translator.collection(iterated)
    if isinstance(constant, Constant) and not isinstance(constant.value, set | frozenset):
        parts = tuple(constant.value)
        return JavaValue(translator.program.field(Constant(parts)), list_of(union_kinds(map(kind_of, parts))))
    if isinstance(iterated, ast.Tuple):
        iterated = ast.copy_location(ast.List(iterated.elts, ast.Load()), iterated)
    value = translator.any_value(iterated) if constant is None else None
    if value is None or not (value.is_list or value.kinds - NONE == STR):
        raise ObstacleError(iterated, f"a loop over `{ast.unparse(iterated)[:40]}`")
    value = translator.present(node, value, *(error or messages.of_none("iter")))
    if value.kinds == STR:
        return JavaValue(f"PythonTexts.characters({value.code})", list_of(STR))
    return value


def _range_call(translator: ExpressionTranslator, node: ast.expr) -> ast.Call | None:
    return (
        node
        if isinstance(node, ast.Call) and translator.qualified_name(node.func) == "builtins.range"
        else None
    )


def _range(translator: ExpressionTranslator, node: ast.Call) -> Iteration:
    bounds, step = node.args, 1
    if node.keywords or not 1 <= len(bounds) <= 3:
        raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`")
    if len(bounds) == 3:
        constant_step = translator.constant(bounds[2])
        if not isinstance(constant_step, int) or isinstance(constant_step, bool) or constant_step == 0:
            raise ObstacleError(node, "a `range()` whose step is not a constant")
        step = constant_step
    values = [translator.value(bound) for bound in bounds[:2]]
    values = [translator.present(node, value, *messages.of_none("range")) for value in values]
    if not all(value.kinds in {INT, BOOL} for value in values):
        raise ObstacleError(node, "a `range()` of anything but integers")
    start, stop = ["0L", *(_bound(translator, value) for value in values)][-2:]
    counter = translator.code.variable("long", start)
    end = translator.code.variable("long", stop)

    def advance() -> JavaValue:
        current = translator.code.integer(counter)
        translator.code.write(f"{counter} = PythonNumbers.next({counter}, {step}L, {end});")
        return current

    return Iteration(f"{counter} {'>=' if step > 0 else '<='} {end}", advance)


def _bound(translator: ExpressionTranslator, value: JavaValue) -> str:
    wide = translator.code.wide and value.kinds == INT
    return f"PythonValues.bound({value.code})" if wide else translator.long(value)


Use = Callable[[JavaValue, str], None]
"""Writes what is done with a value; the text leaves the loop."""


def each_value(translator: ExpressionTranslator, node: ast.expr, iterated: ast.expr, use: Use) -> None:
    """Write a loop over the values of a generator, or of anything else that can be iterated over."""
    if isinstance(iterated, ast.GeneratorExp):
        translate_comprehension(translator, iterated, use)
        return
    _loop(translator, translate_iteration(translator, node, iterated), use)


def translate_comprehension(
    translator: ExpressionTranslator, node: ast.GeneratorExp | ast.ListComp, use: Use
) -> None:
    """Write the loop of a comprehension with one `for`."""
    match node.generators:
        case [ast.comprehension(target=ast.Name(id=name), iter=iterated, ifs=tests, is_async=0)]:
            pass
        case _:
            raise ObstacleError(node, "a comprehension with several `for`, or several variables")
    before = translator.code.locals

    def use_element(value: JavaValue, leave: str) -> None:
        code = translator.code
        code.know(name, JavaVariable(java_type(value.kinds, wide=code.wide), value.kinds, value.code))
        for test in tests:
            code.write(f"if (!({translator.condition(test)})) continue;")
            translator.narrow(test, truth=True)
        use(translator.any_value(node.elt), leave)
        code.locals = before

    _loop(translator, loop_over(translator, node, iterated), use_element)


def _loop(translator: ExpressionTranslator, over: Iteration, use: Use) -> None:
    with translator.code.block() as lines:
        translator.code.write(f"if ({over.ended}) break;")
        use(over.advance(), "break;")
    translator.code.write_block("while (T) {", lines)


def list_value(
    translator: ExpressionTranslator, node: ast.expr, iterated: ast.expr, error: tuple[str, str] | None = None
) -> JavaValue:
    """Evaluate all values, as `list()` does; `error` is raised for None."""
    if isinstance(iterated, ast.GeneratorExp) or _range_call(translator, iterated):
        return _collected(translator, lambda use: each_value(translator, node, iterated, use))
    return evaluate_list(translator, node, iterated, error)


def list_comprehension(translator: ExpressionTranslator, node: ast.ListComp) -> JavaValue:
    return _collected(translator, lambda use: translate_comprehension(translator, node, use))


def _collected(translator: ExpressionTranslator, loop: Callable[[Use], None]) -> JavaValue:
    elements = translator.code.variable("java.util.List", "new java.util.ArrayList()")
    kinds: list[Kinds] = []

    def add(value: JavaValue, _: str) -> None:
        kinds.append(value.kinds)
        translator.code.write(f"{elements}.add({translator.code.boxed(value)});")

    loop(add)
    return JavaValue(elements, list_of(union_kinds(kinds)))
