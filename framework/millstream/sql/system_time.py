"""FOR SYSTEM_TIME AS OF: a join with the version of a row that was valid at a time.

It is written as conditions on the times of versions, both in the values of clauses and in the text that runs.
"""

from __future__ import annotations

import re

from sqlglot import exp

from millstream.core.expressions import Expression, Piece, Ref, quote_name
from millstream.core.types import BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN
from millstream.outputs.kinds import VALID_FROM, VALID_TO
from millstream.sql.clauses import FromRelation, NotSplitError, SqlTokens
from millstream.sql.expressions import Evaluator
from millstream.sql.reading import ExpressionReader, without_path
from millstream.sql.scope import NOTHING, JoinedRelation
from millstream.sql.token_roles import TokenRoles
from millstream.sql.values import Source, SqlDiagnostic

_TIMES = (TIMESTAMP, TIMESTAMP_NTZ, DATE, UNKNOWN)
_FOR = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*for\b", re.IGNORECASE | re.DOTALL)
_CLAUSE = 4
"""The number of its tokens before the column."""


def system_time(node: exp.Expr, sql: str) -> exp.Version | None:
    """Return the clause FOR SYSTEM_TIME of a relation; the parser reads `TIMESTAMP AS OF` as the same."""
    if not isinstance(node, exp.Table) or not _FOR.match(sql, node.parts[-1].meta.get("end", 0) + 1):
        return None
    version: exp.Version | None = node.args.get("version")
    return version


def valid_at(
    evaluator: Evaluator, version: exp.Version, joined: JoinedRelation
) -> tuple[tuple[int, int] | None, frozenset[Source]]:
    """Return where the time of a version is, and the lineage of the condition."""
    time, relation = version.expression, joined.relation
    if not isinstance(time, exp.Column):
        remedy = "compute it as a column in a subquery, and name that column"
        evaluator.findings.report(version, "MS430", "FOR SYSTEM_TIME AS OF needs a column", remedy)
        return None, NOTHING
    value = evaluator.value(time)
    if value.type not in _TIMES:
        message = f"a version is valid at a time, and '{time.name}' is {value.type}"
        evaluator.findings.report(time, "MS407", message, f"compare with cast({time.name} as timestamp)")
        return None, NOTHING
    bounds = [relation.find(name) for name in (VALID_FROM, VALID_TO)]
    if not all(bounds) and not relation.open:
        message = f"'{relation.alias}' keeps no versions"
        remedy = "set `versions` of the table or of the reference topic, such as versions: 30 days"
        evaluator.findings.report(version, "MS430", message, remedy)
        return None, NOTHING
    if not joined.on:
        remedy = "write JOIN … ON, and compare the key in ON"
        evaluator.findings.report(version, "MS430", "FOR SYSTEM_TIME AS OF needs a join with ON", remedy)
        return None, NOTHING
    sources = value.sources.union(*(column.sources for column in bounds if column is not None))
    start, stop = time.parts[0].meta.get("start"), time.parts[-1].meta.get("end")
    if start is None or stop is None:
        evaluator.findings.marks.not_split(f"'{time.name}' has no position in the SQL")
        return None, sources
    evaluator.findings.marks.as_of.add((start, stop + 1))
    return (start, stop + 1), sources


def read_conditions(
    source: SqlTokens, roles: TokenRoles, joined: JoinedRelation, part: FromRelation, reader: ExpressionReader
) -> tuple[Expression, ...]:
    """Return the conditions of a join with FOR SYSTEM_TIME AS OF, and mark where the text gets them."""
    if joined.as_of is None or part.on is None:
        return ()
    start, stop = joined.as_of
    first = source.index_at(start)
    time = reader.expression((first, source.index_at(stop)), TIMESTAMP)
    key, alias = joined.relation.key, joined.relation.alias
    reference = roles.references.get(start)
    if reference is None:
        raise NotSplitError("FOR SYSTEM_TIME AS OF a column that is not in scope")
    written: list[Piece] = [*without_path(reference)] if reference.by_path else [source.sql[start:stop]]
    begin, end = source.span(part.on)
    roles.skipped[source.tokens[first - _CLAUSE].start] = stop
    roles.opened.add(begin)
    names = f"{quote_name(alias)}.{VALID_FROM}", f"{quote_name(alias)}.{VALID_TO}"
    both = (*_begun(names[0], written), " and ", *_not_ended(names[1], written))
    roles.closed[end] = (") and ", *both)
    return (
        Expression(_begun(Ref(VALID_FROM, key), time.pieces), BOOLEAN, atomic=True, start=start, stop=stop),
        Expression(_not_ended(Ref(VALID_TO, key), time.pieces), BOOLEAN, atomic=True, start=start, stop=stop),
    )


def report_unwritten(roles: TokenRoles, sql: str) -> list[SqlDiagnostic]:
    """Report clauses in SQL that could not be split, which would run as they are."""
    remedy = "compare valid_from and valid_to with it in ON"
    message = "FOR SYSTEM_TIME AS OF is not supported within SQL that Millstream can't split into clauses"
    left = sorted(span for span in roles.as_of if span[1] not in roles.skipped.values())
    return [SqlDiagnostic("MS430", message, remedy, *span, sql[slice(*span)]) for span in left]


def _begun(bound: Piece, time: list[Piece] | tuple[Piece, ...]) -> tuple[Piece, ...]:
    return ("(", bound, " is null or ", bound, " <= ", *time, ")")


def _not_ended(bound: Piece, time: list[Piece] | tuple[Piece, ...]) -> tuple[Piece, ...]:
    return ("(", bound, " is null or ", *time, " < ", bound, ")")
