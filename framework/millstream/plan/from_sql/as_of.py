"""FOR SYSTEM_TIME AS OF the event time of a stream: what it compares, waits for and keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from millstream.core.expressions import Expression, Ref, all_of, quote_name
from millstream.core.types import BIGINT, BOOLEAN, INT, SMALLINT, TIMESTAMP, TINYINT, Type
from millstream.outputs.kinds import VALID_TO
from millstream.plan.durations import duration_millis
from millstream.plan.from_sql.equalities import columns_in_sql, equal_columns, suggested_equality
from millstream.plan.from_sql.scope import PlanScope, identity_items, unused_name
from millstream.plan.from_sql.values import Span, VersionStream
from millstream.plan.from_sql.versions import reads_end
from millstream.plan.nodes import Column, Filter, Item, JoinColumn, Node, Project, TemporalJoin
from millstream.plan.nodes.order import in_order
from millstream.plan.unbounded import watermark_clause
from millstream.sql.query import From, Select

_INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)

JoinProblem = tuple[str, str, str, Span]
"""Code, message, remedy and location."""


class AsOf(Struct, frozen=True):
    """The parts of ON."""

    pairs: tuple[tuple[str, str], ...]
    """The columns of both sides that are compared by `=`."""
    on: tuple[Expression, ...]
    """These comparisons, and that of the event time with the time from which a version is valid."""
    others: tuple[Expression, ...]
    time: str
    """The column of the left side after AS OF."""
    clause: Expression


def split_as_of(on: Sequence[Expression], relation: From, joined: Sequence[JoinColumn], begins: str) -> AsOf:
    """Return the parts of ON, whose columns have their names in the join; `begins` is one of them."""
    sides = {column.name: column for column in joined}
    clause = next(
        bound for bound, written in zip(on, relation.on, strict=True) if _is_clause(written, relation)
    )
    conditions = [
        bound for bound, written in zip(on, relation.on, strict=True) if not _is_clause(written, relation)
    ]
    compared = [(condition, equal_columns(condition, sides)) for condition in conditions]
    time = next((ref.column for ref in clause.refs if ref.column != begins), begins)
    valid = Expression((Ref(begins), " <= ", Ref(time)), BOOLEAN)
    return AsOf(
        tuple(pair for _, pair in compared if pair),
        (*(condition for condition, pair in compared if pair), valid),
        tuple(condition for condition, pair in compared if not pair),
        sides[time].source if sides[time].side == "left" else "",
        clause,
    )


def _is_clause(written: Expression, relation: From) -> bool:
    return (written.start, written.stop) == relation.as_of


def check_as_of(
    scope: PlanScope,
    as_of: AsOf,
    events: Node,
    versions: VersionStream,
    times: Mapping[str, str],
    relation: From,
    select: Select,
) -> Iterator[JoinProblem]:
    """Yield what prevents a stream from joining versions; `times` are its event times with their delays."""
    named = {column.name: column for column in events.columns}
    if not times:
        timestamps = [column.name for column in events.columns if column.type == TIMESTAMP]
        time = as_of.time if as_of.time in timestamps else next(iter(timestamps), "at")
        message = "a stream waits for late versions by its event time, and these rows have none"
        remedy = (
            f"write {watermark_clause(time)} after the relation in FROM, or add a `watermark` to its source"
        )
        yield "MS690", message, remedy, as_of.clause
    elif as_of.time not in times:
        time_columns = " or ".join(f"`{name}`" for name in times)
        message = f"a stream can only join as of its event time, which is {time_columns}"
        remedy = f"write FOR SYSTEM_TIME AS OF {_in_sql(scope, next(iter(times)))}"
        yield "MS691", message, remedy, as_of.clause
    compared = {right.lower(): left for left, right in as_of.pairs}
    if missing := [key for key in versions.keys if key.lower() not in compared]:
        shown = ", ".join(missing)
        message = f"ON must compare the key of '{relation.alias}' with columns of the stream by =: {shown}"
        yield "MS692", message, _comparison(scope, events, versions, missing, relation), relation
    for left, right in as_of.pairs:
        one, other = named[left].type, versions.rows.column(right).type
        # Without a comparison of the key, this one may be what is wrong about it.
        if not _are_alike(one, other) and (not missing or right in versions.keys):
            message = f"'{left}' is {one}, and '{right}' of '{relation.alias}' is {other}"
            remedy = f"compare a column that a subquery in FROM computes: cast({quote_name(left)} as {other})"
            yield "MS692", message, remedy, relation
    if (end := reads_end(select, relation)) is not None:
        version = f"its version of '{relation.alias}'"
        message = f"when a row leaves the join, it is not known until when {version} is valid"
        remedy = f"leave out {VALID_TO}: select the other columns"
        yield "MS693", message, remedy, end if end.stop else relation


def _are_alike(one: Type, other: Type) -> bool:
    return one == other or (one in _INTEGERS and other in _INTEGERS)


def _in_sql(scope: PlanScope, column: str) -> str:
    """Return a column of the stream as the SELECT can name it."""
    for (alias, name), node_column in scope.names.items():
        if node_column.name == column:
            return f"{quote_name(alias)}.{quote_name(name)}" if alias else quote_name(name)
    return quote_name(column)


def _comparison(
    scope: PlanScope, events: Node, versions: VersionStream, keys: Sequence[str], relation: From
) -> str:
    left = columns_in_sql(scope, events.names, ())
    right = [
        (f"{quote_name(relation.alias)}.{quote_name(key)}", versions.rows.column(key).type, False)
        for key in keys
    ]
    equality = suggested_equality(right, left)
    return f"add to ON: {equality}" if equality else "select the key for the stream, and compare it in ON"


def version_wait(delay: str | None, versions: VersionStream) -> int:
    """Return how much later than a stream's records those of versions can be, in milliseconds."""
    late = duration_millis(versions.delay) if versions.delay else 0
    return max(0, late - (duration_millis(delay) if delay else 0))


def rows_waited(events: Node) -> int:
    """Return for how long rows of a stream may have waited in other such joins, in milliseconds."""
    return sum(node.wait for node in in_order((events,)) if isinstance(node, TemporalJoin))


def version_retention(versions: VersionStream) -> int | None:
    """Return for how long versions are kept after their end, in milliseconds."""
    return None if versions.keep == "all" else duration_millis(versions.keep)


def restrict_versions(node: TemporalJoin, conditions: tuple[Expression, ...]) -> Node:
    """Return joined rows whose versions also meet other conditions: without them, they have no version."""
    if not conditions:
        return node
    if node.kind == "inner":
        return Filter(input=node, conditions=conditions, models=node.models)
    name = unused_name("matches", node.names)
    condition = all_of(conditions, BOOLEAN)
    tested = Project(input=node, items=(*identity_items(node), Item(name, condition)), models=node.models)
    sides = node.by_joined
    items = tuple(
        column.item if sides[column.name.lower()].side == "left" else _if(name, column)
        for column in node.columns
    )
    return Project(input=tested, items=items, models=node.models)


def _if(condition: str, column: Column) -> Item:
    pieces = ("if(", Ref(condition), ", ", Ref(column.name), ", null)")
    return Item(column.name, Expression(pieces, column.type, atomic=True))
