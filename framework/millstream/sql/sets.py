"""Sets of rows: UNION, INTERSECT, EXCEPT and VALUES."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import NULL, STRING, UNKNOWN
from millstream.sql.bodies import set_body
from millstream.sql.coercion import common_type, common_type_of
from millstream.sql.constant_texts import all_texts, check_texts
from millstream.sql.expressions import Evaluator
from millstream.sql.findings import Findings
from millstream.sql.keywords import keyword_before
from millstream.sql.ordering import check_distinct
from millstream.sql.query import Body
from millstream.sql.result import BoundQuery
from millstream.sql.scope import NOTHING, BoundColumn, as_kind
from millstream.sql.value import Value, nullable_as


def set_operation(
    findings: Findings, node: exp.SetOperation, left: BoundQuery, right: BoundQuery
) -> BoundQuery:
    rows = left.rows | right.rows
    reads = left.reads | right.reads
    keyword = keyword_before(findings.source, node.right)
    if not isinstance(node, exp.Union):
        findings.mark_opaque(node, f"{type(node).__name__.upper()}", at_rest=False)
        findings.add_form("set operation", keyword, reads)
    else:
        findings.add_form("union", keyword, left.reads, right.reads)
        if node.args.get("distinct"):
            findings.add_form("distinct", keyword, reads)
    if node.args.get("by_name"):
        right = _by_name(findings, node, left, right)
    comparable = bool(node.args.get("by_name")) or len(left.columns) == len(right.columns)
    if not comparable and not (left.open or right.open):
        message = f"the sides have {len(left.columns)} and {len(right.columns)} columns"
        findings.report(node.right, "MS412", message, "select the same columns on both sides")
    pairs = zip(left.columns, right.columns, strict=False)
    columns = [_combined(findings, node, a, b, report=comparable) for a, b in pairs]
    columns += left.columns[len(columns) :]
    if node.args.get("distinct") or not isinstance(node, exp.Union):
        for column in columns:
            check_distinct(findings, node.right, column.type)
        rows |= frozenset().union(*(as_kind(column.sources, "group") for column in columns))
    body: Body | None = None
    if not findings.diagnostics:
        body = set_body(node, left, right, columns)
    return BoundQuery(
        columns, rows, left.open or right.open, left.origins, body, reads=reads, scope=left.scope
    )


def _combined(
    findings: Findings, node: exp.SetOperation, left: BoundColumn, right: BoundColumn, *, report: bool
) -> BoundColumn:
    """Return the column of two; without `report`, columns stand next to the wrong ones."""
    type_ = common_type(left.type, right.type)
    if type_ is None and report:
        message = f"column '{left.name}' is {left.type} on one side and {right.type} on the other"
        findings.report(node.right, "MS407", message, "cast one to the other's type")
    cells = [Value(side.type, side.nullable, texts=side.texts) for side in (left, right)]
    if report:
        check_texts(findings, cells, type_, "branch")
    type_ = type_ or UNKNOWN
    sides = [nullable_as(cell, type_) for cell in cells]
    # Rows of EXCEPT come from the left side; those of INTERSECT are on both sides.
    nullable = sides[0]
    if isinstance(node, exp.Union | exp.Intersect):
        nullable = any(sides) if isinstance(node, exp.Union) else all(sides)
    return BoundColumn(left.name, type_, nullable, left.sources | right.sources, texts=all_texts(cells))


def _by_name(findings: Findings, node: exp.SetOperation, left: BoundQuery, right: BoundQuery) -> BoundQuery:
    by_name = {column.name.lower(): column for column in right.columns}
    if "" in by_name or not all(column.name for column in left.columns):
        # Spark finds it by the text of its expression.
        findings.marks.not_split("a column without a name in UNION BY NAME")
        return right
    if not (left.open or right.open):
        missing = [column.name for column in left.columns if column.name.lower() not in by_name]
        left_names = {column.name.lower() for column in left.columns}
        extra = [column.name for column in right.columns if column.name.lower() not in left_names]
        if missing or extra:
            names = ", ".join([*missing, *extra])
            message = f"only one side of UNION BY NAME has {names}"
            findings.report(node.right, "MS412", message, "select it on both sides")
    ordered = [by_name.get(column.name.lower(), column) for column in left.columns]
    return BoundQuery(ordered, right.rows, right.open, body=right.body, reads=right.reads)


def evaluate_values(evaluator: Evaluator, node: exp.Values) -> BoundQuery:
    """Return the columns of `values (1, 'a'), (2, 'b')`: col1, col2."""
    lines = [
        evaluator.values(row.expressions if isinstance(row, exp.Tuple) else [row]) for row in node.expressions
    ]
    if len({len(line) for line in lines}) > 1:
        shortest, longest = min(map(len, lines)), max(map(len, lines))
        message = f"rows of VALUES have {shortest} to {longest} columns"
        evaluator.findings.report(node, "MS412", message, "write as many values in each row")
    columns: list[BoundColumn] = []
    for index in range(len(lines[0])):
        cells = [line[index] for line in lines if index < len(line)]
        type_ = common_type_of([cell.type for cell in cells])
        kinds = {cell.type for cell in cells} - {NULL, UNKNOWN}
        # VALUES does not cast texts.
        if type_ is None or (STRING in kinds and len(kinds) > 1):
            shown = " and ".join(dict.fromkeys(str(cell.type) for cell in cells))
            message = f"column {index + 1} of VALUES is {shown}"
            evaluator.findings.report(node, "MS407", message, "cast to one type")
        nullable = any(nullable_as(cell, type_ or UNKNOWN) for cell in cells)
        columns.append(BoundColumn(f"col{index + 1}", type_ or UNKNOWN, nullable, NOTHING))
    return BoundQuery(columns)
