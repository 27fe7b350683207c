"""Python functions in a fan-out: a call is a column of its own, made for the rows that want it.

    select *, score_where(type <> 'hover', type, value) as _score from events

gives a struct of `value` and `error`. Spark would call a function within the `if` of a fan-out for all rows,
and one row that it fails on would stop all models of the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.expressions import Expression, Piece, Ref, joined
from millstream.optimizer.calls import Call, calls, with_column
from millstream.physical.emit.draft import Draft
from millstream.physical.emit.fuse import unused
from millstream.types import BOOLEAN, STRING, UNKNOWN

GUARDED = "_where"
"""What the name of a function ends in that takes, before its arguments, whether it is to be called."""


class Column(Struct, frozen=True):
    name: str
    call: Expression
    function: str


class Called(Struct, frozen=True):
    """A draft whose calls are columns."""

    draft: Draft
    columns: tuple[str, ...]
    """Those of its own calls: a row on which one failed is none of the model's."""


class Calls:
    """The calls of several drafts over one relation, in levels: each reads columns of those before."""

    def __init__(self, alias: str, used: Iterable[str]) -> None:
        self.alias = alias
        self.levels: list[list[Column]] = []
        self._used = list(used)
        self._known: dict[tuple[Piece, ...], list[tuple[frozenset[str], str]]] = {}
        self._level: dict[str, int] = {}

    def lifted(self, draft: Draft) -> Called:
        """Make columns of the calls of a draft."""
        own: list[str] = []
        where: list[Expression] = []
        # What is cheap decides first which rows a function sees.
        for condition in sorted(draft.where, key=lambda each: bool(each.functions)):
            where.append(self._expression(condition, where, own))
        items = {name: self._expression(each, where, own) for name, each in draft.items.items()}
        return Called(replace(draft, items=items, where=tuple(where)), tuple(dict.fromkeys(own)))

    def _expression(self, given: Expression, wanted: Sequence[Expression], own: list[str]) -> Expression:
        while found := [call for call in calls(given, anywhere=True) if len(call.inner) == 1]:
            name = self._column(found[0], given, wanted)
            own.append(name)
            given = _with_value(with_column(given, found[0], name), Ref(name, self.alias))
        return given

    def _column(self, call: Call, given: Expression, wanted: Sequence[Expression]) -> str:
        conditions = frozenset(each.content for each in wanted)
        known = self._known.setdefault(call.pieces, [])
        # One that is made for all rows that want this one, and more perhaps, gives the same.
        for others, name in known:
            if others <= conditions:
                return name
        first, *rest = call.pieces
        assert isinstance(first, str)
        arguments = joined((first.partition("(")[2], *rest))
        between = "" if arguments == (")",) else ", "
        pieces = joined((f"{call.function}{GUARDED}(", *_all(wanted), between, *arguments))
        name = unused(f"_{call.function}", self._used)
        self._used.append(name)
        refs = {piece.column for piece in pieces if isinstance(piece, Ref)}
        level = max((self._level[each] + 1 for each in refs if each in self._level), default=0)
        known.append((conditions, name))
        self._level[name] = level
        while len(self.levels) <= level:
            self.levels.append([])
        made = replace(given, pieces=pieces, type=UNKNOWN, functions=(call.function,), atomic=True)
        self.levels[level].append(Column(name, made, call.function))
        return name

    def error(self, name: str) -> Expression:
        """Return what a call failed with; NULL where it did not, or was not made."""
        return Expression((Ref(name, self.alias), ".error"), STRING, atomic=True)

    def good(self, name: str) -> Expression:
        error = self.error(name)
        return Expression((*error.pieces, " is null"), BOOLEAN, nullable=False, atomic=True)


def callable_in_fan_out(expression: Expression) -> bool:
    """Tell whether all calls of an expression can be columns of their own."""
    if not expression.functions:
        return True
    return len(calls(expression, anywhere=True)) == len(expression.functions)


def _with_value(expression: Expression, column: Ref) -> Expression:
    """Read the value of a call's column, which must not give its name to a field of a struct."""
    plain: Mapping[bool, tuple[Piece, ...]] = {
        True: (column, ".value"),
        False: ("coalesce(", column, ".value)"),
    }
    simple = not any(isinstance(piece, str) and "struct" in piece.lower() for piece in expression.pieces)
    pieces: list[Piece] = []
    for piece in expression.pieces:
        own = isinstance(piece, Ref) and piece.column == column.column and not piece.relation
        pieces += plain[simple] if own else (piece,)
    return replace(expression, pieces=joined(pieces), raises=expression.raises)


def _all(conditions: Sequence[Expression]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for each in conditions:
        pieces += [" and "] if pieces else []
        pieces += each.pieces if each.atomic or len(conditions) == 1 else ("(", *each.pieces, ")")
    return tuple(pieces) or ("true",)
