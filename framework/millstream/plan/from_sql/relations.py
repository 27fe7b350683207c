"""FROM becomes nodes: scans, lookups of what is at rest, joins of streams, rows made from rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.expressions import Expression, Ref, quoted
from millstream.plan.from_sql.equalities import (
    equal_columns,
    has_equality,
    in_sql,
    meets_one,
    of_sides,
    suggested,
)
from millstream.plan.from_sql.maintained import join_of_tables
from millstream.plan.from_sql.scope import Scope, kept, unused
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
)
from millstream.plan.streaming import is_window
from millstream.plan.unbounded import time_bound
from millstream.sql.query import Cte, Derived, From, Generated, Scan, Select
from millstream.types import BOOLEAN

if TYPE_CHECKING:
    from millstream.plan.from_sql.model import ModelBuilder
    from millstream.plan.from_sql.values import Place

SIDES = ("left", "right")
_MIRRORED: dict[JoinKind, JoinKind] = {"inner": "inner", "cross": "cross", "right": "left"}
"""What a join is with its sides swapped, where the relation at rest comes first."""


class Relations:
    """Builds the FROM clause of one SELECT and fills its scope."""

    def __init__(self, builder: ModelBuilder, scope: Scope) -> None:
        self.builder = builder
        self.scope = scope
        self.models = (builder.spec.id,)

    def node(self, query: Select) -> Node:
        """Return the node of the whole FROM clause."""
        streams = any(self.builder.streams(each.input) for each in query.relations)
        node: Node | None = None
        for each in query.relations:
            if isinstance(each.input, Generated):
                node = self._expand(self._or_one_row(node), each, each.input)
                if each.input.function in self.builder.around.keyed:
                    self._check_keyed(query, each, each.input.function)
                continue
            added = self._input(each, at_rest=streams or node is not None)
            node = self._join(node, added, each, query) if node else self._first(added, each)
        return self._or_one_row(node)

    def _check_keyed(self, query: Select, each: From, function: str) -> None:
        """Refuse columns of what a function with state reads: its rows are not those that it was given."""
        read = [item.expression for item in (*query.items, *(query.keys or ()))]
        for expression in (*read, *(measure.call for measure in query.measures), *query.where):
            for ref in expression.refs:
                if ref.relation and ref.relation.lower() != each.alias.lower():
                    message = f"rows of {function}() have only the columns that it yields, not '{ref.column}'"
                    remedy = (
                        f"let {function}() yield '{ref.column}', too, and select {each.alias}.{ref.column}"
                    )
                    self.builder.problem("MS542", message, remedy, expression.start, expression.stop)

    def _or_one_row(self, node: Node | None) -> Node:
        return node if node is not None else self.builder.one_row()

    def _input(self, each: From, *, at_rest: bool) -> Node:
        match each.input:
            case Scan(relation=relation):
                node = self.builder.relation(relation, at_rest=at_rest)
            case Cte(name=name):
                node = self.builder.ctes[name]
            case Derived(query=query):
                node = self.builder.body(query)
            case Generated():
                raise TypeError(each)
        return self._watermark(node, each)

    def _watermark(self, node: Node, each: From) -> Node:
        if each.watermark is None:
            return node
        expression, delay = each.watermark
        scope = Scope()
        self._add(scope, each, {c.name: c for c in node.columns}, node)
        time = scope.bind(expression)
        name = time.column
        if name is None:
            name = unused("event_time", node.names)
            node = Project(input=node, items=(*kept(node), Item(name, time)), models=self.models)
        return self.builder.timed(node, name, delay, each.start, each.stop)

    def _add(self, scope: Scope, each: From, names: dict[str, Column], node: Node) -> None:
        """Add a relation's columns by position: an alias, `as t(a, b)`, may have given them other names."""
        # What is at rest lacks the metadata of records, which comes last.
        for written, found in zip(each.columns, node.columns, strict=False):
            scope.add(each.alias, written, names[found.name])

    def _first(self, node: Node, each: From) -> Node:
        self._add(self.scope, each, {c.name: c for c in node.columns}, node)
        return node

    # -- joins

    def _join(self, left: Node, right: Node, each: From, query: Select) -> Node:
        kind = each.join or "cross"
        modes = self.builder.mode(left), self.builder.mode(right)
        if modes[0] == "static" != modes[1] and kind in _MIRRORED:
            return self._lookup(right, left, each, query, _MIRRORED[kind], swapped=True)
        if modes[1] == "static" and (modes[0] == "static" or kind not in {"right", "full"}):
            return self._lookup(left, right, each, query, kind, swapped=False)
        if "static" in modes:
            side = "right" if modes[1] == "static" else "left"
            self.builder.problem(
                "MS513",
                f"a {kind} join keeps rows of the {side} side that meet none, and those are at rest: "
                "in a stream that never ends nobody knows which",
                "write a left join from the stream to the table",
                each.start or query.start,
                each.stop or query.stop,
            )
        node = self._streams(left, right, each, kind)
        if "static" not in modes:
            times = self._times(node)
            if "upsert" not in modes:
                self._check_join(node, each, times, query)
            self.builder.stand(node, each, (), times)
        return self._finished(node, each if each.stop else query)

    def _lookup(
        self, stream: Node, table: Node, each: From, query: Select, kind: JoinKind, *, swapped: bool
    ) -> Node:
        joined, names = self._columns(stream, table, each, added="left" if swapped else "right")
        self._bring(stream if swapped else table, each, names, "left" if swapped else "right")
        on = self._on(each)
        node = Lookup(left=stream, right=table, kind=kind, on=on, joined=joined, models=self.models)
        if wrong := join_of_tables(stream, self.builder.traits.of(stream), table):
            message, remedy = wrong
            self.builder.problem("MS527", message, remedy, each.start or query.start, each.stop or query.stop)
        if kind in {"semi", "anti"} and self.builder.mode(stream) == "upsert":
            self._check_semi(node, each)
        return self._finished(node, each if each.stop else query)

    def _check_semi(self, node: Lookup, each: From) -> None:
        """Refuse what could meet several rows: a row that changes must stay one, met or not."""
        if meets_one(node):
            return
        compared = {name for condition in node.on for name in condition.columns}
        named = ({j.name for j in node.joined if j.side == side} & compared for side in SIDES)
        both = [in_sql(self.scope, names, ()) for names in named]
        known = suggested(*both)
        self.builder.problem(
            "MS516",
            f"a {node.kind} join with rows that change compares columns of both sides by = only",
            "compare columns of both sides by ="
            + (f", such as {known}" if known else "")
            + ", and other columns with those of their own side",
            each.start,
            each.stop,
        )

    def _on(self, each: From) -> tuple[Expression, ...]:
        """Return what ON compares; Spark resolves `window_time` over one relation (ResolveWindowTime)."""
        on = self.scope.bind_all(each.on)
        for condition in on:
            if "window_time(" in condition.text.lower():
                self.builder.problem(
                    "MS437",
                    "window_time() can't stand in ON",
                    "select it as a column in a subquery: (select *, window_time(w) as t from …)",
                    condition.start or each.start,
                    condition.stop or each.stop,
                )
        return on

    def _streams(self, left: Node, right: Node, each: From, kind: JoinKind) -> Join:
        joined, names = self._columns(left, right, each, added="right")
        self._bring(right, each, names, "right")
        on = self._on(each)
        sides = {c.name: c for c in joined}
        pairs = [pair for condition in on if (pair := equal_columns(condition, sides))]
        if kind == "full":
            on += _not_null([each for each in joined if each.side == "left"], left, pairs)
        both = [
            Repartition(input=side, keys=tuple(pair[index] for pair in pairs), models=self.models)
            for index, side in enumerate((left, right))
        ]
        return Join(left=both[0], right=both[1], kind=kind, on=on, joined=joined, models=self.models)

    def _times(self, node: Join) -> tuple[str, ...]:
        """Return the first event time of each side, as SQL can name it."""
        found: list[str] = []
        for side, given in (("left", node.left), ("right", node.right)):
            times = [name for name, _ in self.builder.traits.of(self.builder.made(given, None)).watermarks]
            names = {j.name for j in node.joined if j.side == side and j.source in times}
            written = (
                f"{quoted(alias)}.{quoted(name)}" if alias else quoted(name)
                for (alias, name), column in self.scope.names.items()
                if column.name in names
            )
            found += [first] if (first := next(written, "")) else []
        return tuple(found)

    def _bound(self, node: Join, each: From, times: tuple[str, ...]) -> str:
        """Say how ON can bound the times of both sides."""
        if any(is_window(column.type) for given in node.inputs for column in self._event_times(given)):
            return "select window_time(window) as a column in a subquery, and bound that column in ON"
        return f"add to ON: {time_bound(*times)}" if len(times) == 2 else self._untimed(node, each)

    def _event_times(self, given: Node) -> list[Column]:
        return [given.column(name) for name, _ in self.builder.traits.of(given).watermarks]

    def _untimed(self, node: Join, each: From) -> str:
        """Say which side has no event time that ON could compare."""
        left, right = (not self.builder.traits.of(given).watermarks for given in node.inputs)
        sides = (
            "both sides" if left and right else "the left side" if left else each.alias or "the right side"
        )
        return f"keep the column with the source's watermark in {sides}, and compare event times in ON"

    def _check_join(self, node: Join, each: From, times: tuple[str, ...], query: Select) -> None:
        """Refuse what Spark can't do with two streams."""
        if node.kind == "anti":
            self.builder.problem(
                "MS513",
                "an anti join of two streams would have to know what never comes",
                "keep the right side as a table, and join that",
                each.start,
                each.stop,
            )
        elif not self._is_matched(node, query):
            self._unmatched(node, each, query)
        elif node.kind in {"left", "right", "full"} and not self._bounded(node):
            self.builder.problem(
                "MS515",
                f"a {node.kind} join of two streams never knows that no partner comes any more",
                self._bound(node, each, times),
                each.start,
                each.stop,
            )

    def _is_matched(self, node: Join, query: Select) -> bool:
        left, right = ({j.name for j in node.joined if j.side == side} for side in ("left", "right"))
        where = of_sides(self.scope, query.where, left | right) if node.kind in {"inner", "cross"} else []
        return has_equality((*node.on, *where), left, right)

    def _unmatched(self, node: Join, each: From, query: Select) -> None:
        """Refuse a join that Spark can't look up rows for (StreamingSymmetricHashJoinExec)."""
        both = []
        for side, given in (("left", node.left), ("right", node.right)):
            of_time = {name for name, _ in self.builder.traits.of(self.builder.made(given, None)).watermarks}
            joined = [j for j in node.joined if j.side == side]
            times = {j.name for j in joined if j.source in of_time}
            both.append(in_sql(self.scope, {j.name for j in joined}, times))
        known = suggested(*both)
        remedy = "compare a column of each side by = in ON" + (f", such as {known}" if known else "")
        self.builder.problem(
            "MS513",
            "Spark joins two streams only where a column of one side equals a column of the other",
            remedy,
            each.start or query.start,
            each.stop or query.stop,
        )

    def _bounded(self, node: Join) -> bool:
        """Tell whether a condition compares the event times of both sides.

        The bounds of a window are none (StreamingJoinHelper), but two windows may be compared by `=`.
        """
        sides = {c.name: c for c in node.joined}
        times: list[set[str]] = []
        for side, given in (("left", node.left), ("right", node.right)):
            known = {name for name, _ in self.builder.traits.of(self.builder.made(given, None)).watermarks}
            times.append({j.name for j in node.joined if j.side == side and j.source in known})
        windows = {name for name in times[0] | times[1] if is_window(self._side(node, sides[name]).type)}
        return any(
            all(
                condition.columns & (names if equal_columns(condition, sides) else names - windows)
                for names in times
            )
            for condition in node.on
        )

    @staticmethod
    def _side(node: Join, joined: JoinColumn) -> Column:
        return (node.left if joined.side == "left" else node.right).column(joined.source)

    def _finished(self, node: Node, place: Place) -> Node:
        node = self.builder.made(node, place)
        self.scope.rename({c.name: c for c in node.columns})
        return node

    def _columns(
        self, left: Node, right: Node, each: From, *, added: str
    ) -> tuple[tuple[JoinColumn, ...], dict[tuple[str, str], Column]]:
        """Name the columns of both sides; what is in scope already keeps its names."""
        sides = (("left", left), ("right", right))
        first, second = sides if added == "right" else sides[::-1]
        joined: dict[str, list[JoinColumn]] = {"left": [], "right": []}
        names: dict[tuple[str, str], Column] = {}
        used: list[str] = []
        for side, node in (first, second):
            for found in node.columns:
                name = unused(found.name, used, each.alias if side == added else "")
                used.append(name)
                joined[side].append(JoinColumn(name, "left" if side == "left" else "right", found.name))
                names[side, found.name] = Column(name, found.type, found.nullable)
        return (*joined["left"], *joined["right"]), names

    def _bring(self, node: Node, each: From, names: dict[tuple[str, str], Column], side: str) -> None:
        self._add(self.scope, each, {name: found for (of, name), found in names.items() if of == side}, node)

    # -- rows made from rows

    def _expand(self, node: Node, each: From, made: Generated) -> Node:
        call = self.scope.bind(made.call)
        columns: list[Column] = []
        for name, found, nullable in made.columns:
            unique = unused(name, [*node.names, *(c.name for c in columns)], each.alias)
            columns.append(Column(unique, found, nullable or made.outer))
            self.scope.add(each.alias, name, columns[-1])
        if made.function in self.builder.around.keyed:
            keys = tuple(dict.fromkeys(ref.column for ref in call.refs[:1]))
            together = Repartition(input=node, keys=keys, models=self.models)
            stateful = Stateful(
                input=together,
                function=made.function,
                keys=keys,
                made=tuple(columns),
                ttl=(self.builder.spec.options.get("state") or {}).get("ttl"),
                models=self.models,
            )
            self.builder.stand(stateful, made.call, keys)
            return self.builder.made(stateful, made.call)
        expand = Expand(
            input=node,
            call=call,
            function=made.function,
            made=tuple(columns),
            python=made.python,
            outer=made.outer,
            models=self.models,
        )
        return self.builder.made(expand, made.call)


def _not_null(joined: list[JoinColumn], left: Node, pairs: list[tuple[str, str]]) -> tuple[Expression, ...]:
    """Return that compared columns are not NULL.

    Spark's StreamingSymmetricHashJoinExec looks up rows by the bytes of their keys, so that NULL meets NULL.
    Of all other joins, Catalyst takes the NULLs of a side away before (InferFiltersFromConstraints).
    """
    names = {each.source: each.name for each in joined}
    keys = [names[one] for one, _ in pairs if left.column(one).nullable]
    return tuple(Expression((Ref(key), " is not null"), BOOLEAN, nullable=False) for key in keys)
