"""Python functions in a fan-out: each call is a separate column, made only for the rows that need it.

    select *, score_where(type <> 'hover', type, value) as _score from events

returns a struct of `value` and `error`. Spark would call a function within the `if` of a fan-out for all
rows, and one row on which it fails would stop all models of the query.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, all_of, any_of, join_pieces, sql_literal
from millstream.core.types import BOOLEAN, STRING, UNKNOWN
from millstream.plan.optimizer.calls import SeparableCall, separable_calls, with_column
from millstream.queries.emit.draft import ENCODED_VALUE, RECORD, Draft
from millstream.queries.emit.fuse import unused_name

GUARDED = "_where"
"""The suffix of functions that take a condition before their arguments, and are only called if it holds.

Instead, they can take the row's location, and are only called if it is not NULL.
"""


class _CallColumn(Struct, eq=False):
    """A call, and its rows: those that meet all conditions of one of the tuples in `alternatives`."""

    name: str
    call: SeparableCall
    like: Expression
    level: int
    alternatives: list[tuple[Expression, ...]]
    models: list[str]
    """The models that read it."""


class LiftedDraft(Struct, frozen=True):
    """A draft that reads its calls from columns."""

    draft: Draft
    columns: tuple[str, ...]
    """The columns of its calls; a row on which one of them failed doesn't belong to the model."""


class CallLevels:
    """The calls of several drafts over one relation, in levels: each reads columns of those before."""

    def __init__(self, alias: str, used: Iterable[str], logging: Container[str] = ()) -> None:
        self.alias = alias
        self._logging = logging
        """The functions that log something, and are given the position of the row's record for it."""
        self._used = list(used)
        self._columns: dict[str, _CallColumn] = {}

    @property
    def levels(self) -> list[dict[str, Expression]]:
        """The calls of each level, by name of their column."""
        levels: list[dict[str, Expression]] = []
        for column in self._columns.values():
            while len(levels) <= column.level:
                levels.append({})
            levels[column.level][column.name] = self._written(column)
        return levels

    def lift(self, draft: Draft, model: str) -> LiftedDraft:
        """Replace the calls of a model's draft by columns."""
        columns: list[str] = []
        where: list[Expression] = []
        # Cheap conditions come first, so that a function sees fewer rows.
        for condition in sorted(draft.where, key=lambda expression: bool(expression.functions)):
            where.append(self._expression(condition, where, columns))
        present = [*where, *([] if draft.deleted is None else [_not(draft.deleted)])]
        items = {
            name: self._expression(expression, present if name == ENCODED_VALUE else where, columns)
            for name, expression in draft.items.items()
        }
        for column in dict.fromkeys(columns):
            self._columns[column].models.append(model)
        return LiftedDraft(replace(draft, items=items, where=tuple(where)), tuple(dict.fromkeys(columns)))

    def _expression(
        self, expression: Expression, conditions: Sequence[Expression], columns: list[str]
    ) -> Expression:
        while remaining := [
            call for call in separable_calls(expression, anywhere=True) if len(call.inner) == 1
        ]:
            name = self._column(remaining[0], expression, conditions)
            columns.append(name)
            expression = _with_value(with_column(expression, remaining[0], name), Ref(name, self.alias))
        return expression

    def _column(self, call: SeparableCall, expression: Expression, conditions: Sequence[Expression]) -> str:
        """Return the column of a call that is made at least for the rows that need it here."""
        plain = self._plain(conditions)
        for column in self._columns.values():
            if column.call.pieces != call.pieces:
                continue
            if any(_implies(conditions, others) for others in column.alternatives):
                return column.name
            # A condition that reads the result of another call could depend on this one.
            if plain and all(map(self._plain, column.alternatives)):
                column.alternatives = [
                    alternative
                    for alternative in column.alternatives
                    if not _implies(alternative, conditions)
                ] + [tuple(conditions)]
                return column.name
        name = unused_name(f"_{call.function}", self._used)
        self._used.append(name)
        refs = {piece.column for piece in call.pieces if isinstance(piece, Ref)}
        refs |= {ref.column for condition in conditions for ref in condition.refs}
        level = max((self._columns[read].level + 1 for read in refs if read in self._columns), default=0)
        self._columns[name] = _CallColumn(name, call, expression, level, [tuple(conditions)], [])
        return name

    def _plain(self, conditions: Iterable[Expression]) -> bool:
        return not any(ref.column in self._columns for condition in conditions for ref in condition.refs)

    def _written(self, column: _CallColumn) -> Expression:
        first, *rest = column.call.pieces
        assert isinstance(first, str)
        arguments = join_pieces((first.partition("(")[2], *rest))
        between = "" if arguments == (")",) else ", "
        several = len(column.alternatives) > 1
        condition = (
            any_of(column.alternatives, BOOLEAN) if several else all_of(column.alternatives[0], BOOLEAN)
        )
        guard: tuple[Piece, ...] = condition.pieces or ("true",)
        if column.call.function in self._logging:
            location = _location(column.models, Ref(RECORD, self.alias))
            guard = ("if(", *guard, ", ", *location, ", null)")
        pieces = join_pieces((f"{column.call.function}{GUARDED}(", *guard, between, *arguments))
        return replace(
            column.like, pieces=pieces, type=UNKNOWN, functions=(column.call.function,), atomic=True
        )

    def error(self, name: str) -> Expression:
        """Return the error of a call; NULL if it succeeded or was not made."""
        return Expression((Ref(name, self.alias), ".error"), STRING, atomic=True)

    def failed(self, names: Iterable[str]) -> Expression:
        pieces: list[Piece] = []
        for name in names:
            pieces += [" or " if pieces else "(", *self.error(name).pieces, " is not null"]
        return Expression(join_pieces((*pieces, ")")), BOOLEAN, nullable=False, atomic=True)

    def good(self, name: str) -> Expression:
        error = self.error(name)
        return Expression((*error.pieces, " is null"), BOOLEAN, nullable=False, atomic=True)


def _location(models: Iterable[str], record: Ref) -> tuple[Piece, ...]:
    """Return the location of a row that was decoded from a record."""
    return join_pieces(
        (
            f"named_struct('model', {sql_literal(' and '.join(models))}, ",
            *("'topic', ", record, ".topic, 'partition', ", record, ".partition, "),
            *("'offset', ", record, ".offset)"),
        )
    )


def _implies(conditions: Iterable[Expression], others: Iterable[Expression]) -> bool:
    return {condition.content for condition in conditions}.issuperset(
        condition.content for condition in others
    )


def _not(condition: Expression) -> Expression:
    pieces = join_pieces(("not coalesce(", *condition.pieces, ", false)"))
    return replace(condition, pieces=pieces, nullable=False, atomic=False)


def callable_in_fan_out(expression: Expression) -> bool:
    """Whether all calls of an expression can be separate columns."""
    return not expression.functions or len(separable_calls(expression, anywhere=True)) == len(
        expression.functions
    )


def _with_value(expression: Expression, column: Ref) -> Expression:
    """Read the value of a call's column, without naming a field of a struct after it."""
    simple = not any(isinstance(piece, str) and "struct" in piece.lower() for piece in expression.pieces)
    value: tuple[Piece, ...] = (column, ".value") if simple else ("coalesce(", column, ".value)")
    pieces: list[Piece] = []
    for piece in expression.pieces:
        is_column = isinstance(piece, Ref) and piece.column == column.column and not piece.relation
        pieces += value if is_column else (piece,)
    return replace(expression, pieces=join_pieces(pieces))


def without_nulls(conditions: Sequence[Expression]) -> list[Expression]:
    """Return conditions that are false instead of NULL: then Spark evaluates nothing behind an AND."""
    if not any(condition.nullable for condition in conditions):
        return list(conditions)
    every = all_of(conditions, BOOLEAN)
    pieces = ("coalesce(", *every.pieces, ", false)")
    return [replace(every, pieces=join_pieces(pieces), nullable=False, atomic=True)]
