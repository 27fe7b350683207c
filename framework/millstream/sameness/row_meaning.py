"""The meaning of each model's rows and columns, as texts that are equal if the rows are equal.

Meanings are expressed twice: in terms of the relations that a model reads, and in terms of sources and seeds
only, through all models between. A refactoring, such as moving a part of a model into a new model, does not
change the second.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from msgspec import Struct

from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.plan.from_sql.record_parts import TIMESTAMP_OPTION
from millstream.plan.from_sql.rows_at_rest import inputs_at_rest, read_columns, rows_at_rest
from millstream.plan.nodes import (
    CARRIED,
    RECORD_TIME,
    Aggregate,
    Binary,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Maintained,
    Node,
    Opaque,
    RowsScan,
    SeedScan,
    SourceScan,
    Stateful,
    TableScan,
    TopicScan,
    Union,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.walk import filtered_rows
from millstream.queries.meanings import ColumnMeanings, digest_text
from millstream.sameness.leaves import LeafMeanings, leaves_of
from millstream.sql.trees import calls_window_function


class ModelMeaning(Struct, frozen=True):
    rows: str
    """Which rows exist."""
    columns: dict[str, str]
    """The value of each column, by name in lower case."""
    extras: dict[str, str] = {}
    """The SQL of options: headers, `delete_when`."""
    retention: str = ""
    """Which of these rows a table keeps, by its options."""


class ModelMeanings(Struct, frozen=True):
    """The meanings of models, by id."""

    by_inputs: dict[NodeId, ModelMeaning]
    """In terms of the relations that each reads, regardless of the bodies of functions."""
    by_sources: dict[NodeId, ModelMeaning]
    """In terms of sources and seeds."""


def model_meanings(
    catalog: Catalog,
    seeds: Mapping[NodeId, str],
    roots: Mapping[NodeId, Node],
    models: Container[NodeId],
    edited: Container[NodeId],
) -> ModelMeanings:
    """Return the meanings of `models`; `seeds` has digests of rows by id.

    Models that are not `edited` are only expressed in terms of sources, because their own SQL is the same.
    `roots` has the plan nodes of these models and of all models upstream.
    """
    functions = function_digests(catalog)
    leaves = leaves_of(catalog, seeds)
    names = {id(root): id_ for id_, root in roots.items()}
    specs = {id(root): catalog.models[id_] for id_, root in roots.items()}
    deep = RowMeanings(functions, roots, {}, leaves, specs)
    by_inputs: dict[NodeId, ModelMeaning] = {}
    by_sources: dict[NodeId, ModelMeaning] = {}
    for id_, root in roots.items():
        if id_ not in models:
            continue
        spec = catalog.models[id_]
        if id_ in edited:
            others = {key: name for key, name in names.items() if name != id_}
            by_inputs[id_] = _meaning(RowMeanings({}, {}, others, None, specs), root, spec)
        by_sources[id_] = _meaning(deep, root, spec)
    return ModelMeanings(by_inputs, by_sources)


def function_digests(catalog: Catalog) -> dict[str, str]:
    return {name: function.digest for name, function in catalog.functions.items()}


def _meaning(depths: RowMeanings, root: Node, spec: ModelSpec) -> ModelMeaning:
    rejected = sorted(depths.of(root, check.wrong) for check in spec.checks if check.keeps_out)
    return ModelMeaning(
        " but not ".join((depths.rows(root), *rejected)),
        {name: depths.column(root, name) for name in root.by_name if name not in CARRIED},
        {name: depths.of(root, expression) for name, expression in spec.extras}
        | ({TIMESTAMP_OPTION: depths.column(root, RECORD_TIME)} if RECORD_TIME in root.by_name else {}),
        depths.retention(root, spec),
    )


class RowMeanings(ColumnMeanings):
    """Meanings of columns and rows, expressed down to given relations."""

    def __init__(
        self,
        functions: Mapping[str, str],
        roots: Mapping[NodeId, Node],
        ends: Mapping[int, NodeId],
        leaves: LeafMeanings | None,
        specs: dict[int, ModelSpec],
    ) -> None:
        super().__init__(functions, roots)
        self._specs = specs
        """Models, by `id` of their root."""
        self._at_rest: dict[int, tuple[Maintained, Node | None]] = {}
        """Their rows clause by clause."""
        self._ends = ends
        self._leaves = leaves
        """Facts about sources and seeds besides their names; without them, a relation is its name."""
        self._rows = {root: str(id_) for root, id_ in ends.items()}
        self._read: dict[int, frozenset[NodeId]] = {id_: frozenset((name,)) for id_, name in ends.items()}
        """The relations that each node reads."""
        self._ordered: dict[int, list[Node]] = {}
        """The sides of each union, in a canonical order."""

    # -- columns

    def _column(self, node: Node, name: str) -> str:
        input_node, way = self._follow(node, name)
        if end := self._ends.get(id(input_node)):
            return f"{end}.{way.lower()}"
        match input_node:
            case TableScan() if (root := self._roots.get(input_node.relation)) is not None:
                return self.column(root, way)
            case Decode() if self._leaves and way.lower() not in self._written_columns(input_node):
                return self._leaf(input_node, way)
            case TableScan() if self._leaves and input_node.relation in self._leaves.tables:
                return self._leaf(input_node, way)
            case SeedScan() | SourceScan():
                return self._leaf(input_node, way)
            case Stateful() | Opaque():
                return f"{self.rows(input_node)}.{way.lower()}"
            case Maintained():
                rows = self._clauses(input_node)
                return f"{self.rows(input_node)}.{way.lower()}" if rows is None else self.column(rows, way)
            case Union():
                position = list(input_node.by_name).index(way.lower())
                sides = (self.column(side, side.columns[position].name) for side in self._sides(input_node))
                return f"union({', '.join(sides)})"
            case _:
                return self._computed_by(input_node, way)

    def _leaf(self, node: Node, name: str) -> str:
        """Return a column of a source or seed: its type, and how its values are read, make it another one."""
        facts = self._leaves.column(node.relation, name) if self._leaves else ""
        return f"{node.relation}.{name.lower()} {node.column(name).type} {facts}"

    def of(self, node: Node, expression: Expression) -> str:
        text = super().of(node, expression)
        read = [self._relation(relation) for relation in expression.reads]
        # The value of a window function depends on which other rows there are.
        read += [f"over {self.rows(node)}"] if calls_window_function(expression) else []
        return f"{text} [{', '.join(read)}]" if read else text

    def _written_columns(self, node: Decode) -> Mapping[str, object]:
        """Return the columns that a model wrote to the topic, by name in lower case."""
        root = self._roots.get(node.relation)
        return {} if root is None else root.by_name

    def _relation(self, relation: NodeId) -> str:
        """Return the meaning of a whole relation that an expression reads by name."""
        root = self._roots.get(relation)
        if root is not None:
            return self._all(root)
        return f"{relation} {self._leaves.rows_and_columns(relation) if self._leaves else ''}"

    def _all(self, node: Node) -> str:
        columns = (f"{column.name.lower()} {self.column(node, column.name)}" for column in node.columns)
        return digest_text("\n".join((self.rows(node), *columns)))

    def _follow(self, node: Node, name: str) -> tuple[Node, str]:
        # If both sides of a join read the same relation, a column is that of its side.
        while id(node) not in self._ends and (below := node.origin(name)) is not None:
            if isinstance(node, Binary) and not self._reads(node.left).isdisjoint(self._reads(node.right)):
                break
            node, name = below
        return node, name

    def _computed_by(self, input_node: Node, own_name: str) -> str:
        if isinstance(input_node, Binary):
            joined = input_node.by_joined[own_name.lower()]
            side = input_node.left if joined.side == "left" else input_node.right
            return f"{joined.side} {self.column(side, joined.source)}"
        return super()._computed_by(input_node, own_name)

    def retention(self, root: Node, spec: ModelSpec) -> str:
        """Return what decides which of a model's rows its table keeps; empty if it is not a table."""
        stored = spec.materialization
        delete_by = stored.table.delete_by if stored.table is not None else ()
        if not (stored.at_rest or delete_by):
            return ""
        order = self.column(root, stored.order_by) if stored.order_by else ""
        deleted = [self.of(root, expression) for name, expression in spec.extras if name == "delete_when"]
        keys = [self.column(root, key) for key in (*spec.keys, *delete_by) if key.lower() in root.by_name]
        return f"{keys} {order} {stored.kept_for} {deleted}"

    # -- tables over tables

    def _clauses(self, node: Maintained) -> Node | None:
        if id(node) not in self._at_rest:
            self._at_rest[id(node)] = node, rows_at_rest(self._specs[id(node)], node)
        return self._at_rest[id(node)][1]

    def _maintained(self, node: Maintained) -> list[str]:
        """Return the meaning of SQL that clauses don't say: its text, and all that it can read."""
        parts = [
            node.maintenance.all_rows,
            *(f"{name} {self.functions.get(name, '')}" for name in node.called),
        ]
        read = read_columns(self._specs[id(node)], node)
        for relation, child in zip(node.maintenance.relations, inputs_at_rest(node), strict=True):
            columns = sorted(read[relation])
            parts += [self._rows[id(child)], *(f"{name} {self.column(child, name)}" for name in columns)]
        return parts

    # -- rows

    def rows(self, node: Node) -> str:
        """Return the meaning of a node's rows."""
        order = in_order((node,), self._rows)
        self.describe(order)
        for current in order:
            if id(current) not in self._rows:
                self._rows[id(current)] = (
                    self._rows[id(current.inputs[0])]
                    if current.one_to_one
                    else digest_text("\n".join(self._parts(current)))
                )
        return self._rows[id(node)]

    def _sides(self, node: Union) -> list[Node]:
        """Return the sides in an order that does not depend on how they are written.

        They are sorted by what they read first, so that an edit of one side rarely reorders the others.
        """
        if (ordered := self._ordered.get(id(node))) is not None:
            return ordered
        read = [tuple(sorted(self._reads(side))) for side in node.sides]
        if len({*read}) == len(read):
            sides = sorted(node.sides, key=lambda side: sorted(self._reads(side)))
        else:
            sides = sorted(
                node.sides, key=lambda side: (sorted(self._reads(side)), self.rows(side), self._content(side))
            )
        self._ordered[id(node)] = sides
        return sides

    def _reads(self, node: Node) -> frozenset[NodeId]:
        """Return the relations that a node reads."""
        for current in in_order((node,), self._read):
            if isinstance(current, TopicScan | RowsScan):
                self._read[id(current)] = frozenset((current.relation,))
            else:
                self._read[id(current)] = frozenset[NodeId]().union(
                    *(self._read[id(e)] for e in current.inputs)
                )
        return self._read[id(node)]

    def _content(self, side: Node) -> str:
        """Return a digest of a side's columns, by position."""
        return digest_text("\n".join(self.column(side, column.name) for column in side.columns))

    def _parts(self, node: Node) -> list[str]:
        below = [self._rows[id(child)] for child in node.inputs]
        match node:
            case Filter():
                return self._filters(node)
            case TopicScan() | TableScan() if (root := self._roots.get(node.relation)) is not None:
                retention = self.retention(root, self._specs[id(root)]) if isinstance(node, TableScan) else ""
                return [self.rows(root), type(node).__name__, retention]
            case TopicScan() | RowsScan():
                return [str(node.relation), self._leaves.rows_of(node) if self._leaves else ""]
            case Decode():
                # A record in a model's topic is a row of the model.
                return below if self._written_columns(node) else [*below, node.on_bad_record, *node.unique_by]
            case Expand():
                return [*below, self.of(node.input, node.call), str(node.outer)]
            case Union():
                return ["union", *(self._rows[id(side)] for side in self._sides(node))]
            case Binary():
                on = sorted(self.of(node, condition) for condition in node.on)
                return [*below, type(node).__name__, node.kind, *on]
            case Aggregate():
                keys = sorted(self.of(node.input, key.expression) for key in node.keys)
                return [*below, "aggregate", *keys, node.emit, *self._late(node.input)]
            case Dedupe():
                keys = sorted(self.column(node.input, key) for key in node.keys)
                exact = map(" ".join, self.exact(node))
                return [*below, "first of", *keys, str(node.within), *exact, *self._late(node.input)]
            case Stateful():
                facts = self.facts(node, {})
                return [*below, *(f"{name} {fact}" for name, fact in facts)]
            case Maintained():
                rows = self._clauses(node)
                return self._maintained(node) if rows is None else [self.rows(rows)]
            case Opaque():
                return [*map(str, node.pieces), *map(self._all, node.inputs)]
            case _:
                return [*below, node.fingerprint]

    def _filters(self, node: Filter) -> list[str]:
        """Return the conditions of consecutive filters, sorted, because their order does not matter."""
        input_node, conditions = filtered_rows(node, self._ends)
        return [
            self._rows[id(input_node)],
            *sorted({self.of(over, condition) for over, condition in conditions}),
        ]

    def _late(self, node: Node) -> Iterable[str]:
        """Return what decides which rows are late, because state drops late rows."""
        return sorted(fact for _, fact in self._times(node))
