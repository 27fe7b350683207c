"""One SELECT while it is assembled: expressions over the relations of its FROM clause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from millstream.core.expressions import Expression, Piece, Ref, join_pieces, replace_columns, variables_of
from millstream.core.types import BOOLEAN, Type
from millstream.plan.nodes import Column
from millstream.plan.optimizer.cost import is_free

DELETED = "_deleted"
"""The column of an upsert relation that marks rows for readers to delete."""

LOCATED = "_at"
"""The suffix of functions that take the row's location before their arguments.

If the location is NULL, the function is not called and the result is NULL.
"""

ENCODED_VALUE, ENCODED_KEY = "_encoded_value", "_encoded_key"
"""The columns of a sink whose values and keys the project's own functions encode."""

RECORD = "_record"
"""The column with the record that a row was decoded from, for errors and dead letters."""

PLACED = "placed"
"""The field of `RECORD` with the headers that say where the record was."""


def barrier_condition(copy: int = 0) -> Expression:
    """Return a condition that always holds, and across which Catalyst moves no other condition.

    `rand() >= 0` doesn't work: OptimizeRand replaces it by `true`, and IncrementalExecution gives each
    `rand()` its own seed, which prevents exchange reuse. A different `copy` prevents the reuse on purpose.
    """
    return Expression((f"spark_partition_id() >= {-copy}",), BOOLEAN, nullable=False, deterministic=False)


class FromSource(Struct, frozen=True):
    """A view or CTE in a FROM clause."""

    name: str
    alias: str
    join: str = ""
    """`left join`; empty for the first."""
    on: tuple[Expression, ...] = ()
    watermark: tuple[str, str] | None = None
    broadcast: bool = False


class Lateral(Struct, frozen=True):
    """A LATERAL VIEW or lateral join: rows generated from each row."""

    call: Expression
    alias: str
    columns: tuple[str, ...]
    outer: bool = False


class Draft(Struct, frozen=True):
    """A SELECT; every `Ref` names the alias of a source in `relation`."""

    items: Mapping[str, Expression]
    """The columns of the node, in their order."""
    sources: tuple[FromSource, ...] = ()
    laterals: tuple[Lateral, ...] = ()
    where: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] | None = None
    """The keys of GROUP BY; None if the SELECT does not group."""
    having: tuple[Expression, ...] = ()
    deleted: Expression | None = None
    """Which rows of an upsert relation are deletes."""
    hint: str = ""
    freely: bool = False
    """Its expressions may be written several times, since no SELECT can be put between it and its readers."""
    body: str = ""
    """A body that is not a generated SELECT: a UNION, or opaque SQL."""

    @property
    def plain(self) -> bool:
        """Whether it only picks columns of one relation."""
        return (
            len(self.sources) == 1
            and not (self.laterals or self.where or self.having or self.hint or self.body)
            and self.keys is None
            and self.sources[0].watermark is None
            and all(expression.column is not None for expression in self.items.values())
            and (self.deleted is None or self.deleted.column is not None)
        )

    @property
    def expressions(self) -> Iterator[Expression]:
        yield from self.items.values()
        for source in self.sources:
            yield from source.on
        for lateral in self.laterals:
            yield lateral.call
        yield from self.where
        yield from self.keys or ()
        yield from self.having
        if self.deleted is not None:
            yield self.deleted

    @property
    def aliases(self) -> tuple[str, ...]:
        return (*(source.alias for source in self.sources), *(lateral.alias for lateral in self.laterals))


def of_relation(
    name: str, columns: Iterable[tuple[str, Expression | Column]], *, deleted: bool = False
) -> Draft:
    """Return the SELECT of all columns of a relation; each comes with a column or expression of its type."""
    deleted_column = Expression((Ref(DELETED, name),), BOOLEAN, nullable=False, atomic=True)
    return Draft(
        {
            column: Expression((Ref(column, name),), typed.type, typed.nullable, atomic=True)
            for column, typed in columns
        },
        (FromSource(name, name),),
        deleted=deleted_column if deleted else None,
    )


def fits_draft(draft: Draft, expressions: Iterable[Expression], *, again: bool = False) -> bool:
    """Whether expressions over the draft's columns can be written within it.

    A calculation is written only once, since Spark repeats it as often as it is written. With `again`, the
    columns are selected as well. Spark itself recognises equal aggregates.
    """
    if draft.body:
        return False
    used: dict[str, int] = {}
    for expression in expressions:
        for ref in expression.refs:
            # A column named like a lambda's variable is safe: it is qualified by its relation.
            item = draft.items[ref.column]
            if ref.fixed and item.column != ref.column:
                return False
            if item.column is not None:
                continue
            if ref.in_lambda and (item.reads or item.functions or draft.keys is not None):
                return False  # Spark allows no subquery, Python function or aggregate there
            used[ref.column] = used.get(ref.column, 0) + 1
    return all(
        (count == 1 and not again)
        or draft.freely
        or is_free(item := draft.items[name])
        or (draft.keys is not None and item.deterministic and not item.functions)
        for name, count in used.items()
    )


def rewrite_within(draft: Draft, expression: Expression) -> Expression:
    """Rewrite an expression over the draft's columns to one over its sources; check `fits_draft` first."""
    item = draft.items.get(expression.column or "")
    if item is not None and (item.type, item.nullable) == (expression.type, expression.nullable):
        return item  # a plain column
    return replace_columns(expression, lambda ref: draft.items.get(ref.column))


def compose_expression(
    parts: Sequence[Expression],
    pieces: Iterable[Piece],
    type_: Type,
    *,
    nullable: bool = True,
    atomic: bool = True,
) -> Expression:
    """Return an expression composed of others, with their properties."""
    return Expression(
        join_pieces(pieces),
        type_,
        nullable,
        all(part.deterministic for part in parts),
        any(part.raises for part in parts),
        tuple(name for part in parts for name in part.functions),
        atomic,
        variables_of(parts),
    )


def must_run_once(expression: Expression) -> bool:
    """Whether an expression must be calculated exactly once for each row it was written for."""
    return bool(expression.functions) or not expression.deterministic
