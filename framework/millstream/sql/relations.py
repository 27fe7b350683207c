"""FROM: tables, subqueries, joins and LATERAL become the relations of a scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import did_you_mean
from millstream.sql.coercion import common_type
from millstream.sql.expressions import Expressions
from millstream.sql.generators import generated
from millstream.sql.scope import NOTHING, Bound, Relation, as_kind
from millstream.sql.values import InputRelation, Source
from millstream.types import UNKNOWN

if TYPE_CHECKING:
    from millstream.sql.binder import Binder, Result


class Relations:
    """Binds the FROM clause of one SELECT into its scope."""

    def __init__(self, binder: Binder, walk: Expressions) -> None:
        self.binder = binder
        self.walk = walk
        self.scope = walk.scope
        self.shared = walk.shared
        self.rows: frozenset[Source] = NOTHING

    def bind(self, node: exp.Select) -> None:
        if from_ := node.args.get("from_"):
            self._add(from_.this)
        for join in node.args.get("joins") or ():
            self._join(join)
        for lateral in node.args.get("laterals") or ():
            self._lateral(lateral)

    def _add(self, node: exp.Expr) -> Relation | None:
        if isinstance(node, exp.Lateral):
            return self._lateral(node)
        relation = self._relation(node)
        if relation.alias and self.scope.relation(relation.alias):
            self.shared.problem(
                node, "MS413", f"'{relation.alias}' names two relations", f"give one an alias: … as {relation.alias}_2"
            )
        self.scope.add(relation)
        for join in node.args.get("joins") or ():
            self._join(join)
        return relation

    def _relation(self, node: exp.Expr) -> Relation:
        alias = node.alias
        names = [column.name for column in getattr(node.args.get("alias"), "columns", None) or ()]
        match node:
            case exp.Table(this=exp.Anonymous() as call):
                return generated(self.walk, call, alias, names)
            case exp.Table():
                relation = self._table(node)
            case exp.Values():
                relation = self._derived(self.binder.values(node, self.scope.parent), "")
            case _:
                result = self.binder.query(node.this if isinstance(node, exp.Subquery) else node, self.scope.parent)
                relation = self._derived(result, "")
        for part in ("pivots", "sample", "match_recognize"):
            if node.args.get(part):
                self.shared.not_understood(node, f"{part.rstrip('s').upper()} after a relation")
                relation = Relation(relation.alias, relation.columns, relation.open or "?")
        columns = [
            Bound(names[index], column.type, column.nullable, column.sources, column.hidden)
            if index < len(names)
            else column
            for index, column in enumerate(relation.columns)
        ]
        return Relation(alias or relation.alias, columns, relation.open)

    def _derived(self, result: Result, alias: str) -> Relation:
        self.rows |= result.rows
        return Relation(alias, result.columns, result.open)

    def _table(self, node: exp.Table) -> Relation:
        parts = tuple(part.name for part in node.parts)
        if len(parts) == 1 and (cte := self.binder.ctes.get(parts[0].lower())):
            return self._derived(cte, parts[0])
        if found := self.binder.relation(parts):
            return Relation(parts[-1], _bound_columns(found), found.id if found.open else "")
        if len(parts) < 2 or parts[0] not in {"models", "seeds", "sources"}:
            self._unknown_table(node, parts)
        return Relation(parts[-1], [], "?")

    def _unknown_table(self, node: exp.Table, parts: tuple[str, ...]) -> None:
        name = ".".join(parts)
        ctes = list(self.binder.ctes)
        known = self.binder.known_relations()
        if parts[-1] in known:
            hint = f"write {{{{ ref('{parts[-1]}') }}}}"
        else:
            hint = did_you_mean(name, [*ctes, *known]) or "read models by {{ ref('…') }}, topics by {{ source('…', '…') }}"
        self.shared.problem(node, "MS404", f"'{name}' is not a CTE of this model", hint, parts[-1])

    # -- joins

    def _join(self, node: exp.Join) -> None:
        kind, side = (node.kind or "").upper(), (node.side or "").upper()
        before = list(self.scope.relations)
        right = self._add(node.this)
        if right is None:
            return
        if side in {"LEFT", "FULL"} and kind not in {"SEMI", "ANTI"}:
            right.columns = [_nullable(column) for column in right.columns]
        if side in {"RIGHT", "FULL"}:
            for relation in before:
                relation.columns = [_nullable(column) for column in relation.columns]
        self.scope.add(self.scope.relations.pop())
        if on := node.args.get("on"):
            self.walk.no_aggregates = "JOIN … ON"
            condition = self.walk.value(on)
            self.walk.no_aggregates = ""
            self.rows |= as_kind(condition.sources, "join")
        names = list(node.args.get("using") or ())
        if (node.args.get("method") or "").upper() == "NATURAL":
            shared = {c.name.lower() for r in before for c in r.columns} & {c.name.lower() for c in right.columns}
            names = [exp.to_identifier(name) for name in sorted(shared)]
        for name in names:
            self._using(name, before, right, side)
        if kind in {"SEMI", "ANTI"}:
            self.scope.relations.remove(right)
            self.scope.add(self.scope.relations.pop())

    def _using(self, name: exp.Expr, before: list[Relation], right: Relation, side: str) -> None:
        folded = name.name.lower()
        left_column = self.scope.merged.get(folded) or next((c for r in before if (c := r.find(folded))), None)
        right_column = right.find(folded)
        for column, relations in ((left_column, before), (right_column, [right])):
            if column is None and not any(r.open for r in relations):
                where = " and ".join(r.alias for r in relations)
                known = [c.name for r in relations for c in r.columns]
                self.shared.problem(
                    name, "MS402", f"'{where}' has no column '{name.name}'", did_you_mean(name.name, known, "name a column of both sides"),
                    name.name,
                )
        if left_column and right_column:
            self.rows |= as_kind(left_column.sources | right_column.sources, "join")
            chosen = right_column if side == "RIGHT" else left_column
            both = side == "FULL"
            self.scope.merged[folded] = Bound(
                left_column.name,
                (common_type(left_column.type, right_column.type) or UNKNOWN) if both else chosen.type,
                left_column.nullable and right_column.nullable if both else chosen.nullable,
                left_column.sources | right_column.sources if both else chosen.sources,
            )

    # -- rows made from rows

    def _lateral(self, node: exp.Lateral) -> Relation:
        names = [column.name for column in getattr(node.args.get("alias"), "columns", None) or ()]
        alias = node.alias
        if isinstance(node.this, exp.Subquery):
            result = self.binder.query(node.this.this, self.scope)
            self.shared.not_understood(node, "a LATERAL subquery")
            relation = self._derived(result, alias)
        else:
            relation = generated(self.walk, node.this, alias, names)
            if node.args.get("outer"):
                relation.columns = [_nullable(column) for column in relation.columns]
        self.rows |= frozenset().union(*(as_kind(column.sources, "join") for column in relation.columns))
        self.scope.add(relation)
        return relation


def _bound_columns(found: InputRelation) -> list[Bound]:
    return [
        Bound(column.name, column.type, column.nullable, frozenset({(found.id, column.name, "direct")}), column.hidden)
        for column in found.columns
    ]


def _nullable(column: Bound) -> Bound:
    return column if column.nullable else Bound(column.name, column.type, True, column.sources, column.hidden)
