"""Unique names for the views that a query's SQL reads."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.plan.nodes import (
    Column,
    Decode,
    Maintained,
    Node,
    SeedScan,
    SourceScan,
    TableScan,
    TemporalJoin,
    TopicScan,
)
from millstream.queries.emit.bad_records import bad_by
from millstream.queries.emit.fuse import unused_name
from millstream.queries.values import ChangesRead, SourceRead, StaticRead, StreamRead, TopicRead


class Views:
    """View names, in the order in which they were requested."""

    def __init__(self) -> None:
        self._names: dict[tuple[NodeId, str], str] = {}

    def of(self, relation: NodeId, kind: str = "") -> str:
        """Return the view of a relation; `kind` distinguishes records or changes from rows at rest."""
        key = (relation, kind)
        if key not in self._names:
            base = relation.last_name + (f"_{kind}" if kind else "")
            self._names[key] = unused_name(base, self._names.values())
        return self._names[key]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names.values())

    def leaf(self, node: Node) -> str | None:
        match node:
            case TopicScan():
                return self.of(node.relation, "records")
            case SourceScan():
                return self.of(node.relation, "rows")
            case TableScan(changes=True):
                return self.of(node.relation, "changes")
            case Maintained():
                return self.of(node.table, "differences")
            case TableScan() | SeedScan() if node.relation:
                return self.of(node.relation)
        return None


def source_reads(
    order: Iterable[Node],
    views: Views,
    with_headers: frozenset[NodeId] = frozenset(),
    good: frozenset[str] = frozenset(),
) -> tuple[StreamRead, ...]:
    """Return the streams that a query reads, in the order in which its SQL names them."""
    records: dict[str, TopicRead] = {}
    rows: dict[str, SourceRead] = {}
    reads: dict[str, StreamRead] = {}
    order = tuple(order)
    versions = {
        version.relation for node in order if isinstance(node, TemporalJoin) for version in node.versions
    }
    for node in order:
        match node:
            case Decode():
                view = views.of(node.relation, "records")
                read = TopicRead(
                    view,
                    node.relation,
                    scan_of(node).topics,
                    node.fields,
                    node.key,
                    node.key_type,
                    node.metadata,
                    node.on_bad_record,
                    headers="_headers" in node.metadata or node.relation in with_headers,
                    bad_by=bad_by(node, good),
                    reads_all=node.relation in versions,
                    pattern=scan_of(node).pattern,
                    history=scan_of(node).history,
                )
                records[view] = read if view not in records else _both(records[view], read)
                reads[view] = records[view]
            case SourceScan():
                view = views.of(node.relation, "rows")
                before = rows[view].columns if view in rows else ()
                columns = merge_columns(before, node.columns)
                rows[view] = SourceRead(
                    view, node.relation, node.kind, columns, node.settings, node.removes_read
                )
                reads[view] = rows[view]
            case TableScan(changes=True):
                view = views.of(node.relation, "changes")
                reads.setdefault(view, ChangesRead(view, node.relation, node.columns))
    return tuple(reads.values())


def scan_of(node: Decode) -> TopicScan:
    """Return the topic below a Decode; filters on raw records may be between them."""
    input_node: Node = node.input
    while not isinstance(input_node, TopicScan):
        (input_node,) = input_node.inputs
    return input_node


def _both(one: TopicRead, other: TopicRead) -> TopicRead:
    """Return one read for two Decodes of the same topic."""
    return replace(
        one,
        columns=merge_columns(one.columns, other.columns),
        key=one.key or other.key,
        metadata=tuple(dict.fromkeys((*one.metadata, *other.metadata))),
        headers=one.headers or other.headers,
        bad_by=None if one.bad_by is None else tuple(sorted({*one.bad_by, *(other.bad_by or ())})),
    )


def merge_columns(one: tuple[Column, ...], other: tuple[Column, ...]) -> tuple[Column, ...]:
    names = {column.name.lower() for column in one}
    return (*one, *(column for column in other if column.name.lower() not in names))


def static_reads(order: Iterable[Node], views: Views) -> tuple[StaticRead, ...]:
    """Return the relations at rest, including those that subqueries read."""
    reads: dict[str, StaticRead] = {}
    for node in order:
        match node:
            case SeedScan() | TableScan(changes=False) if node.relation:
                view = views.of(node.relation)
                before = reads[view].columns if view in reads else ()
                reads[view] = StaticRead(view, node.relation, merge_columns(before, node.columns))
    for node in order:
        for expression in node.expressions:
            for relation in expression.reads:
                view = views.of(relation)
                # The columns that a subquery reads are known only from its text.
                reads[view] = StaticRead(view, relation)
    return tuple(reads.values())
