"""Signatures of queries: what each stateful operator stores, and how; equal signatures mean equal state.

Spark checks the names and types of a state's columns by position and little else. So everything that an
operator computes is followed down to columns of sources, with digests for the bodies of functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.outputs.kinds import Sink
from millstream.plan.nodes import (
    Aggregate,
    Filter,
    Join,
    Maintained,
    Node,
    Output,
    Plan,
    Project,
    TemporalJoin,
    TopicScan,
)
from millstream.plan.nodes.order import from_results, in_order
from millstream.plan.optimizer.rules.bypass_topics import with_topics_bypassed
from millstream.plan.traits import traits_of
from millstream.queries.dependencies import DependencyTrace
from millstream.queries.emit.names import node_name
from millstream.queries.meanings import ColumnMeanings, digest_text
from millstream.queries.row_digests import RowDigests
from millstream.queries.state_columns import KeptInState
from millstream.queries.values import Dependency, PhysicalSettings, StatefulOperator, StoredOutput
from millstream.stores.registry import store_declaration


class _Upstream(Struct, frozen=True):
    """What is upstream of a state, in the models as written."""

    states: list[Node]
    """The same state in each model."""
    roots: list[Node]
    """The rows of models with events: conditions above a state may be applied below it."""


class QuerySignatures:
    """The states of queries over one plan."""

    def __init__(self, settings: PhysicalSettings, written: Plan, references: Sequence[Output] = ()) -> None:
        functions = settings.functions
        self._meanings = ColumnMeanings(functions)
        self._written = {output.model: output.input for output in written.outputs}
        self._written_meanings = ColumnMeanings(functions, self._written)
        """As written."""
        self._row_digests = RowDigests(self._written, self._written_meanings)
        self._outputs = outputs = {output.model: output for output in written.outputs}
        tables = {output.model: output for output in references}
        self._dependencies = DependencyTrace(
            outputs, tables, self._row_digests, self._written_meanings, settings
        )
        self._table_locations = settings.table_locations
        self._retained: list[Sequence[Output]] = []
        """Keeps nodes alive: results are stored by `id`, which Python would reuse for other nodes."""
        self._followed: list[Node] = []
        """The same for models as written over the states of others."""

    def operators(self, outputs: Sequence[Output]) -> tuple[StatefulOperator, ...]:
        """Return the stateful operators below some outputs, in the order in which rows reach them."""
        self._retained.append(outputs)
        order = in_order(outputs)
        states = states_in(order)
        if not states:
            return ()
        readers: dict[int, list[Node]] = {}
        for node in order:
            for child in node.inputs:
                readers.setdefault(id(child), []).append(node)
        self._meanings.describe(order)
        upstream = self._upstream(outputs)
        models = _models(outputs)
        in_state = KeptInState(self._meanings, order, readers)
        facts = {id(node): self._meanings.facts(node, readers) for node in states}
        numbers = {id(node): number for number, node in enumerate(states_in(from_results(outputs)))}
        return tuple(
            StatefulOperator(
                operator_name(node),
                node.operator,
                tuple(facts[id(node)]),
                digest_text("\n".join(sorted(self._rows_reaching(upstream[id(node)])))),
                tuple(sorted(self._dependencies.state(node))),
                tuple(sorted(self._dependencies_of_rows(upstream[id(node)]))),
                tuple(sorted(self._emitted(upstream[id(node)]))),
                models[id(node)],
                tuple(in_state.facts(node, facts[id(node)])),
                numbers[id(node)],
            )
            for node in states
        )

    def copies(self, outputs: Sequence[Output]) -> tuple[str, ...]:
        """Return the copies of aggregates that states have; `operators` has described the columns before."""
        return tuple(
            f"{index} {copied}"
            for index, node in enumerate(states_in(in_order(outputs)))
            if isinstance(node, Aggregate)
            for copied in self._meanings.copies(node)
        )

    def stored(self, outputs: Sequence[Output]) -> tuple[StoredOutput, ...]:
        """Describe the rows of tables, and of topics with one row for each key."""
        self._retained.append(outputs)
        return tuple(
            self._stored(output)
            for output in outputs
            if output.materialization.keeps_rows or traits_of(output.input).mode == "upsert"
        )

    def tables(self, relations: Iterable[NodeId]) -> dict[NodeId, dict[str, str]]:
        """Return the types of the columns of tables, also of those that nobody reads."""
        return {name: _types(self._written[name]) for name in relations if name in self._written}

    def _stored(self, output: Output) -> StoredOutput:
        root, stored = self._written.get(output.model, output.input), output.materialization
        if isinstance(root, Maintained):
            return self._maintained(output)
        location = self._table_locations.get(stored.store or "", "") if stored.keeps_rows else ""
        return StoredOutput(
            output.model,
            tuple(key.lower() for key in output.keys),
            self._rows(output, root),
            tuple(sorted(self._dependencies.stored(output, root))),
            stored.kept_for,
            location,
            _written(stored.sink) if stored.sink is not None else "",
            partitions=_fixed_partitions(stored.partition_columns, location),
        )

    def _maintained(self, output: Output) -> StoredOutput:
        """Describe a table that is kept equal to its SQL, which computes all rows again after an edit."""
        keys = tuple(key.lower() for key in output.keys)
        location = self._table_locations.get(output.materialization.store or "", "")
        return StoredOutput(output.model, keys, "", (), "", location, "", _types(output.input))

    def _rows(self, output: Output, root: Node) -> str:
        parts = [self._row_digests.rows(root)]
        parts += sorted(
            f"{column.name.lower()} {self._written_meanings.column(root, column.name)}"
            for column in output.columns
        )
        parts += [
            f"{extra.name} {self._written_meanings.of(root, extra.expression)}" for extra in output.extras
        ]
        table = output.materialization.table
        parts += [name.lower() for name in table.delete_by] if table is not None else []
        return digest_text("\n".join([*parts, (output.materialization.order_by or "").lower()]))

    def _upstream(self, outputs: Sequence[Output]) -> Mapping[int, _Upstream]:
        """Return what is upstream of each state, according to the models as written."""
        upstream: dict[int, _Upstream] = {}
        for output in outputs:
            order = in_order((output,))
            optimized = states_in(order)
            root = self._written_root(output.model, order)
            written = optimized if root is None else states_in(in_order((root,)))
            matching = [type(node) for node in written] == [type(node) for node in optimized]
            # If rules changed which states there are, all rows of the model count.
            changed = written or [self._outputs.get(output.model, output)]
            for index, node in enumerate(optimized):
                node_upstream = upstream.setdefault(id(node), _Upstream([], []))
                node_upstream.states.extend([written[index]] if matching else changed)
                if root is not None and traits_of(root).mode == "append":
                    node_upstream.roots.append(root)
        return upstream

    def _written_root(self, model: NodeId, order: Iterable[Node]) -> Node | None:
        """Return a model as written, over the states that its query has instead of topics."""
        root = self._written.get(model)
        if root is None:
            return None
        read = {node.relation for node in order if isinstance(node, TopicScan)}
        followed = with_topics_bypassed(root, self._outputs, read)
        self._followed.append(followed)
        return followed

    def _rows_reaching(self, upstream: _Upstream) -> set[str]:
        rows = {self._row_digests.rows(child) for state in upstream.states for child in state.inputs}
        return rows.union(*(self._row_digests.above(root) for root in upstream.roots))

    def _dependencies_of_rows(self, upstream: _Upstream) -> frozenset[Dependency]:
        nodes = [child for state in upstream.states for child in state.inputs] + upstream.roots
        return frozenset[Dependency]().union(*map(self._dependencies.rows, nodes))

    def _emitted(self, upstream: _Upstream) -> set[str]:
        """Return the conditions of which excluded rows would still be emitted from the state.

        A join emits the rows that it holds when they match later, or when their versions are known; a window
        emits its groups when it closes.
        """
        if any(isinstance(state, Join | TemporalJoin) for state in upstream.states):
            return self._rows_reaching(upstream)
        conditions: set[str] = set()
        for state in upstream.states:
            if isinstance(state, Aggregate) and state.emit == "on_close":
                keys = self._dependencies.types(state.input, (key.expression for key in state.keys))
                conditions |= self._conditions_on(keys, state.input)
                conditions |= {
                    text for root in upstream.roots for text in self._conditions_above(state, root)
                }
        return conditions

    def _conditions_above(self, state: Aggregate, root: Node) -> Iterator[str]:
        """Yield the conditions above a state that only read its keys: Spark applies them below it."""
        keys = frozenset(key.name.lower() for key in state.keys)
        for node in in_order((root,)):
            if isinstance(node, Filter):
                for condition in node.conditions:
                    if _reads_only(node.input, condition.folded, state, keys):
                        yield self._written_meanings.of(node.input, condition)

    def _conditions_on(self, columns: frozenset[str], root: Node) -> set[str]:
        """Return the conditions upstream that read no other columns of sources."""
        conditions: set[str] = set()
        for node in in_order((root,)):
            if isinstance(node, Filter | Join):
                over = node.input if isinstance(node, Filter) else node
                conditions.update(
                    self._written_meanings.of(over, expression)
                    for expression in node.expressions
                    if self._dependencies.types(over, (expression,)) <= columns
                )
        return conditions


def _models(outputs: Sequence[Output]) -> Mapping[int, tuple[NodeId, ...]]:
    """Return the stored models whose rows pass each state."""
    by_state: dict[int, list[NodeId]] = {}
    for output in outputs:
        for node in states_in(in_order((output,))):
            by_state.setdefault(id(node), []).append(output.model)
    return {node: tuple(models) for node, models in by_state.items()}


def _reads_only(node: Node, columns: frozenset[str], state: Aggregate, keys: frozenset[str]) -> bool:
    """Return whether columns of a node are computed from the keys of a state below it."""
    while node is not state:
        match node:
            case Project():
                expressions = [item.expression for item in node.items if item.name.lower() in columns]
                columns = frozenset[str]().union(*(expression.folded for expression in expressions))
                node = node.input
            case Filter():
                node = node.input
            case _:
                return False
    return bool(columns) and columns <= keys


def _types(node: Node) -> dict[str, str]:
    return {column.name.lower(): str(column.type) for column in node.columns}


def _written(sink: Sink) -> str:
    key = sink.key_encoding
    changes = ", changes" if sink.changes else ""
    return digest_text(f"{sink.encoding.written}, keys {key.written if key else None}{changes}")


def _fixed_partitions(columns: Iterable[str], location: str) -> tuple[str, ...]:
    """Return the columns by which a table has folders, where its store can't have others later."""
    partitions = tuple(column.lower() for column in columns)
    store = location.partition(" ")[0]
    return partitions if partitions and store_declaration(store).fixed_partitions else ()


def states_in(order: Iterable[Node]) -> list[Node]:
    """Return the nodes that keep state between batches."""
    return [node for node in order if node.stateful and traits_of(node).mode != "static"]


def operator_name(node: Node) -> str:
    """Return an operator's name for users: its label, or its kind and models."""
    models = [model.last_name for model in node.models]
    what = f"{node.noun} of {', '.join(models)}"
    return node.label or (what if models else node_name(node))
