"""Row checks: data tests that a query applies to each row before storing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millstream.compile.assemble import name_tests
from millstream.compile.data_tests import failing_condition
from millstream.compile.options import only_expression
from millstream.core.errors import Diagnostic
from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.outputs.kinds import VALID_FROM, VALID_TO
from millstream.outputs.registry import materialization_of
from millstream.plan.nodes import RowCheck
from millstream.project.data_tests import KINDS
from millstream.project.values import DataTest, ModelProperties, Project, Severity
from millstream.sql.values import Analysis, InputRelation

_KEEPS_OUT = ("drop", "dead_letter")
_SINGLE_ROW = " or ".join(name for name, kind in KINDS.items() if kind.single_row)


def row_checks(
    config: Mapping[str, Any],
    properties: ModelProperties | None,
    relation: InputRelation,
    analyse: Callable[[str, InputRelation], Analysis],
) -> tuple[tuple[RowCheck, ...], list[Diagnostic]]:
    """Return the row checks of a model, and the errors in their SQL."""
    if properties is None or not materialization_of(relation.id.name, config).stored_as:
        return (), _not_stored(relation.id, properties)
    checks: list[RowCheck] = []
    diagnostics: list[Diagnostic] = []
    columns = {column.name.lower() for column in relation.columns}
    stored = materialization_of(relation.id.name, config)
    # When a version begins and ends depends on other rows.
    versions = {VALID_FROM, VALID_TO} if stored.versions else set[str]()
    for label, column, test in name_tests(relation.id, properties.columns, properties.tests):
        sql = failing_condition(test.name, column or None, test.arguments)
        if sql is None:
            diagnostics += _more_than_a_row(test)
        elif not column or column.lower() in columns:  # an unknown column was reported before
            analysis = analyse(f"select {sql} as option from this", relation)  # noqa: S608 -- of the project
            diagnostics += [
                Diagnostic(
                    diagnostic.code,
                    f"data test '{label}': {diagnostic.message}",
                    test.location,
                    diagnostic.help,
                )
                for diagnostic in analysis.diagnostics
            ]
            wrong = only_expression(analysis)
            if wrong is not None and _of_one_row(wrong) and not wrong.folded & versions:
                checks.append(RowCheck(label, _severity(test), wrong))
            elif not analysis.diagnostics:
                diagnostics += _more_than_a_row(test)
    return tuple(checks), diagnostics


def unstored_tests(project: Project) -> list[Diagnostic]:
    """Reject severities that drop rows for relations that no model stores."""
    described = [(NodeId("source", t.id), t.columns, t.tests) for t in project.sources.values()]
    described += [(NodeId("seed", s.name), s.columns, s.tests) for s in project.seeds.values()]
    return [
        diagnostic
        for id_, columns, tests in described
        for _, _, test in name_tests(id_, columns, tests)
        if test.severity in _KEEPS_OUT
        for diagnostic in [_refused(test, f"'{id_.name}' is not a stored model")]
    ]


def _severity(test: DataTest) -> Severity:
    """Return what happens to a wrong row; if some are tolerated, a single one only warns."""
    return "warn" if test.arguments.get("at_most") else test.severity


def _of_one_row(wrong: Expression) -> bool:
    return wrong.deterministic and not wrong.reads and not wrong.functions


def _not_stored(id_: NodeId, properties: ModelProperties | None) -> list[Diagnostic]:
    if properties is None:
        return []
    tests: Iterable[DataTest] = (t for _, _, t in name_tests(id_, properties.columns, properties.tests))
    reason = f"'{id_.name}' is a view"
    return [_refused(test, reason) for test in tests if test.severity in _KEEPS_OUT]


def _more_than_a_row(test: DataTest) -> list[Diagnostic]:
    reason = f"'{test.name}' needs more than a single row"
    return [_refused(test, reason)] if test.severity in _KEEPS_OUT else []


def _refused(test: DataTest, why: str) -> Diagnostic:
    message = f"severity '{test.severity}' drops single rows before they are stored, but {why}"
    remedy = f"use severity: warn or error, or test {_SINGLE_ROW} on a sink or table"
    return Diagnostic("MS525", message, test.location, remedy)
