"""Lets models drop the records that are bad for them, where bad records are skipped or sent to dead letters.

decode → watermark → …
decode with `_good_…` → watermark → filter `_good_…` → …

So models can share all that is below such a filter, and event time follows all records whose time can be
decoded. Where bad records make a query fail, it fails by what its models read: see `Output.reads`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from millstream.core.expressions import Expression, join_pieces
from millstream.core.node_id import NodeId
from millstream.formats.registry import format_of
from millstream.plan.from_sql.catalog import TopicSpec
from millstream.plan.from_sql.columns_read import PlanUnit, PlanUnits, all_reads
from millstream.plan.nodes import (
    Decode,
    Filter,
    Item,
    Node,
    Output,
    Project,
    ReadColumns,
    RecordValidity,
    Watermark,
    good_of,
    is_good,
)
from millstream.plan.nodes.order import in_order
from millstream.sql.trees import (
    UNREAD,
    CallTree,
    ExpressionTree,
    OperatorTree,
    OtherTree,
    tree_of,
    walk_tree,
)

_ON_NULL = frozenset((
    "array", "assert_true", "case", "coalesce", "concat_ws", "decode", "equal_null", "hash", "if", "iff",
    "ifnull", "is", "is null", "isnotnull", "isnull", "lambda", "map", "named_struct", "nullif",
    "nullsafeneq", "nvl", "nvl2", "raise_error", "struct", "to_csv", "to_json", "xxhash64", "<=>", UNREAD,
))  # fmt: skip
"""SQL that may not be NULL for a column that is NULL, so that what is computed from it could fail."""


def with_good_records(
    outputs: Sequence[Output],
    views: Iterable[Node],
    topics: Mapping[NodeId, TopicSpec],
    earlier: Mapping[NodeId, Output] | None = None,
) -> tuple[Output, ...]:
    """Return the outputs over records that are good for them; `views` are inlined, in topological order.

    `earlier` are results for models that read the same in another plan, if no records are dropped.
    """
    units = PlanUnits(outputs, views)
    marking = _Marking(units, topics)
    reusable = (earlier or {}) if not marking.sources else {}
    marked_outputs: list[Output] = []
    for output in outputs:
        same = reusable.get(output.model)
        if same is not None and same.input is output.input and same.materialization == output.materialization:
            marked_outputs.append(same)
            continue
        model_units = units.below(output.model)
        fails = tuple(read for read in all_reads(model_units).values() if _fails(read, topics))
        marked = marking.marked(units.stored(output.model)) if marking.sources else output
        assert isinstance(marked, Output)
        marked_outputs.append(replace(marked, reads=fails, good=marking.names(model_units)))
    return tuple(marked_outputs)


def _fails(reads: ReadColumns, topics: Mapping[NodeId, TopicSpec]) -> bool:
    topic = topics.get(reads.relation)
    return topic is None or (topic.on_bad_record == "fail" and not topic.unique_by)


class _Marking:
    """Copies the nodes of units with filters of their own; what is equal is copied once."""

    def __init__(self, units: PlanUnits, topics: Mapping[NodeId, TopicSpec]) -> None:
        self.sources = {
            id_: topic
            for id_, topic in topics.items()
            if topic.on_bad_record != "fail" and not topic.unique_by
        }
        self.keyed = {id_ for id_, topic in topics.items() if topic.unique_by}
        self.goods: dict[NodeId, dict[str, RecordValidity]] = {}
        """By source: the columns by which models drop records, by name."""
        self.tops: dict[int, NodeId] = {}
        """The sources, by the `id` of the last node that their readers share."""
        self.inner: dict[int, NodeId] = {}
        """The same for the nodes below these."""
        self.copies: dict[object, Node] = {}
        self.roots: dict[int, Node] = {}
        all_units = units.all if self.sources else ()
        self.units = {id(unit.root): unit for unit in all_units}
        for unit in all_units:
            self._find(unit)

    def _find(self, unit: PlanUnit) -> None:
        readers: dict[int, Node] = {id(input_node): node for node in unit.order for input_node in node.inputs}
        for node in unit.order:
            if not isinstance(node, Decode) or node.relation not in self.sources:
                continue
            topic = self.sources[node.relation]
            top: Node = node
            good = self.good(node.relation, unit)
            self.goods.setdefault(node.relation, {})[good.name] = good
            steps = (Project,) * bool(topic.derived) + (Watermark,) * bool(topic.watermark)
            for kind in steps:
                self.inner[id(top)] = node.relation
                above = readers[id(top)]
                assert isinstance(above, kind), "not a source as it is built"
                top = above
            self.tops[id(top)] = node.relation
            if topic.watermark:
                for _, expression in topic.derived:
                    if _can_fail_on_null(expression):
                        one = good_of(expression.columns)
                        self.goods[node.relation][one.name] = one

    def good(self, relation: NodeId, unit: PlanUnit) -> RecordValidity:
        """Return the column by which a unit drops the records of a source."""
        reads, topic = unit.reads[relation], self.sources[relation]
        # If all of a value is good or bad, it does not matter which columns are read.
        all_or_nothing = format_of(topic.format).single or topic.format.decoding == "lenient"
        names = () if all_or_nothing else tuple(column.name for column in reads.columns)
        return good_of((*names, "_key") if reads.key else names)

    def names(self, units: Sequence[PlanUnit]) -> tuple[str, ...]:
        """Return the columns by which some units drop records."""
        read = ((relation, unit) for unit in units for relation in unit.reads if relation in self.sources)
        return tuple(sorted({self.good(relation, unit).name for relation, unit in read}))

    def marked(self, unit: PlanUnit) -> Node:
        """Return the root of a unit over records that are good for it."""
        if id(unit.root) in self.roots:
            return self.roots[id(unit.root)]
        for view_id in unit.below:
            self.marked(self.units[view_id])
        goods = {relation: self.good(relation, unit) for relation in unit.reads if relation in self.sources}
        new: dict[int, Node] = {view_id: self.roots[view_id] for view_id in unit.below}
        read: dict[int, frozenset[NodeId]] = dict.fromkeys(unit.below, frozenset())
        for node in unit.order:
            if id(node) in new:
                continue
            sources = frozenset[NodeId]().union(*(read[id(input_node)] for input_node in node.inputs))
            if isinstance(node, Decode) and node.relation in goods:
                sources = frozenset((node.relation,))
            read[id(node)] = sources
            key = id(node), tuple(sorted((source, goods[source].name) for source in sources))
            if key not in self.copies:
                self.copies[key] = self._copied(
                    node, [new[id(input_node)] for input_node in node.inputs], goods
                )
            new[id(node)] = self.copies[key]
        self.roots[id(unit.root)] = new[id(unit.root)]
        return new[id(unit.root)]

    def _copied(self, node: Node, inputs: Sequence[Node], goods: Mapping[NodeId, RecordValidity]) -> Node:
        copy = node.with_inputs(*inputs) if inputs else node
        relation = self.inner.get(id(node)) or self.tops.get(id(node))
        if relation is not None:
            copy = self._with_columns(copy, relation)
        elif isinstance(copy, Decode) and copy.relation in self.keyed:
            copy = replace(copy, checks_all_columns=True)
        if id(node) not in self.tops:
            return copy
        assert relation is not None
        good_records = Filter(input=copy, conditions=(goods[relation].expression,))
        items = tuple(column.item for column in node.columns)
        return Project(input=good_records, items=items, label=node.label, models=node.models)

    def _with_columns(self, node: Node, relation: NodeId) -> Node:
        goods = tuple(self.goods[relation][name] for name in sorted(self.goods[relation]))
        match node:
            case Decode():
                return replace(node, good=goods)
            case Project():
                items = [self._guarded(item, relation) for item in node.items]
                return replace(node, items=(*items, *(Item(g.name, g.expression) for g in goods)))
        return node

    def _guarded(self, item: Item, relation: NodeId) -> Item:
        """Keep what a watermark needs from failing on a record that is bad for all that read it."""
        expression = item.expression
        if not self.sources[relation].watermark or expression.column or not _can_fail_on_null(expression):
            return item
        pieces = ("if(", *good_of(expression.columns).expression.pieces, ", ", *expression.pieces, ", null)")
        return Item(item.name, replace(expression, pieces=join_pieces(pieces), nullable=True, atomic=True))


def _can_fail_on_null(expression: Expression) -> bool:
    if expression.functions or not expression.raises:
        return bool(expression.functions)
    return any(_kind(part) in _ON_NULL for part in walk_tree(tree_of(expression)))


def _kind(tree: ExpressionTree) -> str | None:
    match tree:
        case CallTree(name=kind) | OperatorTree(sign=kind) | OtherTree(kind=kind):
            return kind
    return None


def as_written(root: Node) -> Node:
    """Return a node without what this module adds below it."""
    stripped: dict[int, Node] = {}
    for node in in_order((root,)):
        inputs = [stripped[id(input_node)] for input_node in node.inputs]
        match node:
            case Decode():
                stripped[id(node)] = replace(node, input=inputs[0], good=(), checks_all_columns=False)
            case Filter(input=below, conditions=(only,)) if is_good(only):
                stripped[id(node)] = stripped[id(below)]
            case Project(input=Filter(conditions=(only,))) if is_good(only):
                stripped[id(node)] = inputs[0]
            case Project() if any(is_good(item.expression) for item in node.items):
                items = tuple(item for item in node.items if not is_good(item.expression))
                stripped[id(node)] = replace(node, items=items, input=inputs[0])
            case _:
                stripped[id(node)] = node.with_inputs(*inputs) if inputs else node
    return stripped[id(root)]
