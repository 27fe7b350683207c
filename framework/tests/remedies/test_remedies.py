"""Remedies, taken at their word: each is applied to the code that caused it, which then compiles and runs right.

A case is what was written, what is reported of it, and the edit that the remedy asks for. What the edited model gives
is compared on Spark, in several micro-batches; all cases are one project with one Spark.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import remedies_of_changes
import remedies_of_plans
import remedies_of_sql
import remedies_of_state
import remedies_of_tables
from support.long import BUILDS
from support.micro_batches import streamed
from support.spark import SPARK_WARNINGS
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.testing.session import TestSession

pytestmark = SPARK_WARNINGS

PACKAGE = Path(__file__).parents[2] / "millstream"
STATE = (
    remedies_of_state.CASES
    | remedies_of_plans.CASES
    | remedies_of_changes.CASES
    | remedies_of_tables.TABLE_CASES
)
CASES = STATE | remedies_of_sql.CASES
WITH_ROWS = {name: case for name, case in STATE.items() if case.steps}
QUICK = {
    "a key that is not selected",
    "on_close without a window",
    "an outer join without a bound",
    "a DISTINCT that grows",
    "a subquery over a stream",
    "a join of two tables",
    "a window function over a table",
}
"""What runs on Spark in each CI run: one case of each kind of query. The others are `long`."""
PLAIN = """      - name: plain
        key: {name: user_id, type: string}
        columns: [{name: type, type: string}, {name: product_id, type: string}, {name: value, type: double}, {name: amount, type: bigint}, {name: at, type: timestamp}]
      - name: plans
        table: true
        versions: 30 days
        key: {name: user, type: string}
        columns: [{name: plan, type: string}, {name: since, type: timestamp}]
        watermark: {column: since, delay: 10 seconds}
"""
WITHOUT_CASE = {
    "MS501": "a loop of models is in no single one: tests/broken has it",
    "MS545": "it is about the store of a target: tests/compile/test_maintained.py has it",
    "MS547": "it is about the YAML of a metric: tests/compile/test_metrics.py has it",
}
"""Codes without a case, and why."""


def written(root, models, files, *, warned):
    """Write a project; unless `warned`, unbounded state is accepted."""
    project(root, {name: f"{sql}\n" for name, sql in models.items()})
    if warned:
        (root / "pyproject.toml").write_text('[tool.millstream]\nname = "shop"\n')
    sources = root / "models/sources.yml"
    sources.write_text(sources.read_text() + PLAIN)
    for path, text in files.items():
        (root / path).write_text(text)
    return root


def edited(case):
    """Return the model as the remedy asks for it."""
    sql = case.sql
    for old, new in case.edits.items():
        assert old in sql
        sql = sql.replace(old, new)
    return sql


def under(root, diagnostic):
    location = diagnostic.location
    return (
        (root / location.path)
        .read_text()
        .splitlines()[location.line - 1][location.column - 1 : location.end - 1]
    )


@pytest.mark.parametrize("name", CASES)
def test_what_is_reported_is_gone_with_the_edit_that_the_remedy_asks_for(name, tmp_path):
    case, warned = CASES[name], name in STATE
    root = written(tmp_path, {"m": case.sql, **case.models}, case.files, warned=warned)
    (diagnostic,) = compile_project(root, use_cache=False).diagnostics
    assert (diagnostic.code, diagnostic.help) == (case.code, case.remedy)
    assert under(root, diagnostic) == case.under
    assert case.message in diagnostic.message
    models = {"m": edited(case), **case.models, **case.added}
    root = written(tmp_path, models, case.files | case.edited, warned=warned)
    assert compile_project(root, use_cache=False).diagnostics == ()


def rename_relations(number, text):
    """Give the models and seeds of a case names of their own."""
    return re.sub(r"ref\('(?!products')", f"ref('c{number}_", text)


@pytest.fixture(scope="module")
def session(first_spark, tmp_path_factory):
    """Put all edited cases into one project, with a unit test for each."""
    root = tmp_path_factory.mktemp("remedies")
    models, files, tests = {}, {}, []
    for number, case in enumerate(WITH_ROWS.values()):
        if case.is_split:
            continue
        for name, sql in {"m": edited(case), **case.models, **case.added}.items():
            models[f"c{number}_{name}"] = rename_relations(number, sql)
        for path, text in (case.files | case.edited).items():
            seed = path.startswith("seeds/")
            files[path.replace("seeds/", f"seeds/c{number}_") if seed else path] = text
        others = {name: f"ref('c{number}_{name}')" for name in {**case.models, **case.added}}
        steps = [
            {
                "given": [
                    {"input": others.get(name, f"source('shop', '{name}')"), "rows": rows}
                    for name, rows in inputs.items()
                ],
                "expect": expected,
            }
            for inputs, expected in case.steps
        ]
        alone = any(name in others for inputs, _ in case.steps for name in inputs)
        tests.append({"name": f"t{number}", "model": f"{'' if alone else '+'}c{number}_m", "steps": steps})
    written(root, models, files, warned=True)
    (root / "tests").mkdir()
    (root / "tests/unit.yml").write_text(json.dumps({"unit_tests": tests}, indent=1))
    test_session = TestSession(root)
    yield test_session
    test_session.close()


def _stores(case):
    """Whether the remedy is a table of its own, which no unit test goes through."""
    return not {"stored", "counts"}.isdisjoint(case.added)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, id=name, marks=() if name in QUICK else pytest.mark.long)
        for number, (name, case) in enumerate(WITH_ROWS.items())
        if not case.is_split and not _stores(case) and (name in QUICK or BUILDS > 3 or number % 5 == 0)
    ],
)
def test_the_edited_model_is_right_on_spark(session, number):
    (unit,) = [unit for unit in session.main.project.unit_tests if unit.name == f"t{number}"]
    verdict = session.judge(unit)
    assert verdict.diagnostics == (), [str(line) for line in verdict.lines]


@pytest.mark.parametrize("name", [name for name, case in WITH_ROWS.items() if case.is_split])
def test_the_edited_models_are_right_with_a_topic_between_them(spark, tmp_path, name):
    case = WITH_ROWS[name]
    models = {"m": edited(case), **case.models, **case.added}
    key = next(name for _, rows in case.steps for row in rows for name in row)
    table = f"{{{{ config(materialized='table', unique_key='{key}') }}}} "
    root = written(tmp_path, models | {"m": table + models["m"]}, case.files | case.edited, warned=False)
    run = streamed(root, "apart")
    topics = {
        topic: [[_record(row) for row in inputs.get(topic, [])] for inputs, _ in case.steps]
        for topic in case.steps[0][0]
    }
    outputs = []
    for query in sorted(run.physical.queries, key=lambda query: "model.m" in query.models):
        for topic, row in run.run(spark, query, topics):
            outputs.append((topic, row))
            topics.setdefault(topic, []).append([row])
    newest = {row[key]: row for name, row in outputs if name == "m"}
    expected = {row[key]: row for _, rows in case.steps for row in rows}
    assert len(run.physical.queries) == 2
    assert newest == expected


def _record(row):
    key = row.get("user_id", row.get("visitor"))
    return {"_key": key} | {
        name: f"{value.replace(' ', 'T')}Z" if name in {"at", "seen"} else value
        for name, value in row.items()
    }


def test_each_code_with_a_remedy_has_a_case():
    paths = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "codes"]
    used = {code for path in paths for code in re.findall(r'"(MS[45]\d\d)"', path.read_text())}
    assert used - {case.code for case in CASES.values()} == WITHOUT_CASE.keys()
