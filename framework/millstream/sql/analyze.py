"""One model's SQL becomes its columns with types, its lineage, and what is wrong with it."""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from millstream.project.values import Function
from millstream.sql.binder import Binder
from millstream.sql.bodies import query
from millstream.sql.foreign import foreign
from millstream.sql.parse import Parsed, parse
from millstream.sql.projection import name_place
from millstream.sql.query import Query, Whole
from millstream.sql.relations import Inputs
from millstream.sql.result import Result
from millstream.sql.values import Analysis, InputRelation, Problem, ResultColumn, Watermark
from millstream.sql.whole import whole


def analyze(
    sql: str,
    relation: Callable[[tuple[str, ...]], InputRelation | None],
    known_relations: Callable[[], list[str]],
    functions: Mapping[str, Function],
) -> Analysis:
    """Analyse rendered SQL; `relation` gives what `models.x`, `seeds.x` or `sources.s.t` is."""
    parsed = parse(sql)
    if not isinstance(parsed, Parsed):
        return Analysis(open=True, problems=parsed)
    binder = Binder(parsed, sql, Inputs(relation, known_relations), functions)
    try:
        result = binder.query(parsed.tree)
    except RecursionError:
        deep = Problem("MS401", "the SQL is nested too deeply", 0, 1, "split it into several models")
        return Analysis(open=True, problems=(deep,))
    findings = binder.findings
    more = foreign(parsed.tree, parsed.tokens.tokens, sql)
    problems = [*findings.problems, *more, *_names(result, sql)]
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
        problems=tuple(problems),
        query=None if problems else _query(binder, result),
    )


def _query(binder: Binder, result: Result) -> Query:
    """Return what the SQL says, or all of it as it is where it can't be taken apart for sure."""
    findings, text = binder.findings, binder.text
    if text.watermarks:
        findings.marks.not_apart("a WATERMARK of something that is no relation")
    reasons = tuple(findings.opaque or findings.marks.whole)
    if result.body is not None and not reasons:
        return replace(query(result.body, binder.bodies), forms=findings.forms)
    pieces = whole(text.found, findings.marks)
    reasons = reasons or ("a query that is not understood",)
    return Query(Whole(pieces, reasons, 0, len(findings.sql)), forms=findings.forms)


def _word(sql: str, start: int) -> str:
    stop = start
    while stop < len(sql) and (sql[stop].isalnum() or sql[stop] in "_`"):
        stop += 1
    return sql[start:stop].strip("`")


def _names(result: Result, sql: str) -> list[Problem]:
    """Every column of a model has a name of its own."""
    problems: list[Problem] = []
    seen: set[str] = set()
    for index, column in enumerate(result.columns):
        start, stop = name_place(result.origins[index], sql) if index < len(result.origins) else (0, 1)
        if not column.name:
            message = f"column {index + 1} has no name"
            problems.append(Problem("MS409", message, start, stop, "give it one: … as name", sql[start:stop]))
        elif column.name.lower() in seen:
            message = f"two columns are named '{column.name}'"
            remedy = "rename one, or leave it out: * except (…)"
            problems.append(Problem("MS408", message, start, stop, remedy, sql[start:stop]))
        seen.add(column.name.lower())
    return problems
