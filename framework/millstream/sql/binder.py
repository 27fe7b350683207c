"""Resolves a whole query: relations, joins, groups and columns, from the inside out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct
from sqlglot import exp

from millstream.project.values import Function
from millstream.sql.calls import function_name
from millstream.sql.coercion import common_type
from millstream.sql.expressions import Expressions, Shared, Value
from millstream.sql.projection import project
from millstream.sql.relations import Relations
from millstream.sql.scope import NOTHING, Bound, Scope, as_kind
from millstream.sql.spark_functions import signatures
from millstream.sql.values import InputRelation, Source
from millstream.types import UNKNOWN


class Result(Struct, gc=False):
    """The columns of a query, and what decides its rows."""

    columns: list[Bound]
    rows: frozenset[Source] = NOTHING
    open: str = ""


Ctes = Mapping[str, Result]


class Binder:
    """Binds one model's query."""

    def __init__(
        self,
        sql: str,
        relation: Callable[[tuple[str, ...]], InputRelation | None],
        known_relations: Callable[[], list[str]],
        functions: Mapping[str, Function],
        variant_paths: frozenset[int],
    ) -> None:
        self.shared = Shared(sql, functions, variant_paths, lambda node, scope: self.query(node, scope))
        self.relation = relation
        self.known_relations = known_relations
        self.ctes: Ctes = {}

    def query(self, node: exp.Expr, parent: Scope | None = None) -> Result:
        """Bind a SELECT, set operation, VALUES or parenthesised query."""
        outer = self.ctes
        if with_ := node.args.get("with_"):
            self._bind_ctes(with_)
        try:
            match node:
                case exp.Select():
                    return self._select(node, parent)
                case exp.SetOperation():
                    return self._set_operation(node, parent)
                case exp.Subquery():
                    return self.query(node.this, parent)
                case exp.Values():
                    return self.values(node, parent)
                case _:
                    self.shared.not_understood(node, f"{type(node).__name__} is not understood")
                    return Result([], open="?")
        finally:
            self.ctes = outer

    def _bind_ctes(self, with_: exp.With) -> None:
        if with_.args.get("recursive"):
            self.shared.not_understood(with_, "a recursive CTE")
        for cte in with_.expressions:
            result = self.query(cte.this)
            names = [column.name for column in cte.args["alias"].args.get("columns") or ()]
            self.ctes = {**self.ctes, cte.alias.lower(): renamed(result, names)}

    # -- SELECT

    def _select(self, node: exp.Select, parent: Scope | None) -> Result:
        scope = Scope(parent)
        walk = Expressions(self.shared, scope)
        relations = Relations(self, walk)
        relations.bind(node)
        rows = relations.rows
        if where := node.args.get("where"):
            walk.no_aggregates = "WHERE"
            condition = walk.logical(where)
            rows |= as_kind(condition.sources, "filter")
            walk.no_aggregates = ""
        keys = self._group_keys(node, walk)
        if keys is not None:
            rows |= frozenset().union(*(as_kind(value.sources, "group") for _, value in keys))
            walk.keys = keys
            for key, value in keys:
                # Spark names the column of `window(…)` after the function, also where it is only grouped by.
                if (name := function_name(key)) in {"window", "session_window"}:
                    walk.aliases[name] = value
        columns = project(walk, node.expressions)
        if having := node.args.get("having"):
            rows |= as_kind(walk.logical(having).sources, "filter")
        rows |= self._after(node, walk, columns)
        return Result(columns, rows, self._open(node, scope))

    def _after(self, node: exp.Select, walk: Expressions, columns: list[Bound]) -> frozenset[Source]:
        rows: frozenset[Source] = NOTHING
        if node.args.get("distinct"):
            rows |= frozenset().union(*(as_kind(column.sources, "group") for column in columns))
        if qualify := node.args.get("qualify"):
            rows |= as_kind(walk.value(qualify.this).sources, "filter")
        by_name = {column.name.lower(): column for column in columns}
        for clause in ("order", "sort", "cluster", "distribute"):
            for part in getattr(node.args.get(clause), "expressions", ()):
                key = part.this if isinstance(part, exp.Ordered) else part
                if isinstance(key, exp.Literal):
                    continue
                if isinstance(key, exp.Column) and not key.table and (found := by_name.get(key.name.lower())):
                    rows |= as_kind(found.sources, "order")
                else:
                    rows |= as_kind(walk.value(key).sources, "order")
        for clause in ("order", "sort", "limit", "offset"):
            if part := node.args.get(clause):
                self.shared.not_understood(part, f"{clause.upper()} on a stream, which has no end")
        return rows

    def _open(self, node: exp.Select, scope: Scope) -> str:
        has_star = any(isinstance(e, exp.Star) or e.is_star for e in node.expressions)
        return next((relation.open for relation in scope.relations if relation.open), "") if has_star else ""

    def _group_keys(self, node: exp.Select, walk: Expressions) -> list[tuple[exp.Expr, Value]] | None:
        group = node.args.get("group")
        if group is None:
            grouped = any(map(_has_aggregate, node.expressions)) or node.args.get("having") is not None
            return [] if grouped else None
        for kind in ("rollup", "cube", "grouping_sets", "totals"):
            if group.args.get(kind):
                self.shared.not_understood(group, f"GROUP BY {kind.upper()}")
                return None
        nodes = list(group.expressions)
        if group.args.get("all"):
            nodes = [_unaliased(e) for e in node.expressions if not _has_aggregate(e)]
        walk.no_aggregates = "GROUP BY"
        keys = [(found := self._group_node(key, node, walk), walk.value(found)) for key in nodes]
        walk.no_aggregates = ""
        return keys

    def _group_node(self, key: exp.Expr, node: exp.Select, walk: Expressions) -> exp.Expr:
        """`group by 1` and `group by alias` mean columns of the SELECT."""
        if isinstance(key, exp.Literal) and not key.is_string:
            index = int(key.name) - 1
            if 0 <= index < len(node.expressions):
                return _unaliased(node.expressions[index])
            self.shared.problem(
                key, "MS402", f"there is no column {key.name} to group by", "count the SELECT's columns from 1"
            )
        if isinstance(key, exp.Column) and not key.table and not walk.scope.named(key.name.lower()):
            for item in node.expressions:
                if isinstance(item, exp.Alias) and item.alias.lower() == key.name.lower():
                    return _unaliased(item)
        return key

    # -- sets of rows

    def _set_operation(self, node: exp.SetOperation, parent: Scope | None) -> Result:
        left, right = self.query(node.left, parent), self.query(node.right, parent)
        rows = left.rows | right.rows
        if not isinstance(node, exp.Union):
            self.shared.not_understood(node, f"{type(node).__name__.upper()}")
        if node.args.get("by_name"):
            right = self._by_name(node, left, right)
        elif len(left.columns) != len(right.columns) and not (left.open or right.open):
            self.shared.problem(
                node.right,
                "MS412",
                f"the sides of {type(node).__name__.upper()} have {len(left.columns)} and {len(right.columns)} columns",
                "select the same columns on both sides",
            )
        columns = [self._both(node, a, b) for a, b in zip(left.columns, right.columns, strict=False)]
        columns += left.columns[len(columns) :]
        if node.args.get("distinct") or not isinstance(node, exp.Union):
            rows |= frozenset().union(*(as_kind(column.sources, "group") for column in columns))
        return Result(columns, rows, left.open or right.open)

    def _both(self, node: exp.SetOperation, left: Bound, right: Bound) -> Bound:
        found = common_type(left.type, right.type)
        if found is None:
            self.shared.problem(
                node.right,
                "MS407",
                f"column '{left.name}' is {left.type} on one side and {right.type} on the other",
                "cast one to the other's type",
            )
        sources = left.sources | right.sources
        return Bound(left.name, found or UNKNOWN, left.nullable or right.nullable, sources)

    def _by_name(self, node: exp.SetOperation, left: Result, right: Result) -> Result:
        by_name = {column.name.lower(): column for column in right.columns}
        missing = [column.name for column in left.columns if column.name.lower() not in by_name]
        extra = by_name.keys() - {column.name.lower() for column in left.columns}
        if missing or extra:
            names = ", ".join([*missing, *sorted(extra)])
            self.shared.problem(
                node.right, "MS412", f"only one side of UNION BY NAME has {names}", "select it on both sides"
            )
        return Result([by_name.get(c.name.lower(), c) for c in left.columns], right.rows, right.open)

    def values(self, node: exp.Values, parent: Scope | None) -> Result:
        walk = Expressions(self.shared, Scope(parent))
        lines = [walk.values(row.expressions if isinstance(row, exp.Tuple) else [row]) for row in node.expressions]
        columns: list[Bound] = []
        for index, first in enumerate(lines[0]):
            found = first.type
            nullable = False
            for line in lines:
                if index < len(line):
                    found = common_type(found, line[index].type) or UNKNOWN
                    nullable |= line[index].nullable
            columns.append(Bound(f"col{index + 1}", found, nullable, NOTHING))
        return Result(columns)


def renamed(result: Result, names: list[str]) -> Result:
    """Give a query the column names of its alias, `as t(a, b)`."""
    if not names:
        return result
    columns = [
        Bound(names[index] if index < len(names) else column.name, column.type, column.nullable, column.sources)
        for index, column in enumerate(result.columns)
    ]
    return Result(columns, result.rows, result.open)


def _unaliased(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Alias) else node


def _has_aggregate(node: exp.Expr) -> bool:
    known = signatures()
    for found in node.walk(prune=lambda n: isinstance(n, exp.Window | exp.Query)):
        if isinstance(found, exp.Anonymous) and not isinstance(found.parent, exp.Window):
            signature = known.get(function_name(found))
            if signature and signature.aggregate:
                return True
    return False

