"""Statements of Python. Loops are written again until it is known which kinds their variables have."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from msgspec import Struct

from millstream.native.code import Locals
from millstream.native.expressions import ExpressionTranslator, narrow_locals
from millstream.native.iterations import loop_over
from millstream.native.texts import text_of
from millstream.native.values import (
    NONE,
    NUMBERS,
    STR,
    JavaValue,
    Kinds,
    ObstacleError,
    convert_java,
    java_type,
    to_java,
)

_ERRORS = frozenset(
    (
        *("ValueError", "TypeError", "RuntimeError", "ArithmeticError", "ZeroDivisionError", "OverflowError"),
        *("LookupError", "IndexError", "AssertionError", "NotImplementedError", "Exception"),
    )
)
"""Exceptions whose text is that of their argument."""
_MOST_ROUNDS = 12
_SIGNS: Mapping[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


class _Loop(Struct, eq=False):
    head: Locals
    exit: Locals | None
    continued: list[Locals]
    left: list[Locals]


def assigned_names(function: ast.FunctionDef) -> frozenset[str]:
    """Return the local variables of a function, besides its parameters."""
    return frozenset(
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


class StatementTranslator:
    """Translates the statements of one function, which returns values of the kinds of `returns`."""

    def __init__(self, translator: ExpressionTranslator, returns: Kinds) -> None:
        self.walk = translator
        self.code = translator.code
        self.returns = returns
        self.returned: Kinds = frozenset()
        self._loops: list[_Loop] = []

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.code.locals is None:
                return  # it can't be reached
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.code.assign(name, self.walk.any_value(value))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.code.assign(name, self.walk.any_value(value))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                old = self.walk.value(ast.copy_location(ast.Name(name, ast.Load()), target))
                old = self.code.temporary(old.kinds, old.code)
                shown = ast.copy_location(ast.BinOp(target, op, value), node)
                self.code.assign(name, self._augmented(shown, op, old, self.walk.value(value)))
            case ast.Return(value=value):
                self.give_back(self.walk.any_value(value) if value else JavaValue("null", NONE))
            case ast.If(test=test, body=body, orelse=orelse):
                self._if(test, body, orelse)
            case ast.For(target=ast.Name(id=name), iter=iterated, body=body, orelse=[]):
                self._for(node, name, iterated, body)
            case ast.While(test=test, body=body, orelse=[]):
                self._while(test, body)
            case ast.Break():
                loop = self._loops[-1]
                loop.left.append(self.code.locals or {})
                self.code.convert(loop.exit)
                self._leave("break")
            case ast.Continue():
                loop = self._loops[-1]
                loop.continued.append(self.code.locals or {})
                self.code.convert(loop.head)
                self._leave("continue")
            case ast.Raise(exc=ast.expr() as error, cause=None):
                self._raise(node, error)
            case ast.Assert(test=test, msg=message):
                self._assert(node, test, message)
            case _:
                raise ObstacleError(node, _described(node))

    def _augmented(self, node: ast.BinOp, op: ast.operator, old: JavaValue, value: JavaValue) -> JavaValue:
        if old.kinds != value.kinds or old.kinds != STR:
            if not (old.only(NONE | NUMBERS) and value.only(NONE | NUMBERS)) or NONE in {
                old.kinds,
                value.kinds,
            }:
                raise ObstacleError(node, "an augmented assignment of a text and another value")
            old, value = self.walk.both_present(node, f"{_SIGNS.get(type(op), '')}=", old, value)
        return self.walk.arithmetic(node, op, old, value)

    def give_back(self, value: JavaValue) -> None:
        self.returned |= value.kinds
        wide = self.code.wide
        java = java_type(self.returns | value.kinds, wide=wide)
        code = convert_java(value.code, java_type(value.kinds, wide=wide), java)
        self._leave(f"return {code}")

    def _leave(self, statement: str) -> None:
        # Java refuses code that can't be reached, so it must not see that.
        self.code.write(f"if (T) {statement};")
        self.code.locals = None

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        condition = self.walk.condition(test)
        before = self.code.locals
        ends: list[Locals | None] = []
        blocks: list[list[str]] = []
        for statements, truth in ((body, True), (orelse, False)):
            with self.code.block() as lines:
                self.code.locals = narrow_locals(before, test, truth=truth)
                self.body(statements)
            ends.append(self.code.locals)
            blocks.append(lines)
        joined = self.code.joined(ends)
        for end, lines in zip(ends, blocks, strict=True):
            with self.code.block() as moves:
                self.code.locals = end
                self.code.convert(joined)
            lines.extend(moves)
        self.code.write_choice(condition, *blocks)
        self.code.locals = joined

    # Loops

    def _loop(self, top: Callable[[], None], body: list[ast.stmt]) -> None:
        """Write a loop; `top` writes what decides whether it goes on, and calls `_end` if it does not."""
        before = self.code.locals
        assert before is not None
        head: Locals = before
        exit_: Locals | None = None
        for _ in range(_MOST_ROUNDS):
            loop = _Loop(head, exit_, [], [])
            with self.code.block() as entry:
                self.code.locals = before
                self.code.convert(head)
            with self.code.block() as lines:
                self.code.locals = head
                self._loops.append(loop)
                top()
                self.body(body)
                if self.code.locals is not None:
                    loop.continued.append(self.code.locals)
                    self.code.convert(_within(self.code.locals, head))
                self._loops.pop()
            new_head = self.code.joined([before, *loop.continued]) or {}
            new_exit = self.code.joined(loop.left)
            if (new_head, new_exit) == (head, exit_):
                break
            head, exit_ = new_head, new_exit
        else:
            raise ObstacleError(body[0], "a loop whose variables become other structs in each round")
        self.code.lines += entry
        self.code.write_block("while (T) {", lines)
        self.code.locals = exit_

    def _end(self, condition: str) -> None:
        """Leave the loop if a condition holds."""
        loop = self._loops[-1]
        here = self.code.locals
        loop.left.append(here or {})
        with self.code.block() as lines:
            self.code.convert(_within(here, loop.exit))
            self.code.write("if (T) break;")
        self.code.write_block(f"if ({condition}) {{", lines)
        self.code.locals = here

    def _while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        def top() -> None:
            condition = self.walk.condition(test)
            before = self.code.locals
            self.code.locals = narrow_locals(before, test, truth=False)
            if condition != "true":
                self._end(f"!({condition})")
            self.code.locals = narrow_locals(before, test, truth=True)

        self._loop(top, body)

    def _for(self, node: ast.stmt, name: str, iterated: ast.expr, body: list[ast.stmt]) -> None:
        over = loop_over(self.walk, node, iterated)

        def top() -> None:
            self._end(over.ended)
            self.code.assign(name, over.advance())

        self._loop(top, body)

    # Errors

    def _raise(self, node: ast.Raise, error: ast.expr) -> None:
        match error:
            case ast.Call(func=called, args=[message], keywords=[]):
                value = self.walk.value(message)
                text = self.code.temporary(STR, self._text(value)).code
            case ast.Call(func=called, args=[], keywords=[]) | (ast.Name() as called):
                text = '""'
            case _:
                raise ObstacleError(error, f"`raise {ast.unparse(error)[:40]}`")
        name = self.walk.qualified_name(called).removeprefix("builtins.")
        if name not in _ERRORS:
            raise ObstacleError(error, f"`raise {ast.unparse(error)[:40]}`")
        self.code.record_line(node.lineno)
        self._leave(f"throw new PythonError({to_java(name)}, {text})")

    def _text(self, value: JavaValue) -> str:
        return text_of(self.walk, value)

    def _assert(self, node: ast.Assert, test: ast.expr, message: ast.expr | None) -> None:
        error = ast.Call(ast.Name("AssertionError", ast.Load()), [message] if message else [], [])
        raised = ast.Raise(ast.fix_missing_locations(ast.copy_location(error, node)), None)
        self._if(test, [], [ast.copy_location(raised, node)])


def _within(locals_: Locals | None, expected: Locals | None) -> Locals | None:
    """Return the part of `expected` that is bound; the loop is written again until that is all of it."""
    if locals_ is None or expected is None:
        return None
    return {name: local for name, local in expected.items() if name in locals_}


def _described(node: ast.stmt) -> str:
    names: dict[type[ast.stmt], str] = {
        ast.Try: "`try`", ast.With: "`with`", ast.Match: "`match`", ast.Global: "`global`",
        ast.Nonlocal: "`nonlocal`", ast.FunctionDef: "a function in a function", ast.ClassDef: "a class",
        ast.Import: "an import", ast.ImportFrom: "an import", ast.Delete: "`del`",
    }  # fmt: skip
    return names.get(type(node), f"`{ast.unparse(node).splitlines()[0][:40]}`")
