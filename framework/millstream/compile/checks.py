"""Data tests that a query asks of each row before it stores it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millstream.compile.assemble import labelled
from millstream.compile.options import only_expression
from millstream.data_tests import failing_condition
from millstream.errors import Diagnostic
from millstream.expressions import Expression
from millstream.materialization import View, materialization_of
from millstream.plan.nodes import Check
from millstream.project.values import DataTest, ModelProperties, Project, Severity
from millstream.sql.values import Analysis, InputRelation

_KEEPS_OUT = ("drop", "dead_letter")


def row_checks(
    config: Mapping[str, Any],
    properties: ModelProperties | None,
    relation: InputRelation,
    analyse: Callable[[str, InputRelation], Analysis],
) -> tuple[tuple[Check, ...], list[Diagnostic]]:
    """Return the tests of a model that look at one row at a time, and what is wrong with their SQL."""
    if properties is None or isinstance(materialization_of(relation.id, config), View):
        return (), _not_stored(relation.id, properties)
    found: list[Check] = []
    problems: list[Diagnostic] = []
    known = {column.name.lower() for column in relation.columns}
    for label, column, test in labelled(relation.id, properties.columns, properties.tests):
        sql = failing_condition(test.name, column or None, test.arguments)
        if sql is None:
            problems += _more_than_a_row(test)
        elif not column or column.lower() in known:  # an unknown one has been told
            analysis = analyse(f"select {sql} as option from this", relation)  # noqa: S608 -- of the project
            problems += [
                Diagnostic(each.code, f"data test '{label}': {each.message}", test.location, each.help)
                for each in analysis.problems
            ]
            wrong = only_expression(analysis)
            if wrong is not None and _of_one_row(wrong):
                found.append(Check(label, _severity(test), wrong))
            elif not analysis.problems:
                problems += _more_than_a_row(test)
    return tuple(found), problems


def unstored_tests(project: Project) -> list[Diagnostic]:
    """Refuse to keep rows out of what is not stored by a model."""
    described = [(f"source.{t.id}", t.columns, t.tests) for t in project.sources.values()]
    described += [(f"seed.{s.name}", s.columns, s.tests) for s in project.seeds.values()]
    return [
        problem
        for id_, columns, tests in described
        for _, _, test in labelled(id_, columns, tests)
        if test.severity in _KEEPS_OUT
        for problem in [_refused(test, f"'{id_.partition('.')[2]}' is no model that is stored")]
    ]


def _severity(test: DataTest) -> Severity:
    """Return what becomes of a wrong row; where some are tolerated, one alone stops nothing."""
    return "warn" if test.arguments.get("at_most") else test.severity


def _of_one_row(wrong: Expression) -> bool:
    return wrong.deterministic and not wrong.reads and not wrong.functions


def _not_stored(id_: str, properties: ModelProperties | None) -> list[Diagnostic]:
    if properties is None:
        return []
    tests: Iterable[DataTest] = (t for _, _, t in labelled(id_, properties.columns, properties.tests))
    said = f"'{id_.partition('.')[2]}' is a view"
    return [_refused(test, said) for test in tests if test.severity in _KEEPS_OUT]


def _more_than_a_row(test: DataTest) -> list[Diagnostic]:
    said = f"'{test.name}' needs more than a single row"
    return [_refused(test, said)] if test.severity in _KEEPS_OUT else []


def _refused(test: DataTest, why: str) -> Diagnostic:
    message = f"severity '{test.severity}' keeps single rows out of a topic or a table, and {why}"
    remedy = (
        "use severity: warn or error, or test not_null, accepted_values or an expression on a sink or table"
    )
    return Diagnostic("MS525", message, test.location, remedy)
