"""Comments and options that ignore findings, and rules of a project."""

from lint_findings import EVENTS, findings_of, run_lint
from support.sql_plans import project

SINK = "{{ config(materialized='sink', key='user_id') }}"
CAST = "cast(at as date)"
RULE = """\
from millstream.lint import rule


@rule("no-dates", severity="error")
def no_dates(project):
    for model in project.models.values():
        for column in model.columns:
            if column.type == "date":
                yield model.finding(f"'{column.name}' is a date", column=column.name)
"""


def model(line):
    return {"m": f"{SINK}\nselect user_id,\n{line}\nfrom {EVENTS}\n"}


def test_a_comment_in_the_line_or_above_it(tmp_path):
    here = f"  {CAST} as day -- lint: ignore lossy-cast: only days count"
    above = f"  -- lint: ignore lossy-cast: only days count\n  -- another comment\n  {CAST} as day"
    jinja = f"  {{# lint: ignore lossy-cast: only days count #}}\n  {CAST} as day"
    for line in (here, above, jinja):
        root = project(tmp_path, model(line))
        code, document = run_lint(root)
        assert (code, document["diagnostics"], document["ignored"]) == (0, [], 1), line


def test_a_comment_for_another_rule_or_line(tmp_path):
    root = project(tmp_path, model(f"  -- lint: ignore unused-column: no reason\n  {CAST} as day"))
    assert findings_of(root) == [("MS735", "m.sql:3:3"), ("lossy-cast", "m.sql:4:8")]


def test_options_of_folders_and_models(tmp_path):
    root = project(tmp_path, model(f"{CAST} as day"))
    settings = (root / "pyproject.toml").read_text()
    (root / "pyproject.toml").write_text(settings + 'lint = {lossy-cast = "error"}\n')
    code, document = run_lint(root)
    assert (code, [d["severity"] for d in document["diagnostics"]]) == (1, ["error"])
    text = (root / "models/m.sql").read_text()
    (root / "models/m.sql").write_text(text.replace("key=", "lint={'lossy-cast': 'off'}, key="))
    assert run_lint(root)[0] == 0
    assert findings_of(root) == []


def test_rules_of_the_project(tmp_path):
    root = project(tmp_path, model(f"{CAST} as day -- lint: ignore lossy-cast: only days count"))
    (root / "lint").mkdir()
    (root / "lint/dates.py").write_text(RULE)
    code, document = run_lint(root, "--rule", "no-dates")
    (finding,) = document["diagnostics"]
    assert (code, finding["code"], finding["line"]) == (1, "no-dates", 3)
    text = (root / "models/m.sql").read_text()
    (root / "models/m.sql").write_text(text.replace("lossy-cast:", "lossy-cast, no-dates:"))
    code, document = run_lint(root)
    assert (code, document["diagnostics"], document["ignored"]) == (0, [], 2)


def test_selecting(tmp_path):
    root = project(tmp_path, {**model(f"{CAST} as day"), "v": f"select user_id from {EVENTS}"})
    assert findings_of(root, "--select", "v") == [("unused-model", "v.sql:1:1")]
    assert findings_of(root, "--rule", "lossy-cast") == [("lossy-cast", "m.sql:3:6")]
