"""Writes all nodes below some roots as CTEs and one SELECT for each root."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Read, Ref, column_expression, quote_name
from millstream.core.node_id import NodeId
from millstream.core.types import UNKNOWN
from millstream.plan.lasting_conditions import lasting_conditions
from millstream.plan.nodes import (
    Aggregate,
    AnyNode,
    Decode,
    Expand,
    Filter,
    Join,
    Lookup,
    MatchedGroups,
    Node,
    Opaque,
    Output,
    Project,
    ReadColumns,
    Repartition,
    SeedScan,
    Union,
    Watermark,
)
from millstream.plan.traits import traits_of
from millstream.queries.emit.above_state import (
    filtered_cross_lookup,
    fuse_lookup,
    guarded_filter,
    guarded_projection,
    is_guarded,
    mark_rows,
)
from millstream.queries.emit.bad_records import (
    DecodeAliases,
    counts_bad,
    with_bad,
    with_bad_flag,
    with_record,
)
from millstream.queries.emit.copies import Leaf
from millstream.queries.emit.decode import decode_records
from millstream.queries.emit.deletes import join_upserts
from millstream.queries.emit.draft import RECORD, Draft, barrier_condition, of_relation
from millstream.queries.emit.error_locations import (
    calls_below,
    locate_expand,
    locate_filter,
    locate_projection,
)
from millstream.queries.emit.fuse import (
    cast_side,
    fuse_aggregate,
    fuse_expand,
    fuse_filter,
    fuse_join,
    fuse_matched,
    fuse_project,
    fuse_watermark,
    unused_in,
    unused_name,
)
from millstream.queries.emit.names import node_name
from millstream.queries.emit.text import EmittedCte, Reads, SelectWriter, write_statement

_WORD = re.compile(r"\w+")


class FinalSelect(Struct, frozen=True):
    """The SELECT of one root over the CTEs."""

    draft: Draft
    reads: Reads

    @property
    def sql(self) -> str:
        return SelectWriter(self.draft, self.reads).text()


class EmittedSql(Struct, frozen=True):
    ctes: tuple[EmittedCte, ...]
    finals: tuple[FinalSelect, ...]

    def statement(self, index: int = 0) -> str:
        """Return one root's rows as a separate statement."""
        return write_statement(self.ctes, self.finals[index].sql)


class NotWritableError(Exception):
    """A node that can't be written as SQL here."""


class EmitOptions(Struct, frozen=True):
    """Options for writing nodes as SQL; nodes are given by their `id`."""

    shared: Mapping[int, str] = {}
    """The hint that repartitions a node's rows once for all its readers."""
    trunks: frozenset[int] = frozenset()
    """Nodes over which each root must be a single SELECT."""
    keep_bad: bool = False
    """Keep records that can't be decoded, with the record in `_bad`."""
    mark_bad: bool = False
    """Keep records that can't be decoded of sources that skip them, marked by `_bad`."""
    records: Literal["", "place", "whole"] = ""
    """Keep each row's record in `_record`: only its position, or the whole record."""
    reserved: tuple[str, ...] = ()
    """Names that no CTE may have."""
    locate_calls: bool = False
    """Pass the row's location to Python functions, unless `records` keeps the record for that."""
    fails_by: Mapping[NodeId, ReadColumns] = {}
    """What makes the query fail if it is bad, by source; by default, all that is decoded."""
    drops_by: frozenset[str] = frozenset()
    """The columns by which the models of the query drop bad records."""
    sends_by: frozenset[str] = frozenset()
    """With `keep_bad`: the columns by which models drop bad records."""
    without_deletes: frozenset[str] = frozenset()
    """Views of upsert relations without deletes: they have no column `_deleted`."""


def emit_sql(
    roots: Sequence[Node],
    leaf: Leaf,
    *,
    deletes: bool = False,
    reads: Reads | None = None,
    how: EmitOptions | None = None,
) -> EmittedSql:
    """Return the SQL of some nodes.

    `deletes` keeps rows of upsert relations that no longer match, with `_deleted` true; leaves that are
    upsert relations then have this column.
    """
    reads = reads or (lambda relation: relation.last_name)
    return _Writer(leaf, reads, how or EmitOptions(), deletes=deletes).write(roots)


class _Writer:
    def __init__(self, leaf: Leaf, reads: Reads, how: EmitOptions, *, deletes: bool) -> None:
        self.leaf = leaf
        self.deletes = deletes
        self.reads = reads
        self.how = how
        self.ctes: list[EmittedCte] = []
        self.used = {name.lower() for name in how.reserved}
        self.drafts: dict[int, Draft] = {}

    def write(self, roots: Sequence[Node]) -> EmittedSql:
        leaves: dict[int, str] = {}
        order = list(_below(roots, self.leaf, leaves))
        self.used |= {name.lower() for name in (*leaves.values(), *read_names(order, self.reads))}
        readers = Counter(map(id, roots))
        readers.update(
            id(input_node) for node in order if id(node) not in leaves for input_node in node.inputs
        )
        merged = {
            id(node.inputs[0])
            for node in order
            if filtered_cross_lookup(node) is not None and readers[id(node.inputs[0])] == 1
            if not leaves.keys() & {id(node), id(node.inputs[0])} and not self.upsert(node)
        }
        for node in order:
            if id(node) in merged:
                continue
            if (name := leaves.get(id(node))) is not None:
                draft = self._relation(name, node)
            else:
                draft = self._draft(node)
            if id(node) in self.how.shared:
                draft = self._together(draft, node)
            elif id(node) in self.how.trunks:
                draft = replace(draft if draft.plain else self.closed(draft, node), freely=True)
            elif readers[id(node)] > 1 and not draft.plain and not draft.freely:
                draft = self.closed(draft, node)
            self.drafts[id(node)] = draft
        return EmittedSql(
            tuple(self.ctes), tuple(FinalSelect(self.drafts[id(root)], self.reads) for root in roots)
        )

    # -- drafts become CTEs when nothing more fits into them

    def closed(self, draft: Draft, node: Node, name: str = "") -> Draft:
        """Move a SELECT to a CTE, and return the SELECT of its columns."""
        name = unused_in(name or node_name(node), self.used)
        self.used.add(name.lower())
        models = (model.last_name for model in node.models)
        comment = ", ".join(model for model in models if model != name)
        self.ctes.append(EmittedCte(name, SelectWriter(draft, self.reads).text(), comment))
        return of_relation(name, draft.items.items(), deleted=draft.deleted is not None)

    def _together(self, draft: Draft, node: Node) -> Draft:
        """Repartition rows once: Spark runs a non-deterministic CTE once for all its readers."""
        if draft.body or draft.keys is not None or draft.laterals:
            draft = self.closed(draft, node.inputs[0] if node.inputs else node)
        return self.closed(
            replace(draft, where=(*draft.where, barrier_condition()), hint=self.how.shared[id(node)]), node
        )

    def _relation(self, name: str, node: Node) -> Draft:
        columns = ((column.name, column) for column in node.columns)
        draft = of_relation(name, columns, deleted=self.upsert(node) and name not in self.how.without_deletes)
        if self.how.records and isinstance(node, Decode):
            record = replace(column_expression(RECORD, UNKNOWN), pieces=(Ref(RECORD, name),))
            draft = replace(draft, items={**draft.items, RECORD: record})
        return draft

    def upsert(self, node: Node) -> bool:
        return self.deletes and traits_of(node).mode == "upsert"

    # -- node by node

    def _draft(self, node: Node) -> Draft:
        any_node: AnyNode = node  # type: ignore[assignment]  # the union names all subclasses
        match any_node:
            case Output() | Repartition():
                return self.drafts[id(any_node.input)]
            case Filter() if id(any_node.input) not in self.drafts:
                lookup = filtered_cross_lookup(any_node)
                assert lookup is not None
                return self._joined(lookup)
            case MatchedGroups():
                return self._over(any_node.input, lambda d: fuse_matched(d, any_node))
            case Filter():
                located = locate_filter(any_node) if self._locates_calls else any_node
                guarded = (
                    guarded_filter(located) if is_guarded(any_node) and not self.upsert(any_node) else located
                )
                deletes = self.upsert(any_node)
                lasting = lasting_conditions(any_node) if deletes else ()
                return self._over(
                    any_node.input, lambda d: fuse_filter(d, guarded, deletes=deletes, lasting=lasting)
                )
            case Project():
                keys = traits_of(any_node).keys if self.deletes else ()
                located_items = locate_projection(any_node) if self._locates_calls else any_node
                items = guarded_projection(located_items) if is_guarded(any_node) else located_items
                return self._over(any_node.input, lambda d: fuse_project(d, items, keys))
            case Aggregate() if self.how.locate_calls and (lifted := calls_below(any_node)) is not None:
                calling, over = lifted
                draft = self._over(any_node.input, lambda d: fuse_project(d, calling, ()))
                return self._over(calling, lambda d: fuse_aggregate(d, over), draft)
            case Aggregate():
                return self._over(any_node.input, lambda d: fuse_aggregate(d, any_node))
            case Expand():
                rows = locate_expand(any_node) if self._locates_calls else any_node
                return self._over(any_node.input, lambda d: fuse_expand(d, rows))
            case Watermark():
                return self._over(any_node.input, lambda d: fuse_watermark(d, any_node))
            case Join() | Lookup():
                return self._joined(any_node)
            case Decode():
                return self._decoded(any_node)
            case Union():
                return self._united(any_node)
            case Opaque():
                return self._opaque(any_node)
            case SeedScan() if not any_node.relation:
                return Draft({})
            case _:
                raise NotWritableError(
                    f"{type(node).__name__.lower()} {node_name(node)} has no SQL, and no view replaces it"
                )

    def _over(self, node: Node, fuse: Callable[[Draft], Draft | None], draft: Draft | None = None) -> Draft:
        """Fuse a node with the SELECT of its input; if that fails, with a CTE of the input."""
        draft = draft or self.drafts[id(node)]
        fused = fuse(draft)
        if fused is None:
            fused = fuse(self.closed(draft, node))
        if fused is None:
            raise NotWritableError(f"an expression over {node_name(node)} can't be written")
        return fused

    @property
    def _locates_calls(self) -> bool:
        return self.how.locate_calls and not self.how.records

    def _decoded(self, node: Decode) -> Draft:
        draft = self.drafts[id(node.input)]
        used = [*self.used, *draft.aliases]
        value = unused_name(self.reads(node.relation), used)
        records = draft.sources[0].alias
        aliases = DecodeAliases(records, value, unused_name(f"{value}_key", [*used, value]))
        keep_bad = self.how.keep_bad and node.on_bad_record == "dead_letter"
        mark_bad = self.how.mark_bad and counts_bad(node) and not node.good
        good, reads = not (keep_bad or mark_bad), self.how.fails_by.get(node.relation)
        decoded = decode_records(draft, node, aliases, deletes=self.deletes, good=good, reads=reads)
        decoded = with_bad(decoded, node, aliases, self.how.sends_by) if keep_bad else decoded
        decoded = with_bad_flag(decoded, node, aliases) if mark_bad else decoded
        if not self.how.records:
            return decoded
        return with_record(decoded, records, for_dead_letters=self.how.records == "whole")

    def _joined(self, node: Join | Lookup) -> Draft:
        left, right = self.drafts[id(node.left)], self.drafts[id(node.right)]
        if not right.plain:
            right = self.closed(right, node.right)
        if self.upsert(node) and node.kind in {"inner", "cross", "semi", "anti"}:
            left = left if left.plain else self.closed(left, node.left)
            return join_upserts(self.closed, left, right, node)
        if isinstance(node, Lookup) and is_guarded(node) and not self.upsert(node):
            right = mark_rows(self.closed, right, node) if node.kind == "inner" else right
            joined = fuse_lookup(left, right, node) or fuse_lookup(self.closed(left, node.left), right, node)
        else:
            joined = fuse_join(left, right, node) or fuse_join(self.closed(left, node.left), right, node)
        if joined is None:
            raise NotWritableError(f"a join with {node_name(node.right)} can't be written")
        return joined

    def _united(self, node: Union) -> Draft:
        sides: list[str] = []
        for side in node.sides:
            draft = self.drafts[id(side)]
            items = {name: cast_side(draft.items[name], node, i) for i, name in enumerate(side.names)}
            sides.append(SelectWriter(replace(draft, items=items), self.reads).text())
        columns = {column.name: column.expression for column in node.columns}
        union = Draft(columns, body="\nunion all\n".join(sides))
        return self.closed(union, node)

    def _opaque(self, node: Opaque) -> Draft:
        names: dict[NodeId, str] = {}
        words = _words(node)
        for relation, input_node in zip(node.relations, node.reads, strict=True):
            draft = self.drafts[id(input_node)]
            if not draft.plain or tuple(draft.items) != tuple(
                expression.column for expression in draft.items.values()
            ):
                draft = self.closed(draft, input_node, unused_in(node_name(input_node), words))
            elif draft.sources[0].name.lower() in words:
                # A CTE within the opaque SQL may have this name, and would be read instead.
                draft = self.closed(draft, input_node, unused_in(draft.sources[0].name, words))
            names[relation] = draft.sources[0].name
        parts = []
        for piece in node.pieces:
            match piece:
                case Read():
                    parts.append(quote_name(names.get(piece.relation) or self.reads(piece.relation)))
                case Ref():
                    parts.append(quote_name(piece.column))
                case _:
                    parts.append(piece)
        columns = {column.name: column.expression for column in node.columns}
        return self.closed(Draft(columns, body="".join(parts).strip()), node)


def _words(node: Opaque) -> set[str]:
    """Return everything that could be a name within opaque SQL, in lower case."""
    return {word.lower() for piece in node.pieces if isinstance(piece, str) for word in _WORD.findall(piece)}


def read_names(nodes: Iterable[Node], reads: Reads) -> Iterator[str]:
    """Yield the views that subqueries read: a CTE of such a name would be read instead."""
    for node in nodes:
        for expression in node.expressions:
            yield from map(reads, expression.reads)


def _below(roots: Iterable[Node], leaf: Leaf, leaves: dict[int, str]) -> Iterable[Node]:
    """Yield nodes, inputs first; nodes below a view are skipped."""
    done: set[int] = set()
    for root in roots:
        waiting: list[tuple[Node, bool]] = [(root, False)]
        while waiting:
            node, ready = waiting.pop()
            if id(node) in done:
                continue
            if ready:
                done.add(id(node))
                yield node
                continue
            if id(node) not in leaves and (name := leaf(node)) is not None:
                leaves[id(node)] = name
            waiting.append((node, True))
            if id(node) not in leaves:
                waiting += [(child, False) for child in reversed(node.inputs)]
