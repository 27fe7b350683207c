"""One model's SQL becomes its columns with types, its lineage, and what is wrong with it."""

from collections.abc import Callable, Mapping

from millstream.project.values import Function
from millstream.sql.binder import Binder, Result
from millstream.sql.expressions import extent
from millstream.sql.parse import Parsed, parse
from millstream.sql.values import Analysis, InputRelation, Problem, ResultColumn, Watermark


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
    binder = Binder(sql, relation, known_relations, functions, parsed.tokens.variant_paths)
    try:
        result = binder.query(parsed.tree)
    except RecursionError:
        deep = Problem("MS401", "the SQL is nested too deeply", 0, 1, "split it into several models")
        return Analysis(open=True, problems=(deep,))
    shared = binder.shared
    problems = [*shared.problems, *_names(result, parsed, sql)]
    return Analysis(
        columns=tuple(ResultColumn(c.name, c.type, c.nullable, c.sources) for c in result.columns if c.name),
        rows=result.rows,
        functions=tuple(sorted(shared.called)),
        opaque=tuple(shared.opaque),
        open=bool(result.open),
        watermarks=tuple(
            Watermark(_word(sql, clause.start), sql[slice(*clause.expression)], sql[slice(*clause.delay)])
            for clause in parsed.tokens.watermarks
        ),
        problems=tuple(problems),
    )


def _word(sql: str, start: int) -> str:
    stop = start
    while stop < len(sql) and (sql[stop].isalnum() or sql[stop] in "_`"):
        stop += 1
    return sql[start:stop].strip("`")


def _names(result: Result, parsed: Parsed, sql: str) -> list[Problem]:
    """Every column of a model has a name of its own."""
    problems: list[Problem] = []
    seen: set[str] = set()
    items = parsed.tree.selects
    starred = any(item.is_star for item in items) or len(items) != len(result.columns)
    for index, column in enumerate(result.columns):
        start, stop = (0, 1) if starred else extent(items[index], sql)
        if starred and (place := sql.lower().find(column.name.lower())) >= 0 and column.name:
            start, stop = place, place + len(column.name)
        if not column.name:
            problems.append(
                Problem("MS409", f"column {index + 1} has no name", start, stop, "give it one: … as name")
            )
        elif column.name.lower() in seen:
            problems.append(
                Problem(
                    "MS408", f"two columns are named '{column.name}'", start, stop,
                    "rename one, or leave it out: * except (…)", column.name,
                )
            )
        seen.add(column.name.lower())
    return problems
