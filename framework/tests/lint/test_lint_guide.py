"""The examples of docs/lint.md."""

import re
from pathlib import Path

from lint_findings import findings_of, run_lint
from support.sql_plans import project

from millstream.lint.rules import RULES

GUIDE = (Path(__file__).parents[3] / "docs/lint.md").read_text(encoding="utf-8")
(SQL,) = re.findall(r"```sql\n(.*?)```", GUIDE, re.DOTALL)
(RULE,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
(TOML,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
SINK = "{{ config(materialized='sink', key='user_id') }}\n"


def test_each_rule_is_listed():
    assert re.findall(r"^\| `([\w-]+)` \| [a-zA-Z]", GUIDE, re.MULTILINE) == [rule.name for rule in RULES]


def test_the_finding_is_ignored(tmp_path):
    code, document = run_lint(project(tmp_path, {"m": SINK + SQL}))
    assert (code, document["diagnostics"], document["ignored"]) == (0, [], 1)


def test_the_rule_of_the_project(tmp_path):
    root = project(tmp_path, {"m": SINK + SQL.replace("cents", "price_id")})
    (root / "lint").mkdir()
    (root / "lint/names.py").write_text(RULE)
    assert findings_of(root) == [("ids-are-texts", "m.sql:5:3")]


def test_the_settings(tmp_path):
    root = project(tmp_path, {"staging/v": SQL, "m": SINK + "select user_id from {{ ref('v') }}"})
    assert findings_of(root) == [("unused-column", "staging/v.sql:4:3")]
    settings = (root / "pyproject.toml").read_text().partition("[tool.millstream.models]")[0]
    (root / "pyproject.toml").write_text(settings + TOML)
    assert findings_of(root) == []
