"""Clauses that sqlglot reads in any dialect, and that Spark lacks or that nothing here could obey."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from millstream.sql.findings import span_of
from millstream.sql.values import SqlDiagnostic

_QUERY = frozenset(("with_", "order", "sort", "cluster", "distribute", "limit", "offset"))
_RELATION = frozenset(("this", "alias", "joins", "laterals", "sample", "pivots"))
_SUPPORTED: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: _QUERY | {
        "expressions", "from_", "joins", "laterals", "where", "group", "having", "qualify", "windows",
        "distinct", "hint",
    },
    exp.Table: _RELATION | {"db", "catalog", "version"},
    exp.Subquery: _RELATION | _QUERY,
    exp.Join: frozenset(("this", "on", "using", "side", "kind", "method")),
    exp.Group: frozenset(("expressions", "all", "rollup", "cube", "grouping_sets")),
    exp.Lateral: frozenset(("this", "view", "outer", "alias", "cross_apply")),
    exp.Limit: frozenset(("this", "expression")),
    exp.Distinct: frozenset(("expressions",)),
    **dict.fromkeys(
        (exp.Union, exp.Except, exp.Intersect), _QUERY | {"this", "expression", "distinct", "by_name"}
    ),
}  # fmt: skip
"""The supported arguments of these nodes; others belong to other databases."""
_AS_OF = "FOR SYSTEM_TIME AS OF"
_METHODS = frozenset(("", "NATURAL"))


def foreign_clauses(tree: exp.Expr, tokens: list[Token], sql: str) -> list[SqlDiagnostic]:
    """Find clauses of other databases, which would be dropped silently."""
    diagnostics: list[SqlDiagnostic] = []
    for node in tree.walk():
        if isinstance(node, exp.Table) and node.args.get("version"):
            diagnostic = _version(node, tokens, sql)
            if diagnostic is not None:
                diagnostics.append(diagnostic)
        elif (clause := _unknown_clause(node)) is not None:
            start, stop = span_of(node, sql)
            message = f"Spark does not support this clause: {clause}"
            diagnostics.append(SqlDiagnostic("MS433", message, start, stop, "remove it", sql[start:stop]))
    return diagnostics


def _unknown_clause(node: exp.Expr) -> str | None:
    supported = _SUPPORTED.get(type(node))
    if supported is not None:
        for name, value in node.args.items():
            if value and name not in supported:
                return name.strip("_").replace("_", " ").upper()
    if isinstance(node, exp.Join) and (method := (node.method or "").upper()) not in _METHODS:
        return f"{method} JOIN"
    if isinstance(node, exp.Lateral) and node.args.get("cross_apply") is not None:
        return "APPLY"
    if isinstance(node, exp.Fetch):
        return "FETCH"
    return None


def _version(node: exp.Table, tokens: list[Token], sql: str) -> SqlDiagnostic | None:
    """Report `TIMESTAMP AS OF` and the like at the beginning of the clause."""
    after = node.parts[-1].meta.get("end", 0)
    clause = [token for token in tokens if token.start > after]
    last = next((token for token in clause if token.text.lower() in {"of", "as of"}), clause[0])
    start, stop = clause[0].start, last.end + 1
    words = " ".join(sql[start:stop].upper().split())
    if words != _AS_OF:
        message = f"'{words}' is not supported: a join reads the newest version of a table"
        remedy = "remove the clause, or store the versions as rows and compare their times in ON"
    elif isinstance(node.parent, exp.Join):
        return None
    else:
        message = (
            f"'{words}' is for a relation that is joined: its time comes from the row that it is joined with"
        )
        remedy = "remove the clause, and compare valid_from and valid_to in WHERE"
    return SqlDiagnostic("MS430", message, start, stop, remedy, sql[start:stop])
