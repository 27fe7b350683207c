"""Binds FROM: adds tables, subqueries, joins and LATERAL to a scope as relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from millstream.core.errors import did_you_mean
from millstream.core.expressions import Expression
from millstream.core.node_id import NO_NODE, NodeId
from millstream.core.types import BOOLEAN, UNKNOWN
from millstream.sql import sets
from millstream.sql.casts import cast_raises
from millstream.sql.coercion import common_type
from millstream.sql.conditions import evaluate_condition
from millstream.sql.expressions import Evaluator
from millstream.sql.findings import Findings, span_of
from millstream.sql.generators import generated_relation
from millstream.sql.handlers import make_evaluator
from millstream.sql.names import count_of
from millstream.sql.query import Cte, DerivedTable, JoinKind, Scan
from millstream.sql.reading import column_pieces
from millstream.sql.result import BoundQuery
from millstream.sql.scope import (
    NOTHING,
    BoundColumn,
    JoinedRelation,
    Refs,
    Scope,
    ScopeRelation,
    as_kind,
    names_within,
    rename_columns,
)
from millstream.sql.system_time import system_time, valid_at
from millstream.sql.values import InputRelation, Source

Ctes = Mapping[str, BoundQuery]
"""The CTEs in scope, by name in lower case."""


class InputRelations(Struct, frozen=True):
    """The relations that a model can read."""

    find: Callable[[tuple[str, ...]], InputRelation | None]
    names: Callable[[], list[str]]
    model: str = ""
    """The name of the model itself."""


class FromBinder:
    """Binds the FROM clause of one SELECT into its scope."""

    def __init__(self, evaluator: Evaluator, inputs: InputRelations, ctes: Ctes) -> None:
        self.walk = evaluator
        self.inputs = inputs
        self.ctes = ctes
        self.scope = evaluator.scope
        self.findings = evaluator.findings
        self.rows: frozenset[Source] = NOTHING

    def bind(self, node: exp.Select) -> None:
        if from_ := node.args.get("from_"):
            self._add(from_.this)
        self._bind_rest(node)

    def _bind_rest(self, node: exp.Expr) -> None:
        """Bind the joins and the LATERAL VIEWs after a relation."""
        joins, laterals = node.args.get("joins") or [], node.args.get("laterals") or []
        sql = self.findings.sql
        early = [
            lateral
            for lateral in laterals
            if lateral.args.get("view") and any(span_of(lateral, sql) < span_of(join, sql) for join in joins)
        ]
        for lateral in early:
            message = "Spark can't parse LATERAL VIEW before a JOIN"
            remedy = (
                "write it after all joins; if the condition of a join needs its columns, "
                "write FROM … LATERAL VIEW as a CTE, and join that"
            )
            self.findings.report(lateral.this, "MS437", message, remedy)
            self._lateral(lateral)  # the joins can read its columns
        for join in joins:
            self._join(join)
        for lateral in laterals:
            if lateral not in early:
                self._lateral(lateral)

    def all_columns(self, node: exp.Table) -> BoundQuery:
        """Return all columns of a relation."""
        self._add(node)
        self.findings.marks.not_split("a relation without a SELECT")
        columns = [column for _, column in self.scope.star()]
        return BoundQuery(columns, self.rows, self.scope.relations[0].open, reads=frozenset(self.scope.reads))

    def _add(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Lateral):
            self._lateral(node)
            return
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not node.alias:
            self._add(node.this)
        else:
            self.scope.add(self._relation(node))
        self._bind_rest(node)

    def _relation(self, node: exp.Expr) -> ScopeRelation:
        alias = node.alias
        names = [column.name for column in getattr(node.args.get("alias"), "columns", None) or ()]
        match node:
            case exp.Table(this=exp.Anonymous() as call):
                relation = generated_relation(self.walk, call, alias, names)
                relation.call = call
            case exp.Table():
                relation = self._table(node)
            case exp.Values():
                self.findings.marks.not_split("VALUES as a relation")
                evaluator = make_evaluator(self.findings, Scope(self.scope.parent))
                relation = self._derived(sets.evaluate_values(evaluator, node), "")
            case exp.Subquery(this=exp.Table() as table):
                relation = self._relation(table)
                if table.args.get("joins"):
                    self.findings.marks.not_split("joins in parentheses that have an alias")
            case exp.Subquery():
                relation = self._derived(self.findings.subquery(node.this, self.scope.parent), "")
            case _:
                relation = self._derived(self.findings.subquery(node, self.scope.parent), "")
        relation = self._changed(node, relation)
        if names and not relation.open:
            check_names(self.findings, node.args["alias"], names, relation.columns)
        return replace(
            relation,
            alias=alias or relation.alias,
            columns=rename_columns(relation.columns, names),
            path=() if alias else relation.path,
            renamed=relation.renamed or (names_within(relation.columns) if names else ()),
        )

    def _changed(self, node: exp.Expr, relation: ScopeRelation) -> ScopeRelation:
        """Record TABLESAMPLE, PIVOT and the like after a relation."""
        if node.args.get("sample"):
            self.findings.mark_opaque(node, "TABLESAMPLE after a relation")
            self.findings.add_form("sample", node, self.scope.reads)
        if any(not pivot.args.get("unpivot") for pivot in node.args.get("pivots") or ()):
            self.findings.add_form("pivot", node, self.scope.reads)
        for part in ("pivots", "match_recognize"):
            if node.args.get(part):
                unpivots = part == "pivots" and any(pivot.args.get("unpivot") for pivot in node.args[part])
                clause = "UNPIVOT" if unpivots else part.rstrip("s").upper()
                self.findings.mark_opaque(node, f"{clause} after a relation")
                return ScopeRelation(relation.alias, [], "?")
        return relation

    def _derived(self, result: BoundQuery, alias: str) -> ScopeRelation:
        self.rows |= result.rows
        self.scope.reads |= result.reads
        read = Cte(result.cte) if result.cte else DerivedTable(result.body) if result.body else None
        return ScopeRelation(
            alias, result.columns, result.open, input=read, renamed=result.names, query=result
        )

    def _table(self, node: exp.Table) -> ScopeRelation:
        parts = tuple(part.name for part in node.parts)
        if len(parts) == 1 and (cte := self.ctes.get(parts[0].lower())):
            self.findings.marks.relation(node, NO_NODE)
            return self._derived(cte, parts[0])
        relation = self.inputs.find(parts) or self.inputs.find(tuple(map(str.lower, parts)))
        if relation:
            self.findings.marks.relation(node, relation.id)
            self.scope.reads.add(relation.id)
            open_ = str(relation.id) if relation.open else ""
            return ScopeRelation(
                parts[-1], bound_columns(relation), open_, parts[:-1], input=Scan(relation.id)
            )
        self._unknown_table(node, parts)
        self.findings.marks.not_split(f"{'.'.join(parts)} is unknown")
        return ScopeRelation(parts[-1], [], "?")

    def _unknown_table(self, node: exp.Table, parts: tuple[str, ...]) -> None:
        name = ".".join(parts)
        names = self.inputs.names()
        message = f"'{name}' is not a CTE of this model"
        if self.inputs.model and parts == ("models", self.inputs.model):
            message = f"model '{self.inputs.model}' can't read itself"
            hint = (
                "read its inputs instead, without a condition on stored rows: a batch only reads new records"
            )
        elif parts[-1] in names:
            hint = f"write {{{{ ref('{parts[-1]}') }}}}"
        else:
            otherwise = "read models with {{ ref('…') }}, and topics with {{ source('…', '…') }}"
            hint = did_you_mean(name, [*self.ctes, *names], otherwise)
        qualified = exp.Tuple(expressions=[part.copy() for part in node.parts])
        self.findings.report(qualified, "MS404", message, hint, parts[-1])

    # -- joins

    def _join(self, node: exp.Join) -> None:
        kind, side = (node.kind or "").upper(), (node.side or "").upper()
        before, entered = list(self.scope.relations), len(self.scope.joined)
        reads, self.scope.reads = self.scope.reads, set()
        self._add(node.this)
        left, right = frozenset(reads), frozenset(self.scope.reads)
        self.scope.reads = reads | right
        self._note_forms(node, left, right, kind, side)
        added = self.scope.relations[len(before) :]
        joined = self.scope.joined[entered]
        if len(self.scope.joined) > entered + 1:
            self.findings.marks.not_split("a join within a join")
        if side in {"LEFT", "FULL"} and kind not in {"SEMI", "ANTI"}:
            self.scope.make_nullable(added)
        if side in {"RIGHT", "FULL"}:
            self.scope.make_nullable(before)
        if on := node.args.get("on"):
            self.walk.no_aggregates = "JOIN … ON"
            value = evaluate_condition(self.walk, on)
            self.walk.no_aggregates = ""
            self.rows |= as_kind(value.sources, "join")
        names: list[exp.Expr] = list(node.args.get("using") or ())
        if (node.args.get("method") or "").upper() == "NATURAL":
            names = [exp.to_identifier(name) for name in shared_names(before, added)]
        for name in names:
            self.rows |= join_columns(self.walk, name, before, added, side, joined)
        self._note_join(node, joined, kind, side)
        if (version := system_time(node.this, self.findings.sql)) is not None:
            joined.as_of, sources = valid_at(self.walk, version, joined)
            self.rows |= as_kind(sources, "join")
        if kind in {"SEMI", "ANTI"}:
            for relation in added:
                self.scope.remove(relation)

    def _note_forms(
        self, node: exp.Join, left: frozenset[NodeId], right: frozenset[NodeId], kind: str, side: str
    ) -> None:
        alias = node.this.args.get("alias")
        where = node.this if isinstance(node.this, exp.Table) or alias is None else alias.this or node
        if left and right:
            self.findings.add_form("join", where, left, right)
        if side in {"LEFT", "FULL"} or kind in {"SEMI", "ANTI"}:
            self.findings.add_form("outer join", where, right)
        if side in {"RIGHT", "FULL"}:
            self.findings.add_form("outer join", where, left)

    def _note_join(self, node: exp.Join, joined: JoinedRelation, kind: str, side: str) -> None:
        """Record how a relation is joined with earlier ones."""
        on = node.args.get("on")
        # For a join without a condition, the parser returns TRUE.
        joined.on = on is not None and not isinstance(on, exp.Boolean)
        if joined.relation.call is not None:
            # Each earlier row generates its own rows, so this is not a join of two relations.
            joined.outer = side == "LEFT"
            if joined.on or side not in {"", "LEFT"} or kind not in {"", "INNER", "CROSS"}:
                self.findings.marks.not_split("a condition on generated rows")
            return
        joined.comma = kind == "CROSS" and not joined.on
        if side in {"RIGHT", "FULL"} and any(other.comma for other in self.scope.joined):
            self.findings.marks.not_split(f"a {side} JOIN after relations without a condition")
        join = (kind if kind in {"SEMI", "ANTI"} else side or "INNER").lower()
        if join == "inner" and not joined.on and not joined.equal:
            join = "cross"
        joined.join = cast("JoinKind", join)

    # -- generated rows

    def _lateral(self, node: exp.Lateral) -> None:
        names = [column.name for column in getattr(node.args.get("alias"), "columns", None) or ()]
        alias = node.alias
        if isinstance(node.this, exp.Subquery):
            result = self.findings.subquery(node.this.this, self.scope)
            self.findings.mark_opaque(node, "a LATERAL subquery")
            self.findings.add_form("subquery", node, result.reads)
            relation = self._derived(result, alias)
            if names and not relation.open:
                check_names(self.findings, node.args["alias"], names, relation.columns)
                original = tuple(column.name for column in relation.columns)
                relation = replace(
                    relation, columns=rename_columns(relation.columns, names), renamed=original
                )
        else:
            relation = generated_relation(self.walk, node.this, alias, names)
            relation.call = node.this
        self.rows |= frozenset().union(*(as_kind(column.sources, "join") for column in relation.columns))
        self.scope.add(relation)
        if node.args.get("outer"):
            self.scope.joined[-1].outer = True
            self.scope.make_nullable([relation])


def check_names(findings: Findings, alias: exp.Expr, names: list[str], columns: list[BoundColumn]) -> None:
    """Report a list of column names that does not name each column: `with t(a, b) as (…)`."""
    visible = sum(not column.hidden for column in columns)
    if len(names) != visible:
        message = f"the list names {count_of(len(names), 'column')}, but there {_are(visible)}"
        findings.report(alias, "MS444", message, "name each column once, or remove the list")


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def bound_columns(relation: InputRelation) -> list[BoundColumn]:
    return [
        BoundColumn(c.name, c.type, c.nullable, frozenset({(relation.id, c.name, "direct")}), c.hidden)
        for c in relation.columns
    ]


def shared_names(before: list[ScopeRelation], added: list[ScopeRelation]) -> list[str]:
    """Return the names that both sides of a NATURAL JOIN have, in the order of the left one."""
    right = {column.name.lower() for relation in added for column in relation.columns}
    names = [column.name for relation in before for column in relation.columns if not column.hidden]
    return list(dict.fromkeys(name for name in names if name.lower() in right))


def join_columns(
    evaluator: Evaluator,
    name: exp.Expr,
    before: list[ScopeRelation],
    added: list[ScopeRelation],
    side: str,
    joined: JoinedRelation,
) -> frozenset[Source]:
    """Merge the two columns that USING names; return the lineage of the condition."""
    folded = name.name.lower()
    merged_before = evaluator.scope.merged.get(folded)
    left, left_refs = (
        (merged_before, evaluator.scope.sides[folded]) if merged_before else _find(before, folded)
    )
    right, right_refs = _find(added, folded)
    if left is None or right is None:
        _missing(evaluator, name, [*([] if left else before), *([] if right else added)])
        return NOTHING
    joined.equal += (_equal(left, left_refs, right, right_refs),)
    evaluator.scope.sides[folded] = (
        left_refs + right_refs if side == "FULL" else right_refs if side == "RIGHT" else left_refs
    )
    one, other = (right, left) if side == "RIGHT" else (left, right)
    if side == "FULL":
        if left.type != right.type:
            evaluator.findings.marks.not_split("a FULL JOIN whose USING columns have different types")
        type_ = common_type(left.type, right.type) or UNKNOWN
        merged = BoundColumn(left.name, type_, True, as_kind(left.sources | right.sources, "computed"))
    else:
        merged = BoundColumn(left.name, one.type, one.nullable, one.sources)
    evaluator.scope.merged[folded] = merged
    return as_kind(one.sources | other.sources, "join")


def _equal(left: BoundColumn, left_refs: Refs, right: BoundColumn, right_refs: Refs) -> Expression:
    type_ = common_type(left.type, right.type) or UNKNOWN
    return Expression(
        (*column_pieces(left_refs), " = ", *column_pieces(right_refs)),
        BOOLEAN,
        left.nullable or right.nullable,
        raises=cast_raises(left.type, type_) or cast_raises(right.type, type_),
    )


def _find(relations: list[ScopeRelation], folded: str) -> tuple[BoundColumn | None, Refs]:
    for relation in relations:
        if column := relation.find(folded):
            return column, ((relation.key, column.name),)
    for relation in relations:
        if relation.open:
            taken = relation.assume(folded)
            return taken, ((relation.key, taken.name),)
    return None, ()


def _missing(evaluator: Evaluator, name: exp.Expr, relations: list[ScopeRelation]) -> None:
    where = "' and '".join(relation.alias for relation in relations)
    columns = [column.name for relation in relations for column in relation.columns]
    message = f"'{where}' has no column '{name.name}'"
    hint = did_you_mean(name.name, columns, "name a column of both sides")
    evaluator.findings.report(name, "MS402", message, hint, name.name)
