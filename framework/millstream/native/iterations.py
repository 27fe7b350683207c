"""What loops and comprehensions run over: ranges, lists, constant collections and the characters of texts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable

from msgspec import Struct

from millstream.native import messages
from millstream.native.code import Local
from millstream.native.expressions import Expressions
from millstream.native.values import (
    BOOL,
    INT,
    NONE,
    STR,
    Constant,
    Kinds,
    ObstacleError,
    Value,
    elements_of,
    java_type,
    kind_of,
    list_of,
    union,
)


class Iteration(Struct, frozen=True):
    ended: str
    """The condition, in Java, that no value is left."""
    advance: Callable[[], Value]
    """Writes what takes the next value."""


def loop_over(walk: Expressions, loop: ast.stmt | ast.expr, iterated: ast.expr) -> Iteration:
    """Evaluate what a `for` runs over."""
    return iteration(walk, loop if sys.version_info < (3, 13) else iterated, iterated)


def iteration(walk: Expressions, node: ast.stmt | ast.expr, iterated: ast.expr) -> Iteration:
    """Evaluate what a loop runs over; `node` has the line of the error if it is None."""
    of_range = _range_call(walk, iterated)
    if of_range is not None:
        return _range(walk, of_range)
    value = evaluate_list(walk, node, iterated)
    source = walk.code.variable("java.util.List", f"(java.util.List) {value.code}")
    index = walk.code.variable("int", "0")

    def advance() -> Value:
        current = walk.code.temporary(elements_of(value), f"{source}.get({index})", "Object")
        walk.code.write(f"{index} = {index} + 1;")
        return current

    return Iteration(f"{index} >= {source}.size()", advance)


def evaluate_list(
    walk: Expressions, node: ast.stmt | ast.expr, iterated: ast.expr, error: tuple[str, str] | None = None
) -> Value:
    """Evaluate a list, or a text as the list of its characters; `error` is raised for None."""
    constant = walk.collection(iterated)
    if isinstance(constant, Constant) and not isinstance(constant.value, set | frozenset):
        parts = tuple(constant.value)
        return Value(walk.program.field(Constant(parts)), list_of(union(map(kind_of, parts))))
    if isinstance(iterated, ast.Tuple):
        iterated = ast.copy_location(ast.List(iterated.elts, ast.Load()), iterated)
    value = walk.any_value(iterated) if constant is None else None
    if value is None or not (value.is_list or value.kinds - NONE == STR):
        raise ObstacleError(iterated, f"a loop over `{ast.unparse(iterated)[:40]}`")
    value = walk.present(node, value, *(error or messages.of_none("iter")))
    if value.kinds == STR:
        return Value(f"PythonTexts.characters({value.code})", list_of(STR))
    return value


def _range_call(walk: Expressions, node: ast.expr) -> ast.Call | None:
    return node if isinstance(node, ast.Call) and walk.qualified_name(node.func) == "builtins.range" else None


def _range(walk: Expressions, node: ast.Call) -> Iteration:
    bounds, step = node.args, 1
    if node.keywords or not 1 <= len(bounds) <= 3:
        raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`")
    if len(bounds) == 3:
        constant_step = walk.constant(bounds[2])
        if not isinstance(constant_step, int) or isinstance(constant_step, bool) or constant_step == 0:
            raise ObstacleError(node, "a `range()` whose step is not a constant")
        step = constant_step
    values = [walk.value(bound) for bound in bounds[:2]]
    values = [walk.present(node, value, *messages.of_none("range")) for value in values]
    if not all(value.kinds in {INT, BOOL} for value in values):
        raise ObstacleError(node, "a `range()` of anything but integers")
    start, stop = ["0L", *(_bound(walk, value) for value in values)][-2:]
    counter = walk.code.variable("long", start)
    end = walk.code.variable("long", stop)

    def advance() -> Value:
        current = walk.code.integer(counter)
        walk.code.write(f"{counter} = PythonNumbers.next({counter}, {step}L, {end});")
        return current

    return Iteration(f"{counter} {'>=' if step > 0 else '<='} {end}", advance)


def _bound(walk: Expressions, value: Value) -> str:
    wide = walk.code.wide and value.kinds == INT
    return f"PythonValues.bound({value.code})" if wide else walk.long(value)


Use = Callable[[Value, str], None]
"""Writes what is done with a value; the text leaves the loop."""


def each_value(walk: Expressions, node: ast.expr, iterated: ast.expr, use: Use) -> None:
    """Write a loop over the values of a generator, or of anything else that can be iterated over."""
    if isinstance(iterated, ast.GeneratorExp):
        comprehension(walk, iterated, use)
        return
    _loop(walk, iteration(walk, node, iterated), use)


def comprehension(walk: Expressions, node: ast.GeneratorExp | ast.ListComp, use: Use) -> None:
    """Write the loop of a comprehension with one `for`."""
    match node.generators:
        case [ast.comprehension(target=ast.Name(id=name), iter=iterated, ifs=tests, is_async=0)]:
            pass
        case _:
            raise ObstacleError(node, "a comprehension with several `for`, or several variables")
    before = walk.code.locals

    def use_element(value: Value, leave: str) -> None:
        code = walk.code
        code.know(name, Local(java_type(value.kinds, wide=code.wide), value.kinds, value.code))
        for test in tests:
            code.write(f"if (!({walk.condition(test)})) continue;")
            walk.narrow(test, truth=True)
        use(walk.any_value(node.elt), leave)
        code.locals = before

    _loop(walk, loop_over(walk, node, iterated), use_element)


def _loop(walk: Expressions, over: Iteration, use: Use) -> None:
    with walk.code.block() as lines:
        walk.code.write(f"if ({over.ended}) break;")
        use(over.advance(), "break;")
    walk.code.write_block("while (T) {", lines)


def list_value(
    walk: Expressions, node: ast.expr, iterated: ast.expr, error: tuple[str, str] | None = None
) -> Value:
    """Evaluate all values, as `list()` does; `error` is raised for None."""
    if isinstance(iterated, ast.GeneratorExp) or _range_call(walk, iterated):
        return _collected(walk, lambda use: each_value(walk, node, iterated, use))
    return evaluate_list(walk, node, iterated, error)


def list_comprehension(walk: Expressions, node: ast.ListComp) -> Value:
    return _collected(walk, lambda use: comprehension(walk, node, use))


def _collected(walk: Expressions, loop: Callable[[Use], None]) -> Value:
    elements = walk.code.variable("java.util.List", "new java.util.ArrayList()")
    kinds: list[Kinds] = []

    def add(value: Value, _: str) -> None:
        kinds.append(value.kinds)
        walk.code.write(f"{elements}.add({walk.code.boxed(value)});")

    loop(add)
    return Value(elements, list_of(union(kinds)))
