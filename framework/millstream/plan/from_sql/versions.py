"""Tables that keep versions: their rows have the times from which and until which they are valid."""

from __future__ import annotations

from collections.abc import Container, Iterator

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, Ref
from millstream.core.node_id import NodeId
from millstream.core.types import TIMESTAMP
from millstream.formats.registry import format_of
from millstream.outputs.kinds import VALID_FROM, VALID_TO
from millstream.plan.from_sql.builder import Builder
from millstream.plan.from_sql.catalog import VERSION_COLUMNS, ModelSpec, PlanDiagnostic, TopicSpec
from millstream.plan.from_sql.scope import identity_items
from millstream.plan.from_sql.topics import topic_node
from millstream.plan.from_sql.values import VersionStream
from millstream.plan.nodes import VERSION_PLACE, Item, Node, Project, TableScan, Watermark
from millstream.sql.query import OUTER, From, Scan, Select

_CHANGED_AT = "_changed_at"
_NEVER = Expression(("cast(null as timestamp)",), TIMESTAMP, atomic=True)


def plan_versions(builder: Builder, root: Node) -> Node:
    """Return the rows of a model as versions; without a time of its own, a row is valid from now on."""
    spec, stored = builder.spec, builder.spec.materialization
    if not stored.versions:
        return root
    traits = builder.traits.of(root)
    if traits.mode != "upsert" and not stored.order_by:
        time = next((column.name for column in root.columns if column.type == TIMESTAMP), "")
        message = f"'versions' needs the time of a row: '{spec.name}' reads events, which come in any order"
        remedy = f"set order_by='{time}'" if time else "select a timestamp column, and name it in order_by"
        builder.report_error("MS681", message, remedy, option="versions")
        return root
    if stored.order_by and stored.order_by not in {column.name for column in root.columns}:
        message = f"order_by='{stored.order_by}' names a column that 'versions' adds to the rows"
        builder.report_error("MS681", message, "name a timestamp column of the SELECT", option="order_by")
        return root
    begins = root.column(stored.order_by).expression if stored.order_by else _NEVER
    items = (*identity_items(root), Item(VALID_FROM, begins), Item(VALID_TO, _NEVER))
    project = Project(input=root, items=items, keys=traits.keys, label=root.label, models=root.models)
    return builder.check(project, None)


def joins_of_all_versions(spec: ModelSpec, versioned_relations: Container[NodeId]) -> list[PlanDiagnostic]:
    """Warn about joins that don't say of which time they read a relation with versions."""
    diagnostics: list[PlanDiagnostic] = []
    for select in selects_of(spec.query.at_rest or spec.query):
        versioned = [
            relation
            for relation in (select.relations if len(select.relations) > 1 else ())
            if isinstance(relation.input, Scan) and relation.input.relation in versioned_relations
        ]
        timed = {
            ref.relation.removeprefix(OUTER).lower()
            for ref in (_refs(select) if versioned else ())
            if ref.column.lower() in {VALID_FROM, VALID_TO}
        }
        for relation in versioned:
            if relation.as_of is None and relation.alias.lower() not in timed:
                message = f"this join finds all versions of a row of '{relation.alias}'"
                remedy = f"add to ON: {relation.alias}.{VALID_TO} is null, for the newest version"
                start, stop = relation.start, relation.stop
                diagnostics.append(
                    PlanDiagnostic("MS684", message, remedy, spec.id, start, stop, severity="warning")
                )
    return diagnostics


def reads_end(select: Select, relation: From) -> Expression | None:
    """Return an expression that reads until when the versions of a relation are valid, besides AS OF."""
    for part in _within(select):
        if isinstance(part, Expression) and (part.start, part.stop) != relation.as_of:
            for ref in part.refs:
                alias = ref.relation.removeprefix(OUTER).lower()
                if alias == relation.alias.lower() and ref.column.lower() == VALID_TO:
                    return part
    return None


def selects_of(value: object) -> Iterator[Select]:
    return (part for part in _within(value) if isinstance(part, Select))


def _refs(select: Select) -> Iterator[Ref]:
    return (ref for part in _within(select) if isinstance(part, Expression) for ref in part.refs)


def _within(root: object) -> Iterator[object]:
    """Yield the values that a query is made of, in order and without recursion: it can be nested deeply."""
    pending = [root]
    while pending:
        value = pending.pop()
        yield value
        match value:
            case Expression():
                pass
            case Struct():
                pending += [getattr(value, name) for name in reversed(value.__struct_fields__)]
            case tuple():
                pending += reversed(value)
            case dict():
                pending += reversed(value.values())


def topic_versions(topic: TopicSpec, metadata: tuple[str, ...] = ()) -> Node:
    """Return the records of a reference topic as versions.

    A version begins at the topic's event time. If a record has none, as one that deletes its key, its own
    time counts. A change of a row in a database begins when it was committed. `metadata` comes last.
    """
    of_changes = bool(format_of(topic.format).of_change)
    timed = _with_time_of_change(topic) if of_changes else topic
    node = topic_node(timed, metadata=("_timestamp", *metadata))
    node = node.input if isinstance(node, Watermark) else node  # a version is never late
    begins = node.column(_CHANGED_AT if of_changes else "_timestamp").expression
    if topic.watermark and not of_changes and topic.watermark[0].lower() != "_timestamp":
        time = node.column(topic.watermark[0])
        pieces = ("coalesce(", *time.expression.pieces, ", ", *begins.pieces, ")")
        begins = Expression(pieces, TIMESTAMP, nullable=False)
    items = (
        *(node.column(name).item for name in topic.order),
        Item(VALID_FROM, begins),
        Item(VALID_TO, _NEVER),
        *(node.column(name).item for name in metadata),
    )
    return Project(input=node, items=items, keys=topic.unique_by, label=topic.name)


def _with_time_of_change(topic: TopicSpec) -> TopicSpec:
    """Return a topic with the time at which each change was committed.

    It is the same if a connector sends a change again. A tombstone has none, and ends no version: the change
    before it did.
    """
    derived = (*topic.derived, (_CHANGED_AT, format_of(topic.format).changed_at))
    return replace(topic, derived=derived, order=(*topic.order, _CHANGED_AT))


def version_stream(topic: TopicSpec | None) -> VersionStream | None:
    """Return the versions of a reference topic as a stream, with the places of their records."""
    if topic is None or not topic.versions:
        return None
    delay = topic.watermark[1] if topic.watermark else ""
    rows = topic_versions(topic, VERSION_PLACE)
    return VersionStream(rows, topic.unique_by, VALID_FROM, delay, topic.versions)


def stored_versions(topic: TopicSpec, *, at_rest: bool) -> TableScan:
    """Return the table with the versions of a reference topic, as it is or as it changes."""
    node = topic_node(topic, metadata=())
    keys = {key.lower() for key in topic.unique_by}
    order_columns = (node.column(name) for name in topic.order)
    return TableScan(
        relation=topic.id,
        columns=(
            *(
                column if column.name.lower() in keys else replace(column, nullable=True)
                for column in order_columns
            ),
            *VERSION_COLUMNS,
        ),
        changes=not at_rest,
        keys=() if at_rest else (*topic.unique_by, VALID_FROM),
        label=topic.name,
    )
