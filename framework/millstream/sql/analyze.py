"""Analyzes one model's SQL: its columns with types, its lineage, and its errors."""

import re
from collections.abc import Callable, Mapping

from msgspec.structs import replace
from sqlglot import exp
from sqlglot.tokenizer_core import Token

from millstream.core.expressions import Piece, Read, join_pieces, quote_name
from millstream.project.values import Function
from millstream.sql.binder import Binder
from millstream.sql.bodies import assemble_query
from millstream.sql.clauses import SqlTokens
from millstream.sql.findings import span_of
from millstream.sql.parse import Parsed, parse_sql
from millstream.sql.projection import name_span
from millstream.sql.query import OpaqueBody, PythonCall, SqlQuery
from millstream.sql.reading import without_comments, without_path
from millstream.sql.relations import InputRelations
from millstream.sql.result import BoundQuery
from millstream.sql.system_time import report_unwritten
from millstream.sql.token_roles import TokenRoles
from millstream.sql.values import Analysis, InputRelation, ResultColumn, SqlDiagnostic, SqlWatermark

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

_SPACES = re.compile(r"\s+")

_WORD = re.compile(r"[\w`]+")


def analyze_sql(
    sql: str,
    relation: Callable[[tuple[str, ...]], InputRelation | None],
    known_relations: Callable[[], list[str]],
    functions: Mapping[str, Function],
    *,
    model: str = "",
    text: bool = False,
) -> Analysis:
    """Analyze rendered SQL; `relation` returns what `models.x`, `seeds.x` or `sources.s.t` means.

    `model` is the name of the model itself, which it can't read. With `text`, the whole SQL is part of the
    result.
    """
    parsed = parse_sql(sql)
    if not isinstance(parsed, Parsed):
        return Analysis(open=True, diagnostics=parsed)
    binder = Binder(parsed, sql, InputRelations(relation, known_relations, model), functions)
    try:
        result = binder.query(parsed.tree)
    except RecursionError:
        deep = SqlDiagnostic("MS401", "the SQL is nested too deeply", "split it into several models", 0, 1)
        return Analysis(open=True, diagnostics=(deep,))
    findings = binder.findings
    more = foreign_clauses(parsed.tree, parsed.tokens.tokens, sql)
    diagnostics = [*findings.diagnostics, *more, *_names(result, sql)]
    diagnostics = diagnostics or report_unwritten(findings.marks, sql)
    return Analysis(
        columns=tuple(
            ResultColumn(column.name, column.type, column.nullable, column.sources)
            for column in result.columns
            if column.name
        ),
        rows=result.rows,
        functions=tuple(sorted(findings.called)),
        opaque=tuple(findings.opaque),
        open=bool(result.open),
        watermarks=tuple(
            SqlWatermark(_word(sql, clause.start), sql[slice(*clause.expression)], sql[slice(*clause.delay)])
            for clause in parsed.tokens.watermarks
        ),
        diagnostics=tuple(diagnostics),
        query=None if diagnostics else _query(binder, result, text=text),
        casts=tuple(dict.fromkeys(findings.casts)),
    )


def _query(binder: Binder, result: BoundQuery, *, text: bool) -> SqlQuery:
    """Return the SQL clause by clause, or unchanged where it can't be split reliably."""
    findings, tokens = binder.findings, binder.text
    if tokens.watermarks:
        findings.marks.not_split("a WATERMARK that does not follow a relation")
    reasons = tuple(findings.opaque or findings.marks.not_split_reasons)
    called = tuple(sorted(findings.called)) if text else ()
    changing = _changing(binder) if text else ()
    if result.body is not None and not reasons:
        full_text = opaque_pieces(tokens.source, findings.marks) if text else ()
        split = assemble_query(result.body, binder.bodies)
        calls = _python_calls(binder) if text else ()
        return replace(
            split, forms=findings.forms, text=full_text, called=called, changing=changing, python_calls=calls
        )
    pieces = opaque_pieces(tokens.source, findings.marks)
    reasons = reasons or ("a query that is not analyzed",)
    body = OpaqueBody(pieces, reasons, 0, len(findings.sql))
    return SqlQuery(
        body,
        forms=findings.forms,
        text=pieces if text else (),
        called=called,
        at_rest=_at_rest(binder, result) if text else None,
        changing=changing,
        python_calls=_python_calls(binder),
    )


def _python_calls(binder: Binder) -> tuple[PythonCall, ...]:
    functions = binder.findings.functions
    return tuple(
        PythonCall(name, functions[name].table, start, start + len(name))
        for start, name in sorted(binder.findings.marks.python.items())
    )


def _at_rest(binder: Binder, result: BoundQuery) -> SqlQuery | None:
    """Return opaque SQL clause by clause, if it can be split for rows at rest."""
    if result.body is None or binder.findings.unsplit or binder.findings.marks.unsplit:
        return None
    return assemble_query(result.body, binder.bodies)


def _changing(binder: Binder) -> tuple[str, ...]:
    """Return what gives other values each time, besides Spark's functions, and why."""
    findings = binder.findings
    for name in sorted(findings.called):
        if reason := findings.functions[name].changing:
            return f"{name}()", f"which calls {reason}"
    return tuple(f"'{function}'" for function in sorted(findings.marks.changing)[:1])


def _word(sql: str, start: int) -> str:
    word = _WORD.match(sql, start)
    return word.group().strip("`") if word else ""


def _names(result: BoundQuery, sql: str) -> list[SqlDiagnostic]:
    """Report columns without a unique name."""
    diagnostics: list[SqlDiagnostic] = []
    seen: set[str] = set()
    for index, column in enumerate(result.columns):
        start, stop = name_span(result.origins[index], sql) if index < len(result.origins) else (0, 1)
        if not column.name:
            message = f"column {index + 1} has no name"
            diagnostics.append(
                SqlDiagnostic("MS409", message, "add a name: … as name", start, stop, sql[start:stop])
            )
        elif column.name.lower() in seen:
            message = f"two columns are named '{column.name}'"
            remedy = "rename one, or exclude it: * except (…)"
            diagnostics.append(SqlDiagnostic("MS408", message, remedy, start, stop, sql[start:stop]))
        seen.add(column.name.lower())
    return diagnostics


def opaque_pieces(source: SqlTokens, roles: TokenRoles) -> tuple[Piece, ...]:
    """Return all of the SQL, with the relations that it reads as separate pieces."""
    pieces: list[Piece] = []
    tokens, position, index = source.tokens, 0, 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token.start < position:
            continue
        pieces.append(_gap(source.sql[position : token.start]))
        if (stop := roles.skipped.get(token.start)) is not None:
            position = stop
            continue
        if token.start in roles.opened:
            pieces.append("(")
        named, column = roles.relations.get(token.start), roles.references.get(token.start)
        position = token.end + 1
        if named is not None:
            pieces.append(Read(named.id))
            position = _before_alias(source, named.stop) if named.alias else named.stop
            pieces.append(_gap(source.sql[named.stop : position]))
            pieces += [f" as {quote_name(named.alias)}"] if named.alias else []
        elif column is not None and column.by_path:
            position = column.stop
            pieces += without_path(column)
        else:
            pieces.append(source.sql[token.start : position])
        pieces += roles.closed.get(position, ())
    return join_pieces([*pieces, _gap(source.sql[position:])])


def _before_alias(source: SqlTokens, stop: int) -> int:
    """Return the position of a relation's alias: after TABLESAMPLE and WATERMARK."""
    index = source.index_at(stop)
    tokens = source.tokens
    end = tokens[index].start if index < len(tokens) else len(source.sql)
    if not _gap(source.sql[stop:end]).isspace() and end > stop:
        return len(source.sql[:end].rstrip())
    if index + 1 < len(tokens) and tokens[index].text.lower() == "tablesample":
        return tokens[source.match[index + 1]].end + 1
    return stop


def _gap(text: str) -> str:
    """Return the text between tokens: a space, or what was hidden from the parser."""
    if not text:
        return ""
    text = without_comments(text)
    return text if "'" in text else _SPACES.sub(" ", text)


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
            diagnostics.append(SqlDiagnostic("MS433", message, "remove it", start, stop, sql[start:stop]))
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
    return SqlDiagnostic("MS430", message, remedy, start, stop, sql[start:stop])
