"""What Spark keeps in a state, which depends on what is read above it.

Catalyst removes columns and aggregates that nothing above reads, also where no rule of Millstream does
(`optimization: none`): it moves filters first (PushDownPredicates, EliminateOuterJoin), then prunes
(ColumnPruning), and of a struct, it keeps the fields that are read (NestedColumnAliasing).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from millstream.core.expressions import Expression, Ref
from millstream.plan.needs import Names, needed_measures, of_input
from millstream.plan.nodes import (
    Aggregate,
    Binary,
    Expand,
    Filter,
    Join,
    Lookup,
    Node,
    Output,
    Project,
    Repartition,
    Union,
    Watermark,
)
from millstream.plan.nodes.order import in_order
from millstream.queries.meanings import ColumnMeanings, Facts, written_measures

_KEEPS_ROWS = (Output, Project, Repartition, Union, Watermark)
_KEPT_WHOLE: Mapping[str, frozenset[str]] = {
    "left": frozenset(("left",)),
    "right": frozenset(("right",)),
    "full": frozenset(("left", "right")),
}
"""The sides of which a join gives all rows: no condition in ON can be applied to them before."""
_FIELDS = re.compile(r"(?:\.(?:\w+|`[^`]+`))+")
_REORDERED = re.compile(r"\b(?:between|from)\b", re.IGNORECASE)


class KeptInState:
    """Describes what Spark keeps in the states of one query."""

    def __init__(
        self, meanings: ColumnMeanings, order: Sequence[Node], readers: Mapping[int, list[Node]]
    ) -> None:
        self._meanings = meanings
        self._order = order
        self._readers = readers
        self._read: dict[int, Names] = {id(node): set() for node in order}
        """The columns of each node that are read above it, by its `id`, besides those of conditions."""
        self._conditions: dict[int, list[Names]] = {id(node): [] for node in order}
        """The columns of each node that a condition above it reads."""
        self._below_others: set[int] = set()
        """The `id`s of nodes below one that may leave out rows, which can make an outer join an inner one."""
        for node in reversed(order):
            others = id(node) in self._below_others or not isinstance(node, _KEEPS_ROWS)
            for index, input_node in enumerate(node.inputs):
                self._read[id(input_node)] |= self._of_input(node, index)
                self._conditions[id(input_node)] += self._passed_on(node, index)
                if others:
                    self._below_others.add(id(input_node))

    def facts(self, node: Node, facts: Facts) -> Facts:
        """Return the facts of a state without what Spark does not keep; equal ones mean an equal state."""
        match node:
            case Aggregate():
                return self._aggregate(node, facts)
            case Join():
                return self._join(node, facts)
            case _:
                return facts

    # -- what is read

    def _of_input(self, node: Node, index: int) -> Names:
        """Return the columns of an input that are read for sure.

        A condition on one side of a join may be applied below it, so that its columns are not kept.
        """
        read, conditions = self._read[id(node)], self._conditions[id(node)]
        match node:
            case Filter():
                return read.union(
                    *(condition.folded for condition in node.conditions if not _moves(condition))
                )
            case Project() | Union() | Expand() | Repartition() | Watermark():
                return {*of_input(node, index, read)}
            case Join() | Lookup():
                stay = [columns for columns in conditions if len(_sides(node, columns)) > 1]
                stay += [columns for columns in _on(node) if self._stays_in_on(node, columns)]
                return _of_side(node, index, read.union(*stay))
            case _:
                return {*of_input(node, index, read.union(*conditions))}

    def _stays_in_on(self, node: Join | Lookup, names: Names) -> bool:
        sides = _sides(node, names)
        kept_whole = _KEPT_WHOLE.get(node.kind, frozenset()) if id(node) not in self._below_others else ()
        return len(sides) > 1 or not sides.isdisjoint(kept_whole)

    def _passed_on(self, node: Node, index: int) -> Iterable[Names]:
        """Return the conditions that may be applied to the rows of an input."""
        conditions = self._conditions[id(node)]
        match node:
            case Filter():
                return [
                    *conditions,
                    *({*condition.folded} for condition in node.conditions if _moves(condition)),
                ]
            case Project() | Union() | Expand():
                return [{*of_input(node, index, columns)} for columns in conditions]
            case Repartition() | Watermark():
                return conditions
            case Join() | Lookup():
                on = (columns for columns in _on(node) if not self._stays_in_on(node, columns))
                single = [columns for columns in (*conditions, *on) if len(_sides(node, columns)) == 1]
                return [names for columns in single if (names := _of_side(node, index, columns))]
            case _:
                return []

    def _needed(self, node: Node) -> Names:
        return self._read[id(node)].union(*self._conditions[id(node)])

    # -- joins

    def _join(self, node: Join, facts: Facts) -> Facts:
        sides = {"left": self._side(node, 0), "right": self._side(node, 1)}
        stored_facts = [(name, sides.get(name, fact)) for name, fact in facts]
        structs = any(
            "struct<" in str(side.column(name).type)
            for index, side in enumerate(node.inputs)
            for name in self._of_input(node, index)
        )
        return (
            [*stored_facts, ("fields", ", ".join(sorted(set(self._fields(node)))))]
            if structs
            else stored_facts
        )

    def _side(self, node: Join, index: int) -> str:
        side, names = node.inputs[index], self._of_input(node, index)
        read = (column.name for column in side.columns if column.name.lower() in names)
        return ", ".join(self._meanings.typed(side, name) for name in read)

    def _fields(self, node: Join) -> Iterator[str]:
        """Yield what expressions above a join read of structs; no other fields may be kept."""
        above = {id(node)}
        for current in self._order:
            if not above.isdisjoint(map(id, current.inputs)):
                above.add(id(current))
                over = current if isinstance(current, Binary) else current.inputs[0]
                for expression in current.expressions:
                    yield from self._of_structs(over, expression)

    def _of_structs(self, node: Node, expression: Expression) -> Iterator[str]:
        for piece, after in zip(expression.pieces, (*expression.pieces[1:], ""), strict=True):
            if not isinstance(piece, Ref) or piece.column.lower() not in node.by_name:
                continue
            if "struct<" not in str(node.column(piece.column).type):
                continue
            fields = _FIELDS.match(after) if isinstance(after, str) else None
            if fields is not None:
                yield f"{self._meanings.column(node, piece.column)}{fields[0]}"
            else:
                yield self._meanings.of(node, expression)

    # -- aggregates

    def _aggregate(self, node: Aggregate, facts: Facts) -> Facts:
        stored = written_measures(needed_measures(node, self._needed(node)))
        measures = iter(written_measures(node.measures))
        stored_facts: Facts = []
        for name, fact in facts:
            kind, _, number = name.rpartition(" ")
            if kind in {"measure", "record time"} and number.isdigit():
                measure = next(measures)
                stored_facts += [(f"{kind} {stored.index(measure) + 1}", fact)] if measure in stored else []
            elif name != "order":
                stored_facts.append((name, fact))
        names = [measure.name.lower() for measure in stored]
        written = [str(number) for number in range(1, len(names) + 1)]
        orders: dict[str, None] = {}
        for selected in self._selects(node):
            order = [str(names.index(name) + 1) if name in names else name for name in selected]
            orders[", ".join(order or written)] = None
        text = " or ".join(orders)
        return stored_facts if text == ", ".join(written) else [*stored_facts, ("order", text)]

    def _selects(self, node: Aggregate) -> Iterator[Iterable[str]]:
        """Yield the measures in the order in which they are first read: Spark keeps them in that order.

        Above a watermark, a condition of measures is HAVING or that of a second SELECT. States are equal for
        sure if their orders are, either way.
        """
        yield self._selected(node)
        if any(isinstance(below, Watermark) for below in in_order((node,))):
            yield self._selected(node, having=False)

    def _selected(self, node: Aggregate, *, having: bool = True) -> Iterable[str]:
        """Return the measures in the order in which one SELECT reads them.

        Projections and filters directly above an aggregate are one SELECT with it: HAVING comes last. Without
        `having`, a condition of measures ends it.
        """
        names = (measure.name.lower() for measure in written_measures(node.measures))
        columns = {name: [name] for name in names}
        last: list[str] = []
        top: Node = node
        while len(above := self._readers.get(id(top), [])) == 1:
            (reader,) = above
            match reader:
                case Filter():
                    measures = _measures(columns, reader.conditions)
                    if measures and not having:
                        break
                    last += measures
                case Project():
                    columns = {
                        item.name.lower(): _measures(columns, (item.expression,)) for item in reader.items
                    }
                case _:
                    break
            top = reader
        needed = self._needed(top)
        selected = (name for column, read in columns.items() if column in needed for name in read)
        # Without a projection, they are in their own order.
        return dict.fromkeys((*selected, *last)) if top is not node else ()


def _measures(columns: Mapping[str, Sequence[str]], expressions: Iterable[Expression]) -> list[str]:
    names: list[str] = []
    for expression in expressions:
        read = [name for ref in expression.refs for name in columns.get(ref.column.lower(), ())]
        # Spark reads the operands of these in another order.
        reordered = len(read) > 1 and _REORDERED.search(expression.text)
        names += [expression.text, *read] if reordered else read
    return names


def _moves(condition: Expression) -> bool:
    """Return whether Spark may move a condition; functions are registered as non-deterministic."""
    return condition.deterministic and not condition.functions


def _on(node: Binary) -> Iterator[Names]:
    return ({*condition.folded} for condition in node.on)


def _sides(node: Binary, names: Names) -> set[str]:
    return {node.by_joined[name].side for name in names if name in node.by_joined}


def _of_side(node: Binary, index: int, names: Names) -> Names:
    side = "left" if index == 0 else "right"
    joined = (node.by_joined[name] for name in names if name in node.by_joined)
    return {column.source.lower() for column in joined if column.side == side}
