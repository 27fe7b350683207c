"""Operations that SQL can't express become separate steps: a sequence of views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

from msgspec import Struct, field
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.plan.join_times import is_window
from millstream.plan.nodes import Column, Decode, Dedupe, Node, Stateful, TemporalJoin, Watermark
from millstream.plan.nodes.order import in_order
from millstream.queries.emit.bad_records import counts_bad, read_goods
from millstream.queries.emit.copies import Leaf, own_copies, reached_nodes
from millstream.queries.emit.fuse import unused_name
from millstream.queries.emit.names import node_name
from millstream.queries.emit.text import Reads
from millstream.queries.emit.walk import EmitOptions, EmittedSql, emit_sql, read_names


class SqlView(Struct, frozen=True, tag="sql"):
    name: str
    sql: str


class DedupeView(Struct, frozen=True, tag="dedupe"):
    """`dropDuplicates` of a view, or `dropDuplicatesWithinWatermark` if keys expire; or an exact one."""

    name: str
    of: str
    keys: tuple[str, ...]
    within: str | None = None
    by_position: bool = False
    """The keys are a sender's partition and an offset there; rows without an offset all pass."""
    exact_by: str = ""
    """The event time of an exact one."""
    position_columns: tuple[str, ...] = field(default=(), name="place")
    """The columns with a row's partition and offset."""


class WindowView(Struct, frozen=True, tag="window"):
    """A view whose event time is a window: its watermark follows the last instant of each window.

    SQL's `WATERMARK` of a struct reads the wrong bytes as the time (EventTimeWatermarkExec).
    """

    name: str
    of: str
    window: str
    delay: str
    copy: int = 0


class StatefulView(Struct, frozen=True, tag="stateful"):
    """A Python function with keyed state over a view: `groupBy(keys)` and `transformWithState`."""

    name: str
    of: str
    function: str
    keys: tuple[str, ...]
    columns: tuple[Column, ...] = field(name="made")
    ttl: str | None = None
    """How long the state of a key is kept after its last row."""
    time: str | None = None
    """The event time by which it expires; None: the clock."""
    times: str = ""
    """The column of `of` with the time of a row's record; the last one of `columns` is then the newest."""


class TemporalView(Struct, frozen=True, tag="temporal"):
    """The rows of a view, each with the version of another view that was valid at its time."""

    name: str
    of: str
    versions: str
    """Has `_deleted`."""
    pairs: tuple[tuple[str, str], ...]
    """The columns of both that are equal."""
    time: str
    begins: str
    wait: int
    """How many milliseconds after the watermark has passed its time a row leaves."""
    keep: int | None
    """How many milliseconds after its end a version is dropped."""
    left: tuple[tuple[str, str], ...]
    """The columns of joined rows by those of `of`, each with its name."""
    right: tuple[tuple[str, str], ...]
    outer: bool
    """Rows without a version remain."""


class CountedView(Struct, frozen=True, tag="counted"):
    """The decoded rows of a view; bad records are counted."""

    name: str
    of: str
    relation: NodeId
    """The source."""
    good: tuple[str, ...] = ()
    """The columns by which models drop bad records; without any, the view itself drops those with `_bad`."""


Step = SqlView | DedupeView | WindowView | StatefulView | TemporalView | CountedView


class SteppedSql(Struct, frozen=True):
    """The views in their order, and the final SQL over them."""

    steps: tuple[Step, ...]
    emitted: EmittedSql


def in_steps(
    roots: Sequence[Node],
    leaf: Leaf,
    *,
    deletes: bool = False,
    reads: Reads | None = None,
    how: EmitOptions | None = None,
) -> SteppedSql:
    """Return the SQL of some nodes, split into steps where SQL is not enough."""
    how = how or EmitOptions()
    roots, copies = own_copies(roots, leaf, how.trunks | how.shared.keys())
    how = replace(how, trunks=frozenset(id(copies[key]) if key in copies else key for key in how.trunks))
    order = in_order(roots)
    # A deleted row ends the version before it.
    deletes = deletes or any(isinstance(node, TemporalJoin) for node in order)
    if not any(_is_step(node) or counts_bad(node) for node in order):
        return SteppedSql((), emit_sql(roots, leaf, deletes=deletes, reads=reads, how=how))
    names: dict[int, str] = {}
    used = [*how.reserved, *(name for node in order if (name := leaf(node)) is not None)]
    used += read_names(order, reads) if reads else ()
    below = reached_nodes(roots, leaf)

    def name_of(node: Node) -> str | None:
        return names.get(id(node)) or leaf(node)

    def write(node: Node, shared: Mapping[int, str]) -> EmittedSql:
        return emit_sql((node,), name_of, deletes=deletes, reads=reads, how=replace(how, shared=shared))

    def named(node: Node) -> str:
        name = unused_name(node_name(node), used)
        used.append(name)
        return name

    steps: list[Step] = []
    for node in order:
        if id(node) not in below or name_of(node) is not None:
            continue
        if id(node) in how.shared:
            # Spark analyses a view once, so all its readers share the same rows.
            emitted = write(node, {id(node): how.shared[id(node)]})
            names[id(node)] = name = named(node)
            steps.append(SqlView(name, emitted.statement()))
        elif isinstance(node, Decode) and counts_bad(node):
            good = tuple(validity.name for validity in read_goods(node, how.drops_by) or node.good)
            bad_options = replace(how, mark_bad=True, trunks=frozenset[int]())
            emitted = emit_sql((node,), name_of, deletes=deletes, reads=reads, how=bad_options)
            names[id(node)] = name = named(node)
            decoded = unused_name(f"{name}_decoded", used)
            used.append(decoded)
            steps += [SqlView(decoded, emitted.statement()), CountedView(name, decoded, node.relation, good)]
        elif _is_step(node):
            input_views = [
                name_of(child) or _input(write(child, {}), child, named, steps) for child in node.inputs
            ]
            names[id(node)] = name = named(node)
            steps.append(_step(node, name, *input_views))
    last = replace(how, shared={}, reserved=tuple(used))
    return SteppedSql(tuple(steps), emit_sql(roots, name_of, deletes=deletes, reads=reads, how=last))


def _is_step(node: Node) -> TypeGuard[Dedupe | Stateful | TemporalJoin | Watermark]:
    return isinstance(node, Dedupe | Stateful | TemporalJoin) or (
        isinstance(node, Watermark) and is_window(node.column(node.time).type)
    )


def _input(emitted: EmittedSql, node: Node, named: Callable[[Node], str], steps: list[Step]) -> str:
    """Return the view that a step reads: an existing one if it is unchanged, otherwise a new one."""
    draft = emitted.finals[0].draft
    if (
        draft.plain
        and not emitted.ctes
        and all(expression.column == n for n, expression in draft.items.items())
    ):
        return draft.sources[0].name
    name = named(node)
    steps.append(SqlView(name, emitted.statement()))
    return name


def _step(node: Dedupe | Stateful | TemporalJoin | Watermark, name: str, of: str, other: str = "") -> Step:
    match node:
        case TemporalJoin():
            return _temporal(node, name, of, other)
        case Watermark():
            return WindowView(name, of, node.time, node.delay, node.copy)
        case Dedupe():
            return DedupeView(
                name, of, node.keys, node.within, node.by_position, node.exact_by, node.position_columns
            )
        case Stateful():
            return StatefulView(
                name, of, node.function, node.keys, node.generated, node.ttl, node.time, node.times
            )


def _temporal(node: TemporalJoin, name: str, of: str, versions: str) -> TemporalView:
    left, right = (
        tuple((column.source, column.name) for column in node.joined if column.side == side)
        for side in ("left", "right")
    )
    return TemporalView(
        name,
        of,
        versions,
        node.pairs,
        node.time,
        node.begins,
        node.wait,
        None if node.keep is None else node.keep + node.wait + node.waited,
        left,
        right,
        outer=node.kind == "left",
    )
