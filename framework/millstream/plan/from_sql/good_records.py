"""Lets models drop the records that are bad for them, where bad records are skipped or sent to dead letters.

decode → watermark → …
decode with `_good_…` → watermark → filter `_good_…` → …

So models can share all that is below such a filter, and event time follows all records whose time can be
decoded. Where bad records make a query fail, it fails by what its models read: see `Output.reads`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from millstream.expressions import Expression, joined
from millstream.formats import format_of
from millstream.plan.from_sql.catalog import TopicSpec
from millstream.plan.from_sql.reading import Unit, Units, all_reads
from millstream.plan.nodes import (
    Decode,
    Filter,
    Good,
    Item,
    Node,
    Output,
    Project,
    ReadColumns,
    Watermark,
    good_of,
    is_good,
)
from millstream.plan.nodes.order import in_order

_ON_NULL = re.compile(
    r"\b(coalesce|nvl2?|ifnull|nullif|if|iff|case|decode|isnull|isnotnull|is|raise_error|assert_true|equal_null"
    r"|concat_ws|array|map|struct|named_struct|to_json|to_csv|hash|xxhash64)\b|<=>|->",
    re.IGNORECASE,
)
"""SQL that may not be NULL for a column that is NULL, so that what is computed from it could fail."""


def with_good_records(
    outputs: Sequence[Output],
    views: Iterable[Node],
    topics: Mapping[str, TopicSpec],
    earlier: Mapping[str, Output] | None = None,
) -> tuple[Output, ...]:
    """Return the outputs over records that are good for them; `views` are inlined, in topological order.

    `earlier` are results for models that read the same in another plan, if no records are dropped.
    """
    units = Units(outputs, views)
    marking = _Marking(units, topics)
    known = (earlier or {}) if not marking.sources else {}
    found: list[Output] = []
    for output in outputs:
        same = known.get(output.model)
        if same is not None and same.input is output.input and same.materialization == output.materialization:
            found.append(same)
            continue
        whole = units.below(output.model)
        fails = tuple(each for each in all_reads(whole).values() if _fails(each, topics))
        own = marking.marked(units.stored(output.model)) if marking.sources else output
        assert isinstance(own, Output)
        found.append(replace(own, reads=fails, good=marking.names(whole)))
    return tuple(found)


def _fails(reads: ReadColumns, topics: Mapping[str, TopicSpec]) -> bool:
    topic = topics.get(reads.relation)
    return topic is None or (topic.on_bad_record == "fail" and not topic.unique_by)


class _Marking:
    """Copies the nodes of units with filters of their own; what is equal is copied once."""

    def __init__(self, units: Units, topics: Mapping[str, TopicSpec]) -> None:
        self.sources = {
            id_: topic
            for id_, topic in topics.items()
            if topic.on_bad_record != "fail" and not topic.unique_by
        }
        self.whole = {id_ for id_, topic in topics.items() if topic.unique_by}
        self.goods: dict[str, dict[str, Good]] = {}
        """By source: the columns by which models drop records, by name."""
        self.tops: dict[int, str] = {}
        """The sources, by the `id` of the last node that their readers share."""
        self.inner: dict[int, str] = {}
        """The same for the nodes below these."""
        self.copies: dict[object, Node] = {}
        self.roots: dict[int, Node] = {}
        found = units.all if self.sources else ()
        self.units = {id(unit.root): unit for unit in found}
        for unit in found:
            self._find(unit)

    def _find(self, unit: Unit) -> None:
        readers: dict[int, Node] = {id(each): node for node in unit.order for each in node.inputs}
        for node in unit.order:
            if not isinstance(node, Decode) or node.relation not in self.sources:
                continue
            topic = self.sources[node.relation]
            top: Node = node
            own = self.good(node.relation, unit)
            self.goods.setdefault(node.relation, {})[own.name] = own
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

    def good(self, relation: str, unit: Unit) -> Good:
        """Return the column by which a unit drops the records of a source."""
        reads, topic = unit.reads[relation], self.sources[relation]
        # If all of a value is good or bad, it does not matter which columns are read.
        whole = format_of(topic.format).single or topic.format.decoding == "lenient"
        names = () if whole else tuple(each.name for each in reads.columns)
        return good_of((*names, "_key") if reads.key else names)

    def names(self, found: Sequence[Unit]) -> tuple[str, ...]:
        """Return the columns by which some units drop records."""
        read = ((relation, unit) for unit in found for relation in unit.reads if relation in self.sources)
        return tuple(sorted({self.good(relation, unit).name for relation, unit in read}))

    def marked(self, unit: Unit) -> Node:
        """Return the root of a unit over records that are good for it."""
        if id(unit.root) in self.roots:
            return self.roots[id(unit.root)]
        for each in unit.below:
            self.marked(self.units[each])
        own = {relation: self.good(relation, unit) for relation in unit.reads if relation in self.sources}
        new: dict[int, Node] = {each: self.roots[each] for each in unit.below}
        read: dict[int, frozenset[str]] = dict.fromkeys(unit.below, frozenset())
        for node in unit.order:
            if id(node) in new:
                continue
            sources = frozenset[str]().union(*(read[id(each)] for each in node.inputs))
            if isinstance(node, Decode) and node.relation in own:
                sources = frozenset((node.relation,))
            read[id(node)] = sources
            key = id(node), tuple(sorted((each, own[each].name) for each in sources))
            if key not in self.copies:
                self.copies[key] = self._copied(node, [new[id(each)] for each in node.inputs], own)
            new[id(node)] = self.copies[key]
        self.roots[id(unit.root)] = new[id(unit.root)]
        return new[id(unit.root)]

    def _copied(self, node: Node, inputs: Sequence[Node], own: Mapping[str, Good]) -> Node:
        copy = node.with_inputs(*inputs) if inputs else node
        relation = self.inner.get(id(node)) or self.tops.get(id(node))
        if relation is not None:
            copy = self._with_columns(copy, relation)
        elif isinstance(copy, Decode) and copy.relation in self.whole:
            copy = replace(copy, whole=True)
        if id(node) not in self.tops:
            return copy
        assert relation is not None
        kept = Filter(input=copy, conditions=(own[relation].expression,))
        items = tuple(column.item for column in node.columns)
        return Project(input=kept, items=items, label=node.label, models=node.models)

    def _with_columns(self, node: Node, relation: str) -> Node:
        goods = tuple(self.goods[relation][name] for name in sorted(self.goods[relation]))
        match node:
            case Decode():
                return replace(node, good=goods)
            case Project():
                items = [self._guarded(item, relation) for item in node.items]
                return replace(node, items=(*items, *(Item(g.name, g.expression) for g in goods)))
        return node

    def _guarded(self, item: Item, relation: str) -> Item:
        """Keep what a watermark needs from failing on a record that is bad for all that read it."""
        own = item.expression
        if not self.sources[relation].watermark or own.column or not _can_fail_on_null(own):
            return item
        pieces = ("if(", *good_of(own.columns).expression.pieces, ", ", *own.pieces, ", null)")
        return Item(item.name, replace(own, pieces=joined(pieces), nullable=True, atomic=True))


def _can_fail_on_null(expression: Expression) -> bool:
    text = " ".join(piece for piece in expression.pieces if isinstance(piece, str))
    return bool(expression.functions) or (expression.raises and _ON_NULL.search(text) is not None)


def as_written(root: Node) -> Node:
    """Return a node without what this module adds below it."""
    found: dict[int, Node] = {}
    for node in in_order((root,)):
        inputs = [found[id(each)] for each in node.inputs]
        match node:
            case Decode():
                found[id(node)] = replace(node, input=inputs[0], good=(), whole=False)
            case Filter(input=below, conditions=(only,)) if is_good(only):
                found[id(node)] = found[id(below)]
            case Project(input=Filter(conditions=(only,))) if is_good(only):
                found[id(node)] = inputs[0]
            case Project() if any(is_good(item.expression) for item in node.items):
                items = tuple(item for item in node.items if not is_good(item.expression))
                found[id(node)] = replace(node, items=items, input=inputs[0])
            case _:
                found[id(node)] = node.with_inputs(*inputs) if inputs else node
    return found[id(root)]
