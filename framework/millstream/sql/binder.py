"""Resolves a query's relations, joins, groups and columns, from the inside out."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from msgspec.structs import replace as replaced
from sqlglot import exp

from millstream.core.node_id import NodeId
from millstream.core.types import INT, UNKNOWN
from millstream.project.references import RESERVED_COLUMNS
from millstream.project.values import Function
from millstream.sql import sets
from millstream.sql.clauses import NotSplitError, index_tokens
from millstream.sql.conditions import evaluate_condition
from millstream.sql.expressions import Evaluator
from millstream.sql.findings import Findings
from millstream.sql.froms import ClauseText
from millstream.sql.grouping import group_keys, has_aggregate, quiet_shape
from millstream.sql.handlers import make_evaluator
from millstream.sql.keywords import keyword_after
from millstream.sql.names import function_name
from millstream.sql.ordered_aggregates import check_ordered_aggregate
from millstream.sql.ordering import check_distinct, check_ordered
from millstream.sql.parse import Parsed
from millstream.sql.projection import name_span, project_items
from millstream.sql.query import Body, FormKind
from millstream.sql.relations import Ctes, FromBinder, InputRelations, check_names
from millstream.sql.result import BoundQuery, with_names
from millstream.sql.scope import NOTHING, BoundColumn, Scope, as_kind, unused_name
from millstream.sql.selects import Keys, read_select
from millstream.sql.signatures import load_signatures
from millstream.sql.value import Value, merge_lineage
from millstream.sql.values import Source


class Binder:
    """Binds one model's query."""

    def __init__(
        self, parsed: Parsed, sql: str, inputs: InputRelations, functions: Mapping[str, Function]
    ) -> None:
        source = index_tokens(sql, parsed.tokens.tokens)
        self.findings = Findings(sql, source, functions, parsed.tokens.variant_paths, self.query)
        self.text = ClauseText(source, self.findings, list(parsed.tokens.watermarks))
        self.bodies: dict[str, Body] = {}
        """The CTEs by unique names."""
        self.inputs = inputs
        self.ctes: Ctes = {}
        self.selects: list[BoundQuery] = []
        """All SELECTs, those within others first."""

    def query(self, node: exp.Expr, parent: Scope | None = None) -> BoundQuery:
        """Bind a SELECT, set operation, VALUES or parenthesized query."""
        outer = self.ctes
        if with_ := node.args.get("with_"):
            self._bind_ctes(with_, parent)
        try:
            match node:
                case exp.Select():
                    return self._select(node, parent)
                case exp.SetOperation():
                    sides = self.query(node.left, parent), self.query(node.right, parent)
                    result = sets.set_operation(self.findings, node, *sides)
                    return self._ordered(node, parent, result)
                case exp.Subquery():
                    return self._ordered(node, parent, self.query(node.this, parent))
                case exp.Values():
                    self.findings.marks.not_split("VALUES")
                    return sets.evaluate_values(make_evaluator(self.findings, Scope(parent)), node)
                case exp.Table():
                    evaluator = make_evaluator(self.findings, Scope(parent))
                    return FromBinder(evaluator, self.inputs, self.ctes).all_columns(node)
                case _:
                    self.findings.mark_opaque(node, f"{type(node).__name__} is not supported")
                    return BoundQuery([], open="?")
        finally:
            self.ctes = outer

    def _bind_ctes(self, with_: exp.With, parent: Scope | None) -> None:
        if with_.args.get("recursive"):
            self.findings.mark_opaque(with_, "a recursive CTE")
        for cte in with_.expressions:
            names = [column.name for column in cte.args["alias"].args.get("columns") or ()]
            if with_.args.get("recursive"):
                # It may read itself, so its columns are unknown.
                self.ctes = {**self.ctes, cte.alias.lower(): BoundQuery([], open="?")}
            result = self.query(cte.this, parent)
            if names and not result.open:
                check_names(self.findings, cte.args["alias"], names, result.columns)
            if with_.args.get("recursive") and _reads_itself(cte):
                self.findings.add_form("recursion", cte.args["alias"], result.reads)
            if result.body is not None:
                result.cte = unused_name(cte.alias, {key.lower() for key in self.bodies})
                self.bodies[result.cte] = result.body
            self.ctes = {**self.ctes, cte.alias.lower(): with_names(result, names)}

    # -- SELECT

    def _select(self, node: exp.Select, parent: Scope | None) -> BoundQuery:
        scope = Scope(parent)
        evaluator = make_evaluator(self.findings, scope)
        relations = FromBinder(evaluator, self.inputs, self.ctes)
        relations.bind(node)
        rows = relations.rows
        if where := node.args.get("where"):
            evaluator.no_aggregates = "WHERE"
            rows |= as_kind(evaluate_condition(evaluator, where.this).sources, "filter")
            evaluator.no_aggregates = ""
        if node.args.get("distinct"):
            self.findings.add_form("distinct", keyword_after(self.text.source, node, "distinct"), scope.reads)
        before = len(self.findings.diagnostics)
        keys = group_keys(node, evaluator)
        if keys is not None:
            self._grouped(node, keys, scope)
            rows |= as_kind(merge_lineage([value for _, value in keys]), "group")
            if len(self.findings.diagnostics) == before:
                evaluator.group_by(keys, quiet_shape)
        columns, origins = project_items(evaluator, node.expressions)
        self._check_names(columns, origins)
        self._check_windows(node, evaluator)
        evaluator.outputs = output_values(columns)
        evaluator.spellings |= {column.name.lower(): column.name for column in columns}
        if having := node.args.get("having"):
            evaluator.clause = "having"
            rows |= as_kind(evaluate_condition(evaluator, having.this, cast=True).sources, "filter")
        rows |= self._after(node, evaluator, columns)
        result = BoundQuery(
            columns,
            rows,
            self._open(node, scope),
            origins,
            self._body(node, scope, columns, keys),
            reads=frozenset(scope.reads),
            scope=scope,
        )
        self.selects.append(result)
        return result

    def _check_names(self, columns: list[BoundColumn], origins: list[exp.Expr]) -> None:
        """Report reserved names of columns that queries add to rows."""
        for column, item in zip(columns, origins, strict=False):
            if column.name.lower() in RESERVED_COLUMNS:
                message = f"'{column.name}' is a reserved column that queries add to rows"
                start, stop = name_span(item, self.findings.sql)
                remedy = f"use another name: … as {column.name.strip('_')}"
                self.findings.report_at(start, stop, "MS416", message, remedy)

    def _check_windows(self, node: exp.Select, evaluator: Evaluator) -> None:
        parts = [*node.expressions, node.args.get("where"), node.args.get("group")]
        calls = [
            call
            for part in parts
            if isinstance(part, exp.Expr)
            for call in part.walk(prune=lambda inner: isinstance(inner, exp.Query))
            if isinstance(call, exp.Anonymous) and function_name(call) in {"window", "session_window"}
        ]
        if len(calls) > 1 and len({quiet_shape(evaluator, call) for call in calls}) > 1:
            message = "a SELECT has two windows, which Spark can't combine"
            self.findings.report(calls[1], "MS435", message, "write a separate model or subquery for each")

    def _grouped(self, node: exp.Select, keys: Keys, scope: Scope) -> None:
        keyword = keyword_after(self.text.source, node, "group")
        self.findings.add_form("grouping", keyword, scope.reads)
        if keys and all(function_name(key) == "session_window" for key, _ in keys):
            self.findings.add_form("session of all rows", keys[0][0], scope.reads)

    def _body(
        self, node: exp.Select, scope: Scope, columns: list[BoundColumn], keys: Keys | None
    ) -> Body | None:
        """Return a SELECT clause by clause, unless a part of the model is opaque or has errors."""
        findings = self.findings
        if findings.diagnostics or findings.unsplit or findings.marks.unsplit:
            return None
        if open_ := self._open(node, scope):
            findings.marks.not_split(f"a star over {open_}, which has unknown columns")
            return None
        try:
            return read_select(self.text, node, scope, columns, keys)
        except NotSplitError as reason:
            findings.marks.not_split(str(reason))
            return None

    def _after(self, node: exp.Select, evaluator: Evaluator, columns: list[BoundColumn]) -> frozenset[Source]:
        rows = NOTHING
        if node.args.get("distinct"):
            for column in columns:
                check_distinct(self.findings, node, column.type)
            rows |= frozenset().union(*(as_kind(column.sources, "group") for column in columns))
        if qualify := node.args.get("qualify"):
            evaluator.clause = "qualify"
            self._check_qualify(node, qualify.this)
            rows |= as_kind(evaluator.value(qualify.this).sources, "filter")
        return rows | self._order(node, evaluator, columns, evaluator.scope.reads)

    def _check_qualify(self, node: exp.Select, condition: exp.Expr) -> None:
        parts = [*node.expressions, condition]
        if not any(part.find(exp.Window) for part in parts):
            remedy = "filter rows with WHERE, and groups with HAVING"
            self.findings.report(condition, "MS440", "QUALIFY needs a window function", remedy)
        elif has_aggregate(condition):
            remedy = "name it in the SELECT list, and use its name"
            self.findings.report(condition, "MS440", "QUALIFY can't contain an aggregate", remedy)

    def _order(
        self, node: exp.Expr, evaluator: Evaluator, columns: list[BoundColumn], reads: AbstractSet[NodeId]
    ) -> frozenset[Source]:
        rows = NOTHING
        evaluator.clause = "order"
        for clause in ("order", "sort", "cluster", "distribute"):
            for part in getattr(node.args.get(clause), "expressions", ()):
                key = part.this if isinstance(part, exp.Ordered) else part
                if isinstance(key, exp.Literal) and key.name.isdigit():
                    rows |= as_kind(self._numbered(key, columns), "order")
                elif not _is_all(key):
                    value = evaluator.value(key)
                    self._check_distinct_order(node, key, evaluator)
                    if isinstance(node, exp.Select):
                        check_ordered_aggregate(evaluator, node, key)
                    if clause != "distribute":
                        check_ordered(evaluator, key, value.type, f"{clause.upper()} BY")
                    rows |= as_kind(value.sources, "order")
                else:
                    rows |= frozenset().union(*(as_kind(column.sources, "order") for column in columns))
        for clause in ("order", "sort", "cluster", "limit", "offset"):
            if node.args.get(clause) and not _is_no_limit(node.args[clause]):
                kind: FormKind = "limit" if clause in {"limit", "offset"} else "sort"
                self.findings.add_form(kind, keyword_after(self.text.source, node, clause), reads)
        for clause in ("order", "sort", "limit", "offset"):
            if part := node.args.get(clause):
                self.findings.mark_opaque(part, f"{clause.upper()} on a stream, which has no end")
                if clause in {"limit", "offset"} and not _is_no_limit(part):
                    check_limit(evaluator, node, clause)
        return rows

    def _check_distinct_order(self, node: exp.Expr, key: exp.Expr, evaluator: Evaluator) -> None:
        """Report a column that DISTINCT has left out before ORDER BY."""
        if not (isinstance(node, exp.Select) and node.args.get("distinct")):
            return
        for column in key.find_all(exp.Column):
            if not {part.name.lower() for part in column.parts} & evaluator.outputs.keys():
                message = f"ORDER BY can't read '{column.name}', which SELECT DISTINCT leaves out"
                self.findings.report(column, "MS402", message, "select it, or order by a selected column")

    def _numbered(self, key: exp.Literal, columns: list[BoundColumn]) -> frozenset[Source]:
        index = int(key.name) - 1
        if 0 <= index < len(columns):
            return columns[index].sources
        remedy = "name the column, or use a number between 1 and the number of columns"
        self.findings.report(key, "MS402", f"ORDER BY position {key.name} is not in the SELECT list", remedy)
        return NOTHING

    def _ordered(self, node: exp.Expr, parent: Scope | None, result: BoundQuery) -> BoundQuery:
        """Add the columns that ORDER BY reads after a set operation or a parenthesis: those of the result."""
        evaluator = make_evaluator(self.findings, Scope(parent))
        evaluator.outputs = output_values(result.columns)
        rows = self._order(node, evaluator, result.columns, result.reads)
        if not rows:
            return result
        self.findings.marks.not_split("ORDER BY after a set operation")
        return replaced(result, rows=result.rows | rows)

    def _open(self, node: exp.Select, scope: Scope) -> str:
        has_star = any(item.is_star for item in node.expressions)
        return next((relation.open for relation in scope.relations if relation.open), "") if has_star else ""


def output_values(columns: list[BoundColumn]) -> dict[str, Value]:
    """Return the columns of a SELECT by their names, for the clauses after it."""
    return {
        column.name.lower(): Value(column.type, column.nullable, column.sources)
        for column in columns
        if column.name
    }


def _reads_itself(cte: exp.Expr) -> bool:
    return any(table.name.lower() == cte.alias.lower() for table in cte.this.find_all(exp.Table))


def _is_no_limit(node: exp.Expr) -> bool:
    """Return whether this is `LIMIT ALL`, which has no effect."""
    limit = node.args.get("expression")
    return isinstance(node, exp.Limit) and limit is not None and limit.name.lower() == "all"


def _is_all(key: exp.Expr) -> bool:
    """Return whether this is `ORDER BY ALL`, which means every column."""
    return isinstance(key, exp.All) or (
        isinstance(key, exp.Column) and not key.table and key.name.lower() == "all"
    )


def check_limit(evaluator: Evaluator, node: exp.Expr, clause: str) -> None:
    """Report a LIMIT or OFFSET of a query that Spark does not accept."""
    written = node.args[clause].args.get("expression")
    if written is None:
        return
    start, stop = keyword_after(evaluator.findings.source, node, clause)
    name, message = clause.upper(), ""
    if not _is_constant(written):
        message = f"{name} must be a constant"
    else:
        value = evaluator.value(written)
        if value.type not in {INT, UNKNOWN}:
            message = f"{name} must be an int, not a {value.type}"
        elif isinstance(written, exp.Neg):
            message = f"{name} can't be negative"
    if message:
        evaluator.findings.report_at(start, stop, "MS441", message, "write a number, such as 100")


def _is_constant(node: exp.Expr) -> bool:
    return not any(
        isinstance(part, exp.Column | exp.Query)
        or ((signature := load_signatures().get(function_name(part))) and not signature.deterministic)
        for part in node.walk()
    )
