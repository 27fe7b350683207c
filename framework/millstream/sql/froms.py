"""The FROM clause of a SELECT as values."""

from __future__ import annotations

from msgspec import Struct
from sqlglot import exp

from millstream.core.expressions import Expression, Ref
from millstream.core.types import BOOLEAN, UNKNOWN
from millstream.sql.clauses import (
    FromRelation,
    NotSplitError,
    SqlTokens,
    TokenRange,
    call_range,
    index_tokens,
    split_conjuncts,
    split_relations,
)
from millstream.sql.findings import Findings
from millstream.sql.handlers import make_evaluator
from millstream.sql.names import function_name
from millstream.sql.parse import Parsed, parse_sql
from millstream.sql.query import Cte, DerivedTable, From, GeneratedRows, Scan, Select, SelectItem
from millstream.sql.reading import ExpressionReader
from millstream.sql.scope import JoinedRelation, Scope, ScopeRelation, names_within
from millstream.sql.streaming import WatermarkClause
from millstream.sql.system_time import read_conditions


class ClauseText(Struct):
    """The SQL that clauses are read from, and its findings."""

    source: SqlTokens
    findings: Findings
    watermarks: list[WatermarkClause]
    """Those that are not yet assigned to a relation."""


def from_clause(text: ClauseText, token_range: TokenRange | None, scope: Scope) -> tuple[From, ...]:
    """Return the relations of a SELECT, and then the generators in its list."""
    parts = split_relations(text.source, token_range) if token_range else []
    written = [joined for joined in scope.joined if not joined.in_select_list]
    if len(parts) != len(written):
        raise NotSplitError("a FROM clause that could not be split")
    reader = ExpressionReader(text.source, text.findings.marks, scope)
    entries = [_entry(text, joined, part, reader) for joined, part in zip(written, parts, strict=True)]
    generated = [_generated(text, joined, reader) for joined in scope.joined if joined.in_select_list]
    return (*entries, *generated)


def _entry(text: ClauseText, joined: JoinedRelation, part: FromRelation, reader: ExpressionReader) -> From:
    relation = joined.relation
    if relation.call is not None:
        return _generated(text, joined, reader)
    if joined.on and part.on is None:
        raise NotSplitError("a FROM clause that could not be split")
    on = joined.equal
    if part.on is not None:
        on += tuple(
            reader.expression(conjunct, BOOLEAN) for conjunct in split_conjuncts(text.source, part.on)
        )
    on += read_conditions(text.source, text.findings.marks, joined, part, reader)
    start, stop = text.source.span(part.token_range)
    return From(
        relation.key,
        _renamed(relation),
        _names(relation),
        joined.join,
        on,
        _watermark(text, relation, start, stop),
        start,
        stop,
        joined.as_of,
    )


def _names(relation: ScopeRelation) -> tuple[str, ...]:
    return names_within((*relation.columns, *relation.assumed.values()))


def _renamed(relation: ScopeRelation) -> Scan | Cte | DerivedTable:
    """Return the input of a relation; if its alias renames columns, a SELECT that does so."""
    if relation.input is None:
        raise NotSplitError(f"{relation.alias or 'a relation'} could not be split")
    if not relation.renamed:
        return relation.input
    key = relation.key
    items = tuple(
        SelectItem(name, Expression((Ref(source, key),), column.type, column.nullable, atomic=True))
        for name, source, column in zip(
            names_within(relation.columns), relation.renamed, relation.columns, strict=False
        )
    )
    return DerivedTable(Select(items, (From(key, relation.input, relation.renamed),)))


def _generated(text: ClauseText, joined: JoinedRelation, reader: ExpressionReader) -> From:
    """Return a call that generates rows from each earlier row."""
    relation = joined.relation
    start = relation.call.meta.get("start")
    if start is None:
        raise NotSplitError("a call has no position in the SQL")
    token_range = call_range(text.source, start)
    name = function_name(relation.call)
    function = text.findings.functions.get(name)
    python = bool(function and function.table)
    call = reader.expression(token_range, UNKNOWN)
    if any(not ref.relation for ref in call.refs):
        raise NotSplitError(f"{name}() of a column of the same SELECT")
    columns = tuple((column.name, column.type, column.nullable) for column in relation.columns)
    generated = GeneratedRows(call, columns, name, python=python, outer=joined.outer)
    first, last = text.source.span(token_range)
    return From(relation.key, generated, _names(relation), start=first, stop=last)


# -- WATERMARK


def _watermark(
    text: ClauseText, relation: ScopeRelation, start: int, stop: int
) -> tuple[Expression, str] | None:
    clause = next((clause for clause in text.watermarks if start <= clause.start < stop), None)
    if clause is None:
        return None
    text.watermarks.remove(clause)
    if relation.renamed:
        raise NotSplitError("a WATERMARK of a relation whose alias renames its columns")
    sql = text.findings.sql
    first, last = clause.expression
    parsed = parse_sql("select".ljust(first) + sql[first:last])
    if not isinstance(parsed, Parsed):
        text.findings.diagnostics += parsed
        raise NotSplitError("WATERMARK")
    node = parsed.tree.expressions[0]
    if isinstance(node, exp.Alias):
        raise NotSplitError("a WATERMARK that defines a column")
    scope = Scope()
    scope.relations.append(relation)
    value = make_evaluator(text.findings, scope).value(node)
    source = index_tokens(sql, parsed.tokens.tokens)
    reader = ExpressionReader(source, text.findings.marks, scope)
    expression = reader.expression((1, len(source.tokens)), value.type, nullable=value.nullable)
    return expression, " ".join(sql[slice(*clause.delay)].split())
