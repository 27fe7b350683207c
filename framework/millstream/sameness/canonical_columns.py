"""Names rows and columns of models so that equal names mean equal values, however their SQL is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream.core.expressions import Expression, Ref, render_sql
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.plan.nodes import (
    Aggregate,
    Binary,
    Dedupe,
    Expand,
    Filter,
    Maintained,
    Node,
    TableScan,
    is_good,
)
from millstream.plan.traits import traits_of
from millstream.plan.walk import filtered_rows
from millstream.queries.meanings import digest_text
from millstream.sameness.leaves import leaves_of
from millstream.sameness.row_meaning import RowMeanings, function_digests
from millstream.sql.durations import duration_micros
from millstream.sql.equivalence import Equivalence, leaf_name
from millstream.sql.trees import calls_window_function

_KEEPING_LEFT_ROWS = frozenset(("inner", "left", "semi", "anti"))
"""The kinds of joins that give no row without a left side: a condition on it holds before or after them."""


def equal_values(old: Catalog, new: Catalog) -> tuple[EqualValues, EqualValues]:
    """Return the names of two versions, which can be compared."""
    names = Equivalence()
    before, after = EqualValues(old, names), EqualValues(new, names)
    # Models that are the same in both versions may share nodes: these are compared once.
    return before, before if before.naming_inputs == after.naming_inputs else after


class EqualValues(RowMeanings):
    """Meanings of columns as names of expressions, down to what is read from topics and tables."""

    def __init__(self, catalog: Catalog, names: Equivalence) -> None:
        seeds = {id_: seed.digest for id_, seed in catalog.seeds.items()}
        self.naming_inputs = function_digests(catalog), leaves_of(catalog, seeds)
        """Inputs to naming other than nodes."""
        super().__init__(self.naming_inputs[0], {}, {}, self.naming_inputs[1], {})
        self._names = names

    def model(self, root: Node, spec: ModelSpec) -> object:
        if isinstance(root, Maintained):
            self._specs[id(root)] = spec
        columns = {column.name.lower(): self.column(root, column.name) for column in root.columns}
        extras = {name: self.of(root, expression) for name, expression in spec.extras}
        # The time of records that only FROM has is one of these columns.
        return self.rows(root), columns, extras

    def of(self, node: Node, expression: Expression) -> str:
        if expression.column:
            return self.column(node, expression.column)
        verbatim = [
            expression.functions,
            expression.reads,
            not expression.deterministic,
            calls_window_function(expression),
        ]
        if any(verbatim) or any(ref.named or ref.fixed for ref in expression.refs):
            names = [f"{ref.column} {ref.named} {ref.fixed}" for ref in expression.refs]
            return leaf_name(f"{super().of(node, expression)} of {names}")

        def ref(reference: Ref) -> str:
            return self.column(node, reference.column)

        return self._names.name(render_sql(expression, ref), raises=expression.raises)

    def column(self, node: Node, name: str) -> str:
        return leaf_name(super().column(node, name))

    def _follow(self, node: Node, name: str) -> tuple[Node, str]:
        # The sides of a join may be the same relation: a column is that of its side.
        while not isinstance(node, Binary) and (below := node.origin(name)) is not None:
            node, name = below
        return node, name

    def _computed_by(self, input_node: Node, own_name: str) -> str:
        match input_node:
            case Expand():
                return f"{super()._computed_by(input_node, own_name)} {self.rows(input_node.input)}"
            case TableScan():
                return f"{super()._computed_by(input_node, own_name)} {input_node.column(own_name).type}"
            case Aggregate():
                call = next((m for m in input_node.measures if m.name.lower() == own_name.lower()), None)
                if call is None:
                    return super()._computed_by(input_node, own_name)
                measured = self.of(input_node.input, call.call)
                if call.condition is None:
                    return self._names.of_group(measured) if input_node.keys else measured
                return self._names.filtered(measured, self.of(input_node.input, call.condition))
            case _:
                return super()._computed_by(input_node, own_name)

    def _parts(self, node: Node) -> list[str]:
        below = [self._rows[id(child)] for child in node.inputs]
        match node:
            case Binary():
                return self._joined(node, below)
            case Dedupe():
                keys = sorted(self.column(node.input, key) for key in node.keys)
                exact = map(" ".join, self.exact(node))
                return [*below, "first of", *keys, _length(node.within), *exact, *self._late(node.input)]
            case _:
                return super()._parts(node)

    def _joined(self, node: Binary, below: Iterable[str]) -> list[str]:
        return [
            *below,
            type(node).__name__,
            node.kind,
            *self._all_hold((node, condition) for condition in node.on),
        ]

    def _late(self, node: Node) -> list[str]:
        times = traits_of(node).watermarks
        return sorted(f"{self.column(node, name)} delay {_length(delay)}" for name, delay in times)

    def _filters(self, node: Filter) -> list[str]:
        """Return the conditions of consecutive filters as one, those of the left side of a join below it."""
        input_node, conditions = filtered_rows(node)
        if isinstance(input_node, Binary) and input_node.kind in _KEEPING_LEFT_ROWS:
            side, of_side = filtered_rows(input_node.left)
            moved = {
                position: name
                for position, (over, condition) in enumerate(conditions)
                if (name := self._of_left(input_node, over, condition))
            }
            # What can fail is calculated before or after another condition.
            calculated = (*conditions, *of_side, *((input_node, condition) for condition in input_node.on))
            can_fail = any(
                condition.raises and self._names.can_fail(self.of(over, condition))
                for over, condition in calculated
            )
            if moved and not can_fail and not isinstance(side, Binary):
                names = [*(self.of(over, condition) for over, condition in of_side), *moved.values()]
                left = digest_text("\n".join((self._rows[id(side)], self._names.all_of(names))))
                joined = self._joined(input_node, (left, self._rows[id(input_node.right)]))
                above = [pair for position, pair in enumerate(conditions) if position not in moved]
                return [digest_text("\n".join(joined)), *self._all_hold(above)] if above else joined
        return [self._rows[id(input_node)], *self._all_hold(conditions)]

    def _of_left(self, join: Binary, over: Node, condition: Expression) -> str:
        """Return the name of a condition as one on the left side of a join below it; empty if it is not."""
        if (
            condition.functions
            or condition.reads
            or not condition.deterministic
            or calls_window_function(condition)
        ):
            return ""
        if is_good(condition) or any(ref.named or ref.fixed for ref in condition.refs):
            return ""
        sources: dict[str, str] = {}
        for ref in condition.refs:
            node, name = self._follow(over, ref.column)
            if node is not join or (joined := join.by_joined[name.lower()]).side != "left":
                return ""
            sources[ref.column.lower()] = self.column(join.left, joined.source)
        if not sources:
            return ""
        if condition.column:
            return sources[condition.column.lower()]
        return self._names.name(render_sql(condition, lambda ref: sources[ref.column.lower()]))

    def _all_hold(self, conditions: Iterable[tuple[Node, Expression]]) -> Iterator[str]:
        """Yield the name of several conditions over nodes, if there are any."""
        pairs = list(conditions)
        if pairs:
            raises = any(condition.raises for _, condition in pairs)
            yield self._names.all_of((self.of(over, condition) for over, condition in pairs), raises=raises)


def _length(duration: str | None) -> str:
    """Return a duration in microseconds, if it is one."""
    length = duration_micros(duration) if duration else ""
    return str(duration) if isinstance(length, str) else f"{length} microseconds"
