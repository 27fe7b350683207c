"""Builds the nodes of FROM: scans, lookups of rows at rest, joins of streams, generated rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from millstream.core.errors import did_you_mean
from millstream.core.expressions import Expression, Ref, quote_name
from millstream.core.types import BOOLEAN, TIMESTAMP
from millstream.plan.durations import duration_millis
from millstream.plan.from_sql import as_of
from millstream.plan.from_sql.builder import Builder
from millstream.plan.from_sql.equalities import (
    columns_in_sql,
    conditions_on,
    equal_columns,
    has_equality,
    matches_by_equality,
    suggested_equality,
)
from millstream.plan.from_sql.maintained import join_of_tables
from millstream.plan.from_sql.maintaining import can_be_maintained
from millstream.plan.from_sql.scope import PlanScope, added_name, identity_items, unused_name
from millstream.plan.from_sql.values import Span, VersionStream
from millstream.plan.join_times import Side, dropped_sides, is_window, with_hidden_bounds
from millstream.plan.nodes import (
    Column,
    Expand,
    Item,
    Join,
    JoinColumn,
    JoinKind,
    Lookup,
    Node,
    Project,
    Repartition,
    Stateful,
    TemporalJoin,
)
from millstream.plan.ttl import only_time
from millstream.plan.unbounded import join_bound
from millstream.sql.query import Cte, DerivedTable, From, GeneratedRows, Scan, Select
from millstream.sql.trees import called_functions

_MIRRORED: dict[JoinKind, JoinKind] = {"inner": "inner", "cross": "cross", "right": "left"}
"""The join with swapped sides, if the relation at rest comes first."""


class FromBuilder:
    """Builds the FROM clause of one SELECT and fills its scope."""

    def __init__(self, builder: Builder, scope: PlanScope) -> None:
        self.builder = builder
        self.scope = scope
        self.models = (builder.spec.id,)

    @property
    def _state(self) -> Mapping[str, Any]:
        return self.builder.spec.options.get("state") or {}

    @property
    def _ttl(self) -> str | None:
        ttl: str | None = self._state.get("ttl")
        return ttl

    def _expires_by(self, node: Node) -> str | None:
        """Return the event time by which a function's state expires; None: the clock, or an error follows."""
        if not self._ttl or self._state.get("ttl_by") != "event_time":
            return None
        return only_time(node, self.builder.traits.of(node))

    def node(self, select: Select) -> Node:
        streams = any(self.builder.streams(relation.input) for relation in select.relations)
        node: Node | None = None
        for relation in select.relations:
            if isinstance(relation.input, GeneratedRows):
                node = self._expand(self._or_one_row(node), relation, relation.input)
                if relation.input.function in self.builder.around.keyed:
                    self._check_keyed(select, relation, relation.input.function)
                continue
            at_rest = streams or (node is not None and not self._brings_rows(node, relation))
            added = self._input(relation, at_rest=at_rest)
            node = self._join(node, added, relation, select) if node else self._first(added, relation)
        return self._or_one_row(node)

    def _brings_rows(self, before: Node, relation: From) -> bool:
        """Return whether rows arrive from a relation, because only seeds come before it in FROM.

        A table over tables does without: it is kept equal to its SQL. A view stays at rest for its readers.
        """
        spec = self.builder.spec
        return (
            bool(spec.materialization.stored_as)
            and (relation.join or "cross") in _MIRRORED
            and self.builder.mode(before) == "static"
            and not self.builder.traits.of(before).looks_up
            and not can_be_maintained(spec, self.builder.around)
        )

    def _check_keyed(self, select: Select, relation: From, function: str) -> None:
        """Reject columns of the input of a function with state, whose rows are not the input rows."""
        read = [item.expression for item in (*select.items, *(select.keys or ()))]
        for expression in (*read, *(measure.call for measure in select.measures), *select.where):
            for ref in expression.refs:
                if ref.relation and ref.relation.lower() != relation.alias.lower():
                    message = f"rows of {function}() only have the columns that it yields, not '{ref.column}'"
                    remedy = (
                        f"also yield '{ref.column}' in {function}(), and select {relation.alias}.{ref.column}"
                    )
                    self.builder.report_error("MS542", message, remedy, expression.start, expression.stop)

    def _check_row(self, node: Node, generated: GeneratedRows) -> None:
        """Reject a function with state whose rows have fields that are no columns of its input."""
        names = {name.lower(): name for name in node.names}
        fields = self.builder.around.row_fields.get(generated.function, frozenset())
        for name in sorted(fields - names.keys()):
            where = "a column of the rows that it is called on"
            message = f"{generated.function}() reads '{name}', which is not {where}"
            remedy = did_you_mean(name, names.values(), f"columns: {', '.join(names.values())}")
            call = generated.call
            self.builder.report_error("MS877", message, remedy, call.start, call.stop)

    def _or_one_row(self, node: Node | None) -> Node:
        return node if node is not None else self.builder.one_row()

    def _input(self, relation: From, *, at_rest: bool) -> Node:
        match relation.input:
            case Scan(relation=id_):
                node = self.builder.relation(id_, at_rest=at_rest)
            case Cte(name=name):
                node = self.builder.ctes[name]
            case DerivedTable(query=query):
                node = self.builder.body(query)
            case GeneratedRows():
                raise TypeError(relation)
        return self._watermark(node, relation)

    def _watermark(self, node: Node, relation: From) -> Node:
        if relation.watermark is None:
            return node
        expression, delay = relation.watermark
        scope = PlanScope()
        self._add(scope, relation, {column.name: column for column in node.columns}, node)
        time = scope.bind(expression)
        name = time.column
        if name is None:
            name = unused_name("event_time", node.names)
            node = Project(input=node, items=(*identity_items(node), Item(name, time)), models=self.models)
        return self.builder.timed(node, name, delay, relation.start, relation.stop)

    def _add(self, scope: PlanScope, relation: From, names: dict[str, Column], node: Node) -> None:
        """Add a relation's columns: by position, since an alias, `as t(a, b)`, may rename them.

        A model that is read can have more columns, or another order of them, than when this SQL was compiled.
        """
        if isinstance(relation.input, Scan):
            # Rows at rest lack the metadata of records.
            read = [node.by_name.get(written.lower()) for written in relation.columns]
        else:
            read = [*node.columns]
        for written, column in zip(relation.columns, read, strict=False):
            if column is not None:
                scope.add(relation.alias, written, names[column.name])

    def _first(self, node: Node, relation: From) -> Node:
        self._add(self.scope, relation, {column.name: column for column in node.columns}, node)
        return node

    # -- joins

    def _join(self, left: Node, right: Node, relation: From, select: Select) -> Node:
        kind = relation.join or "cross"
        modes = self.builder.mode(left), self.builder.mode(right)
        if modes[0] == "static" != modes[1] and kind in _MIRRORED:
            return self._lookup(right, left, relation, select, _MIRRORED[kind], swapped=True)
        if modes[1] == "static" and (modes[0] == "static" or kind not in {"right", "full"}):
            return self._lookup(left, right, relation, select, kind, swapped=False)
        if "static" in modes:
            side = "right" if modes[1] == "static" else "left"
            rows, until = (
                ("rows", "it is never known which rows get a match later")
                if kind == "semi"
                else ("the unmatched rows", "it is never known which rows stay unmatched")
            )
            message = (
                f"a {kind} join returns {rows} of the {side} side, which is at rest: over a stream, {until}"
            )
            remedy = f"write {'an inner' if kind == 'semi' else 'a left'} join from the stream to the table"
            self.builder.report_error(
                "MS513", message, remedy, relation.start or select.start, relation.stop or select.stop
            )
        node = self._streams(left, right, relation, kind)
        if relation.as_of is not None:
            self._refuse_as_of(relation.as_of)
        if "static" not in modes:
            node = self._ended(node)
            node = with_hidden_bounds(node, self._joined_times(node))
            times = self._times(node)
            if "upsert" not in modes:
                self._check_join(node, relation, times, select)
            self.builder.add_state(node, relation, (), times)
        return self._finished(node, relation if relation.stop else select)

    def _lookup(
        self, stream: Node, table: Node, relation: From, select: Select, kind: JoinKind, *, swapped: bool
    ) -> Node:
        if relation.as_of is not None and self.builder.mode(stream) == "append" and kind in {"inner", "left"}:
            versions = (
                self.builder.around.versions(relation.input.relation)
                if isinstance(relation.input, Scan)
                else None
            )
            if versions is not None:
                return self._as_of(stream, versions, relation, select, kind)
        joined, names = self._columns(stream, table, relation, added="left" if swapped else "right")
        self._add_side(stream if swapped else table, relation, names, "left" if swapped else "right")
        on = self._on(relation)
        node = Lookup(left=stream, right=table, kind=kind, on=on, joined=joined, models=self.models)
        if relation.as_of is not None and self.builder.mode(stream) != "static":
            self._refuse_as_of(relation.as_of)
        elif wrong := self._join_of_tables(stream, table):
            self.builder.report_error(
                "MS527", *wrong, relation.start or select.start, relation.stop or select.stop
            )
        if kind in {"semi", "anti"} and self.builder.mode(stream) == "upsert":
            self._check_semi(node, relation)
        return self._finished(node, relation if relation.stop else select)

    def _join_of_tables(self, stream: Node, table: Node) -> tuple[str, str] | None:
        rest = all(map(self.builder.around.can_rest, self.builder.spec.reads))
        return join_of_tables(stream, *map(self.builder.traits.of, (stream, table)), rest=rest)

    def _as_of(
        self, events: Node, versions: VersionStream, relation: From, select: Select, kind: JoinKind
    ) -> Node:
        """Return events with the versions that were valid at their time."""
        joined, names = self._columns(events, versions.rows, relation, added="right")
        self._add_side(versions.rows, relation, names, "right")
        parts = as_of.split_as_of(self._on(relation), relation, joined, names["right", versions.begins].name)
        times = dict(self.builder.traits.of(events).watermarks)
        for code, message, remedy, span in as_of.check_as_of(
            self.scope, parts, events, versions, times, relation, select
        ):
            self.builder.report_error(code, message, remedy, span.start, span.stop)
        node = TemporalJoin(
            left=events,
            right=versions.rows,
            kind=kind,
            on=parts.on,
            joined=joined,
            pairs=parts.pairs,
            time=parts.time,
            begins=versions.begins,
            wait=as_of.version_wait(times.get(parts.time), versions),
            waited=as_of.rows_waited(events),
            keep=as_of.version_retention(versions),
            models=self.models,
        )
        self.builder.add_state(node, relation, ())
        self.builder.check(node, relation)
        return self._finished(as_of.restrict_versions(node, parts.others), relation)

    def _refuse_as_of(self, span: tuple[int, int]) -> None:
        message = (
            "FOR SYSTEM_TIME AS OF in a stream needs JOIN or LEFT JOIN of a reference topic with versions, "
            "and rows that don't change later"
        )
        remedy = "store the stream in a table, and make this model a table that joins it with the versions"
        if all(map(self.builder.around.can_rest, self.builder.spec.reads)):
            remedy = "make this model a table: config(materialized='table', unique_key=…)"
        self.builder.report_error("MS686", message, remedy, *span)

    def _check_semi(self, node: Lookup, relation: From) -> None:
        """Reject a join that could match several rows: a row that changes must match or not as a whole."""
        if matches_by_equality(node):
            return
        compared = {name for condition in node.on for name in condition.columns}
        named = ({j.name for j in node.joined if j.side == side} & compared for side in ("left", "right"))
        both = [columns_in_sql(self.scope, names, ()) for names in named]
        equality = suggested_equality(*both)
        such_as = f", such as {equality}" if equality else ""
        message = f"a {node.kind} join with rows that change can only compare columns of both sides by ="
        remedy = (
            f"compare columns of both sides by ={such_as}, and other columns with those of their own side"
        )
        self.builder.report_error("MS516", message, remedy, relation.start, relation.stop)

    def _on(self, relation: From) -> tuple[Expression, ...]:
        """Return the conditions of ON; Spark resolves `window_time` over one relation (ResolveWindowTime)."""
        on = self.scope.bind_all(relation.on)
        for condition in on:
            if "window_time" in called_functions(condition):
                remedy = "select it as a column in a subquery: (select *, window_time(w) as t from …)"
                start, stop = condition.start or relation.start, condition.stop or relation.stop
                self.builder.report_error("MS437", "window_time() is not allowed in ON", remedy, start, stop)
        return on

    def _streams(self, left: Node, right: Node, relation: From, kind: JoinKind) -> Join:
        joined, names = self._columns(left, right, relation, added="right")
        self._add_side(right, relation, names, "right")
        on = self._on(relation)
        sides = {c.name: c for c in joined}
        pairs = [pair for condition in on if (pair := equal_columns(condition, sides))]
        if kind == "full":
            on += _not_null(
                [join_column for join_column in joined if join_column.side == "left"], left, pairs
            )
        both = [
            Repartition(input=side, keys=tuple(pair[index] for pair in pairs), models=self.models)
            for index, side in enumerate((left, right))
        ]
        return Join(left=both[0], right=both[1], kind=kind, on=on, joined=joined, models=self.models)

    def _ended(self, node: Join) -> Join:
        """Return a join whose rows only match within the `ttl` of the model's state, by event time.

        As a condition of the join, it gives the same rows however these are split into batches.
        """
        ttl = self._ttl
        times = [names for _, names in self._sides(node)] if ttl else []
        if not ttl or any(len(names) != 1 for names in times):
            return node
        left, right = (name for names in times for name in names)
        if node.column(left).type != TIMESTAMP or node.column(right).type != TIMESTAMP:
            return node
        length = f"interval {duration_millis(ttl)} milliseconds"
        pieces = (Ref(left), " between ", Ref(right), f" - {length} and ", Ref(right), f" + {length}")
        return replace(node, on=(*node.on, Expression(pieces, BOOLEAN)))

    def _times(self, node: Join) -> tuple[str, ...]:
        """Return the SQL of the first event time of each side, which is a window only if all of them are."""
        event_times: list[str] = []
        for _, times in self._sides(node):
            written = [
                (
                    is_window(column.type),
                    f"{quote_name(alias)}.{quote_name(name)}" if alias else quote_name(name),
                )
                for (alias, name), column in self.scope.names.items()
                if column.name in times
            ]
            event_times += [text for _, text in sorted(written, key=lambda time: time[0])[:1]]
        return tuple(event_times)

    def _sides(self, node: Join) -> list[tuple[set[str], set[str]]]:
        """Return the columns of each side, and those that are event times, by their names in the join."""
        sides: list[tuple[set[str], set[str]]] = []
        for side, input_node in (("left", node.left), ("right", node.right)):
            times = {
                name for name, _ in self.builder.traits.of(self.builder.check(input_node, None)).watermarks
            }
            joined = [j for j in node.joined if j.side == side]
            sides.append(({j.name for j in joined}, {j.name for j in joined if j.source in times}))
        return sides

    def _bound(self, node: Join, relation: From, times: tuple[str, ...]) -> str:
        """Return how ON can bound the times of both sides."""
        inputs = [self.builder.traits.of(input_node) for input_node in node.inputs]
        return join_bound(node, inputs, times) or self._untimed(node, relation)

    def _untimed(self, node: Join, relation: From) -> str:
        """Return a remedy for the side without an event time that ON could compare."""
        left, right = (not self.builder.traits.of(input_node).watermarks for input_node in node.inputs)
        sides = (
            "both sides"
            if left and right
            else "the left side"
            if left
            else relation.alias or "the right side"
        )
        return f"select the column with the source's watermark on {sides}, and compare event times in ON"

    def _check_join(self, node: Join, relation: From, times: tuple[str, ...], select: Select) -> None:
        """Reject joins of two streams that Spark does not support."""
        if node.kind == "anti":
            message = "an anti join of two streams would need rows that never arrive"
            remedy = "store the right side as a table, and join the table"
            self.builder.report_error("MS513", message, remedy, relation.start, relation.stop)
        elif not self._is_matched(node, select):
            self._unmatched(node, relation, select)
        elif node.kind in {"left", "right", "full", "semi"} and not self._bounded(node):
            message = f"a {node.kind} join of two streams can't know when a row has no match"
            if node.kind == "semi":
                message = (
                    "Spark runs a semi join of two streams only if ON bounds the event times of the left side"
                )
            self.builder.report_error(
                "MS515", message, self._bound(node, relation, times), relation.start, relation.stop
            )

    def _is_matched(self, node: Join, select: Select) -> bool:
        (left, _), (right, _) = self._sides(node)
        where = (
            conditions_on(self.scope, select.where, left | right) if node.kind in {"inner", "cross"} else []
        )
        return has_equality((*node.on, *where), left, right)

    def _unmatched(self, node: Join, relation: From, select: Select) -> None:
        """Reject a join for which Spark can't look up rows (StreamingSymmetricHashJoinExec)."""
        both = (columns_in_sql(self.scope, names, times) for names, times in self._sides(node))
        equality = suggested_equality(*both)
        remedy = "compare a column of each side by = in ON" + (f", such as {equality}" if equality else "")
        message = "Spark can only join two streams if a column of one side equals a column of the other"
        self.builder.report_error(
            "MS513", message, remedy, relation.start or select.start, relation.stop or select.stop
        )

    def _bounded(self, node: Join) -> bool:
        """Return whether Spark learns when the rows of an outer or semi join have no match any more."""
        dropped = self._dropped(node)
        return {"left": "left" in dropped, "semi": "left" in dropped, "right": "right" in dropped}.get(
            node.kind, len(dropped) == 2
        )

    def _dropped(self, node: Join) -> frozenset[Side]:
        return dropped_sides(node, self._joined_times(node))

    def _joined_times(self, node: Join) -> frozenset[str]:
        return frozenset(name for _, times in self._sides(node) for name in times)

    def _finished(self, node: Node, span: Span) -> Node:
        node = self.builder.check(node, span)
        self.scope.rename({column.name: column for column in node.columns})
        return node

    def _columns(
        self, left: Node, right: Node, relation: From, *, added: str
    ) -> tuple[tuple[JoinColumn, ...], dict[tuple[str, str], Column]]:
        """Name the columns of both sides; those that are already in scope keep their names."""
        sides = (("left", left), ("right", right))
        joined: dict[str, list[JoinColumn]] = {"left": [], "right": []}
        names: dict[tuple[str, str], Column] = {}
        used: set[str] = set()
        for side, node in sides if added == "right" else sides[::-1]:
            for column in node.columns:
                name = added_name(column.name, used, relation.alias if side == added else "")
                joined[side].append(JoinColumn(name, "left" if side == "left" else "right", column.name))
                names[side, column.name] = Column(name, column.type, column.nullable)
        return (*joined["left"], *joined["right"]), names

    def _add_side(self, node: Node, relation: From, names: dict[tuple[str, str], Column], side: str) -> None:
        self._add(
            self.scope, relation, {name: column for (of, name), column in names.items() if of == side}, node
        )

    # -- generated rows

    def _expand(self, node: Node, relation: From, generated: GeneratedRows) -> Node:
        call = self.scope.bind(generated.call)
        columns: list[Column] = []
        used = {name.lower() for name in node.names}
        for name, type_, nullable in generated.columns:
            unique = added_name(name, used, relation.alias)
            columns.append(Column(unique, type_, nullable or generated.outer))
            self.scope.add(relation.alias, name, columns[-1])
        if generated.function in self.builder.around.keyed:
            self._check_row(node, generated)
            keys = tuple(dict.fromkeys(ref.column for ref in call.refs[:1]))
            together = Repartition(input=node, keys=keys, models=self.models)
            stateful = Stateful(
                input=together,
                function=generated.function,
                keys=keys,
                generated=tuple(columns),
                ttl=self._ttl,
                time=self._expires_by(together),
                models=self.models,
            )
            self.builder.add_state(stateful, generated.call, keys)
            return self.builder.check(stateful, generated.call)
        expand = Expand(
            input=node,
            call=call,
            function=generated.function,
            generated=tuple(columns),
            python=generated.python,
            outer=generated.outer,
            models=self.models,
        )
        return self.builder.check(expand, generated.call)


def _not_null(joined: list[JoinColumn], left: Node, pairs: list[tuple[str, str]]) -> tuple[Expression, ...]:
    """Return conditions that compared columns are not NULL.

    Spark's StreamingSymmetricHashJoinExec looks up rows by the bytes of their keys, so NULL matches NULL.
    For all other joins, Catalyst filters NULLs first (InferFiltersFromConstraints).
    """
    names = {join_column.source: join_column.name for join_column in joined}
    keys = [names[one] for one, _ in pairs if left.column(one).nullable]
    return tuple(Expression((Ref(key), " is not null"), BOOLEAN, nullable=False) for key in keys)
