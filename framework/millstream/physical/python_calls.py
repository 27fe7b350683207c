"""Python functions in a fan-out: each call is a separate column, made only for the rows that need it.

    select *, score_where(type <> 'hover', type, value) as _score from events

returns a struct of `value` and `error`. Spark would call a function within the `if` of a fan-out for all
rows, and one row on which it fails would stop all models of the query.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.expressions import Expression, Piece, Ref, all_of, any_of, joined, literal
from millstream.optimizer.calls import Call, calls, with_column
from millstream.physical.emit.draft import ENCODED_VALUE, RECORD, Draft
from millstream.physical.emit.fuse import unused
from millstream.types import BOOLEAN, STRING, UNKNOWN

GUARDED = "_where"
"""The suffix of functions that take a condition before their arguments, and are only called if it holds.

Instead, they can take the row's location, and are only called if it is not NULL.
"""


class _CallColumn(Struct, eq=False):
    """A call, and its rows: those that meet all conditions of one of the tuples in `wanted`."""

    name: str
    call: Call
    like: Expression
    level: int
    wanted: list[tuple[Expression, ...]]
    models: list[str]
    """The models that read it."""


class LiftedDraft(Struct, frozen=True):
    """A draft that reads its calls from columns."""

    draft: Draft
    columns: tuple[str, ...]
    """The columns of its calls; a row on which one of them failed doesn't belong to the model."""


class Calls:
    """The calls of several drafts over one relation, in levels: each reads columns of those before."""

    def __init__(self, alias: str, used: Iterable[str], logging: Container[str] = ()) -> None:
        self.alias = alias
        self._logging = logging
        """The functions that log something, and are given the position of the row's record for it."""
        self._used = list(used)
        self._made: dict[str, _CallColumn] = {}

    @property
    def levels(self) -> list[dict[str, Expression]]:
        """The calls of each level, by name of their column."""
        found: list[dict[str, Expression]] = []
        for made in self._made.values():
            while len(found) <= made.level:
                found.append({})
            found[made.level][made.name] = self._written(made)
        return found

    def lift(self, draft: Draft, model: str) -> LiftedDraft:
        """Replace the calls of a model's draft by columns."""
        own: list[str] = []
        where: list[Expression] = []
        # Cheap conditions come first, so that a function sees fewer rows.
        for condition in sorted(draft.where, key=lambda each: bool(each.functions)):
            where.append(self._expression(condition, where, own))
        present = [*where, *([] if draft.deleted is None else [_not(draft.deleted)])]
        items = {
            name: self._expression(each, present if name == ENCODED_VALUE else where, own)
            for name, each in draft.items.items()
        }
        for column in dict.fromkeys(own):
            self._made[column].models.append(model)
        return LiftedDraft(replace(draft, items=items, where=tuple(where)), tuple(dict.fromkeys(own)))

    def _expression(self, given: Expression, wanted: Sequence[Expression], own: list[str]) -> Expression:
        while found := [call for call in calls(given, anywhere=True) if len(call.inner) == 1]:
            name = self._column(found[0], given, wanted)
            own.append(name)
            given = _with_value(with_column(given, found[0], name), Ref(name, self.alias))
        return given

    def _column(self, call: Call, given: Expression, wanted: Sequence[Expression]) -> str:
        """Return the column of a call that is made at least for the rows that need it here."""
        plain = self._plain(wanted)
        for made in self._made.values():
            if made.call.pieces != call.pieces:
                continue
            if any(_implies(wanted, others) for others in made.wanted):
                return made.name
            # A condition that reads the result of another call could depend on this one.
            if plain and all(map(self._plain, made.wanted)):
                made.wanted = [each for each in made.wanted if not _implies(each, wanted)] + [tuple(wanted)]
                return made.name
        name = unused(f"_{call.function}", self._used)
        self._used.append(name)
        refs = {piece.column for piece in call.pieces if isinstance(piece, Ref)}
        refs |= {ref.column for each in wanted for ref in each.refs}
        level = max((self._made[each].level + 1 for each in refs if each in self._made), default=0)
        self._made[name] = _CallColumn(name, call, given, level, [tuple(wanted)], [])
        return name

    def _plain(self, wanted: Iterable[Expression]) -> bool:
        return not any(ref.column in self._made for each in wanted for ref in each.refs)

    def _written(self, made: _CallColumn) -> Expression:
        first, *rest = made.call.pieces
        assert isinstance(first, str)
        arguments = joined((first.partition("(")[2], *rest))
        between = "" if arguments == (")",) else ", "
        several = len(made.wanted) > 1
        asked = any_of(made.wanted, BOOLEAN) if several else all_of(made.wanted[0], BOOLEAN)
        wanted: tuple[Piece, ...] = asked.pieces or ("true",)
        if made.call.function in self._logging:
            location = _location(made.models, Ref(RECORD, self.alias))
            wanted = ("if(", *wanted, ", ", *location, ", null)")
        pieces = joined((f"{made.call.function}{GUARDED}(", *wanted, between, *arguments))
        return replace(made.like, pieces=pieces, type=UNKNOWN, functions=(made.call.function,), atomic=True)

    def error(self, name: str) -> Expression:
        """Return the error of a call; NULL if it succeeded or was not made."""
        return Expression((Ref(name, self.alias), ".error"), STRING, atomic=True)

    def failed(self, names: Iterable[str]) -> Expression:
        pieces: list[Piece] = []
        for name in names:
            pieces += [" or " if pieces else "(", *self.error(name).pieces, " is not null"]
        return Expression(joined((*pieces, ")")), BOOLEAN, nullable=False, atomic=True)

    def good(self, name: str) -> Expression:
        error = self.error(name)
        return Expression((*error.pieces, " is null"), BOOLEAN, nullable=False, atomic=True)


def _location(models: Iterable[str], record: Ref) -> tuple[Piece, ...]:
    """Return the location of a row that was decoded from a record."""
    return joined(
        (
            f"named_struct('model', {literal(' and '.join(models))}, ",
            *("'topic', ", record, ".topic, 'partition', ", record, ".partition, "),
            *("'offset', ", record, ".offset)"),
        )
    )


def _implies(conditions: Iterable[Expression], others: Iterable[Expression]) -> bool:
    return {each.content for each in conditions}.issuperset(each.content for each in others)


def _not(condition: Expression) -> Expression:
    pieces = joined(("not coalesce(", *condition.pieces, ", false)"))
    return replace(condition, pieces=pieces, nullable=False, atomic=False)


def callable_in_fan_out(expression: Expression) -> bool:
    """Whether all calls of an expression can be separate columns."""
    return not expression.functions or len(calls(expression, anywhere=True)) == len(expression.functions)


def _with_value(expression: Expression, column: Ref) -> Expression:
    """Read the value of a call's column, without naming a field of a struct after it."""
    simple = not any(isinstance(piece, str) and "struct" in piece.lower() for piece in expression.pieces)
    value: tuple[Piece, ...] = (column, ".value") if simple else ("coalesce(", column, ".value)")
    pieces: list[Piece] = []
    for piece in expression.pieces:
        own = isinstance(piece, Ref) and piece.column == column.column and not piece.relation
        pieces += value if own else (piece,)
    return replace(expression, pieces=joined(pieces))


def without_nulls(conditions: Sequence[Expression]) -> list[Expression]:
    """Return conditions that are false instead of NULL: then Spark evaluates nothing behind an AND."""
    if not any(each.nullable for each in conditions):
        return list(conditions)
    every = all_of(conditions, BOOLEAN)
    pieces = ("coalesce(", *every.pieces, ", false)")
    return [replace(every, pieces=joined(pieces), nullable=False, atomic=True)]
