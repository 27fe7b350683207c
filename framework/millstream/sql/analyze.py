"""Analyzes one model's SQL: its columns with types, its lineage, and its errors."""

import re
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from millstream.project.values import Function
from millstream.sql.binder import Binder
from millstream.sql.bodies import query
from millstream.sql.parse import Parsed, parse
from millstream.sql.projection import name_span
from millstream.sql.query import OpaqueBody, PythonCall, Query
from millstream.sql.relations import Inputs
from millstream.sql.result import Result
from millstream.sql.system_time import unwritten
from millstream.sql.unsupported_syntax import foreign_clauses
from millstream.sql.values import Analysis, InputRelation, ResultColumn, SqlDiagnostic, Watermark
from millstream.sql.whole import opaque_pieces

_WORD = re.compile(r"[\w`]+")


def analyze(
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
    parsed = parse(sql)
    if not isinstance(parsed, Parsed):
        return Analysis(open=True, diagnostics=parsed)
    binder = Binder(parsed, sql, Inputs(relation, known_relations, model), functions)
    try:
        result = binder.query(parsed.tree)
    except RecursionError:
        deep = SqlDiagnostic("MS401", "the SQL is nested too deeply", 0, 1, "split it into several models")
        return Analysis(open=True, diagnostics=(deep,))
    findings = binder.findings
    more = foreign_clauses(parsed.tree, parsed.tokens.tokens, sql)
    diagnostics = [*findings.diagnostics, *more, *_names(result, sql)]
    diagnostics = diagnostics or unwritten(findings.marks, sql)
    return Analysis(
        columns=tuple(ResultColumn(c.name, c.type, c.nullable, c.sources) for c in result.columns if c.name),
        rows=result.rows,
        functions=tuple(sorted(findings.called)),
        opaque=tuple(findings.opaque),
        open=bool(result.open),
        watermarks=tuple(
            Watermark(_word(sql, clause.start), sql[slice(*clause.expression)], sql[slice(*clause.delay)])
            for clause in parsed.tokens.watermarks
        ),
        diagnostics=tuple(diagnostics),
        query=None if diagnostics else _query(binder, result, text=text),
    )


def _query(binder: Binder, result: Result, *, text: bool) -> Query:
    """Return the SQL clause by clause, or unchanged where it can't be split reliably."""
    findings, tokens = binder.findings, binder.text
    if tokens.watermarks:
        findings.marks.not_split("a WATERMARK that does not follow a relation")
    reasons = tuple(findings.opaque or findings.marks.not_split_reasons)
    called = tuple(sorted(findings.called)) if text else ()
    changing = _changing(binder) if text else ()
    if result.body is not None and not reasons:
        full_text = opaque_pieces(tokens.source, findings.marks) if text else ()
        split = query(result.body, binder.bodies)
        calls = _python_calls(binder) if text else ()
        return replace(
            split, forms=findings.forms, text=full_text, called=called, changing=changing, python_calls=calls
        )
    pieces = opaque_pieces(tokens.source, findings.marks)
    reasons = reasons or ("a query that is not analyzed",)
    body = OpaqueBody(pieces, reasons, 0, len(findings.sql))
    return Query(
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


def _at_rest(binder: Binder, result: Result) -> Query | None:
    """Return opaque SQL clause by clause, if it can be split for rows at rest."""
    if result.body is None or binder.findings.unsplit or binder.findings.marks.unsplit:
        return None
    return query(result.body, binder.bodies)


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


def _names(result: Result, sql: str) -> list[SqlDiagnostic]:
    """Report columns without a unique name."""
    diagnostics: list[SqlDiagnostic] = []
    seen: set[str] = set()
    for index, column in enumerate(result.columns):
        start, stop = name_span(result.origins[index], sql) if index < len(result.origins) else (0, 1)
        if not column.name:
            message = f"column {index + 1} has no name"
            diagnostics.append(
                SqlDiagnostic("MS409", message, start, stop, "add a name: … as name", sql[start:stop])
            )
        elif column.name.lower() in seen:
            message = f"two columns are named '{column.name}'"
            remedy = "rename one, or exclude it: * except (…)"
            diagnostics.append(SqlDiagnostic("MS408", message, start, stop, remedy, sql[start:stop]))
        seen.add(column.name.lower())
    return diagnostics
