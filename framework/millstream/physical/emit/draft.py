"""One SELECT while it is put together: expressions over the relations of its FROM clause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from millstream.expressions import Expression, Ref, replace_columns
from millstream.optimizer.cost import is_free
from millstream.plan.nodes import Column
from millstream.types import BOOLEAN

DELETED = "_deleted"
"""The column of an upsert relation that tells rows which a reader should delete."""

RECORD = "_record"
"""The record that a row was decoded from, for who tells of it or sends it on."""


def barrier(copy: int = 0) -> Expression:
    """Return a condition that always holds, and that Catalyst moves no other condition across.

    `rand() >= 0` would not do: OptimizeRand makes `true` of it, and IncrementalExecution gives each `rand()`
    a seed of its own, so that no exchange above two of them is reused. `copy` marks copies that must not be.
    """
    return Expression((f"spark_partition_id() >= {-copy}",), BOOLEAN, nullable=False, deterministic=False)


class Source(Struct, frozen=True):
    """A view or CTE in a FROM clause."""

    name: str
    alias: str
    join: str = ""
    """`left join`; empty for the first."""
    on: tuple[Expression, ...] = ()
    watermark: tuple[str, str] | None = None
    broadcast: bool = False


class Lateral(Struct, frozen=True):
    """Rows made from each row."""

    call: Expression
    alias: str
    columns: tuple[str, ...]
    outer: bool = False


class Draft(Struct, frozen=True):
    """A SELECT; every `Ref` names the alias of a source in `relation`."""

    items: Mapping[str, Expression]
    """The columns of the node, in their order."""
    sources: tuple[Source, ...] = ()
    laterals: tuple[Lateral, ...] = ()
    where: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] | None = None
    """What GROUP BY says; None where the SELECT does not group."""
    having: tuple[Expression, ...] = ()
    deleted: Expression | None = None
    """Of an upsert relation: whether a row is one to delete."""
    hint: str = ""
    freely: bool = False
    """What it calculates may be written several times, since nothing can stand between."""
    whole: str = ""
    """A body that is no SELECT of ours: a UNION, or opaque SQL."""

    @property
    def plain(self) -> bool:
        """Tell whether it only picks columns of one relation."""
        return (
            len(self.sources) == 1
            and not (self.laterals or self.where or self.having or self.hint or self.whole)
            and self.keys is None
            and self.sources[0].watermark is None
            and all(each.column is not None for each in self.items.values())
            and (self.deleted is None or self.deleted.column is not None)
        )

    @property
    def expressions(self) -> Iterator[Expression]:
        """Yield all expressions that are written in it."""
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
        return (*(each.alias for each in self.sources), *(each.alias for each in self.laterals))


def of_relation(
    name: str, columns: Iterable[tuple[str, Expression | Column]], *, deleted: bool = False
) -> Draft:
    """Return the SELECT of all columns of a relation, each told with what has its type."""
    gone = Expression((Ref(DELETED, name),), BOOLEAN, nullable=False, atomic=True)
    return Draft(
        {
            column: Expression((Ref(column, name),), each.type, each.nullable, atomic=True)
            for column, each in columns
        },
        (Source(name, name),),
        deleted=gone if deleted else None,
    )


def fits(draft: Draft, expressions: Iterable[Expression], *, again: bool = False) -> bool:
    """Tell whether expressions over the draft's columns can be written within it.

    What is calculated is written once, since Spark would calculate it as often as it is written; `again` says
    that its columns are still selected, too. Results of aggregates are found to be the same by Spark.
    """
    if draft.whole:
        return False
    used: dict[str, int] = {}
    for expression in expressions:
        for ref in expression.refs:
            # A column of the name of a lambda's variable does no harm: it is written with its relation.
            found = draft.items[ref.column]
            if ref.fixed and found.column != ref.column:
                return False
            if found.column is not None:
                continue
            if ref.in_lambda and (found.reads or found.functions or draft.keys is not None):
                return False  # Spark takes no subquery, Python or aggregate there
            used[ref.column] = used.get(ref.column, 0) + 1
    return all(
        (count == 1 and not again)
        or draft.freely
        or is_free(found := draft.items[name])
        or _grouped_once(draft, found)
        for name, count in used.items()
    )


def _grouped_once(draft: Draft, expression: Expression) -> bool:
    return draft.keys is not None and expression.deterministic and not expression.functions


def within(draft: Draft, expression: Expression) -> Expression:
    """Write an expression over the draft's columns as one over its sources; ask `fits` first."""
    found = draft.items.get(expression.column or "")
    if found is not None and (found.type, found.nullable) == (expression.type, expression.nullable):
        return found  # it is a column and nothing more
    return replace_columns(expression, lambda ref: draft.items.get(ref.column))


def once(expression: Expression) -> bool:
    """Tell whether it must be calculated once for a row, and only for the rows that it was written for."""
    return bool(expression.functions) or not expression.deterministic
