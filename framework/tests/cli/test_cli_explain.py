"""`millstream explain`."""

import json
import re
from pathlib import Path

import pytest

from millstream.plan.optimizer.rules import RULES

MORE = {
    "models/big_clicks.sql": (
        "{{ config(materialized='sink', topic='big') }}\n"
        "select user_id, amount from {{ ref('stg_clicks') }} where amount > 100\n"
    ),
    "models/odd.sql": (
        "{{ config(materialized='sink') }}\nselect user_id, amount\nfrom {{ source('web', 'clicks') }}\n"
        "join (values (1), (2)) as v(n) on v.n = amount\n"
    ),
}


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).write_text(text, encoding="utf-8")


@pytest.fixture
def shop(shop: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "120")
    write(shop, MORE)
    return shop


def test_both_plans_side_by_side(shop, run):
    result = run("explain")
    assert (result.code, result.err) == (0, "")
    head, *rest = result.out.splitlines()
    assert re.fullmatch(r"AS WRITTEN +│ AS OPTIMIZED", head)
    assert sum(line.count("■ table totals by user_id") for line in rest) == 2
    assert "COST" in result.out


def test_a_narrow_terminal_has_them_one_below_the_other(shop, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("explain").out.splitlines()
    assert lines.index("AS WRITTEN") < lines.index("AS OPTIMIZED")
    assert max(map(len, lines)) <= 80


def test_one_model(shop, run):
    out = run("explain", "totals").out
    assert "table totals" in out
    assert "sink big_clicks" not in out


def test_a_view_shows_what_reads_it(shop, run):
    out = run("explain", "stg_clicks").out
    assert "table totals" in out
    assert "sink big_clicks" in out
    assert "sink odd" not in out


def test_selectors(shop, run):
    out = run("explain", "--select", "tag:money").out
    assert "table totals" in out
    assert "sink big_clicks" not in out


def test_names_and_selectors_exclude_each_other(shop, run):
    assert run("explain", "totals", "--select", "odd").code == 2


def test_an_unknown_model_is_an_error(shop, run):
    result = run("explain", "nothing")
    assert (result.code, result.out) == (2, "")
    assert "error[MS603]: 'nothing' selects nothing" in result.err
    assert "error[MS610]: no model is selected" in run("explain", "source:*").err


def test_what_is_not_understood_has_its_place_and_a_remedy(shop, run):
    out = run("explain", "odd").out
    assert "odd (models/odd.sql): VALUES" in out
    assert re.search(r"at target/compiled/models/odd\.sql:\d", out)
    assert "instead: a seed with these rows" in out


@pytest.mark.parametrize("option", ["--output", "--format"])
def test_json(shop, run, option: str):
    data = run("explain", option, "json").json
    assert data["schema_version"] == 1
    assert data["diagnostics"] == []
    assert sorted(data["written"]["outputs"]) == ["big_clicks.sink", "odd.sink", "totals.table"]


@pytest.mark.parametrize(
    ("name", "begin"),
    [("mermaid", "flowchart LR\n"), ("dot", "digraph topology {"), ("kafka-streams", "Topologies:\n")],
)
def test_drawings(shop, run, name: str, begin: str):
    assert run("explain", "--format", name).out.startswith(begin)


def test_a_drawing_as_written(shop, run):
    written = run("explain", "--format", "dot", "--written").out
    assert '"stg_clicks" ' in written


def test_a_rule_that_is_none(shop, run):
    result = run("explain", "--rule", RULES[0].__name__ + "x")
    assert result.code == 2
    assert f"did you mean '{RULES[0].__name__}'?" in result.err


def test_what_one_rule_did(shop, run):
    data = run("explain", "--rule", "merge_projections", "--output", "json").json
    assert [step["step"] for step in data["steps"]] == ["merge_projections"] * len(data["steps"])


def test_rules_that_the_target_does_not_want_are_not_applied(shop, run):
    write(shop, {"profiles.yml": "shop:\n  target: local\n  outputs:\n    local: {optimization: none}\n"})
    assert run("explain", "--output", "json").json["rules"] == []


DECLARED = """
models:
  - {name: stg_clicks, hints: {keeps: 0.5}}
"""
COUNTED = {
    "command": "build", "project": "shop", "target": "local", "started": "2024-01-01T00:00:00+00:00",
    "seconds": 1, "results": [], "counted": {"came": {"source.web.clicks": {"rows": 7200, "seconds": 600}}},
}  # fmt: skip


def test_a_figure_says_who_says_it(shop, run):
    write(shop, {"models/hints.yml": DECLARED})
    (shop / "target").mkdir(exist_ok=True)
    write(shop, {"target/run_results.json": json.dumps(COUNTED)})
    out = run("explain").out
    assert "stg_clicks: keeps 0.5 of its rows (declared)" in out
    assert "web.clicks: 12 rows a second (measured: 7,200 rows in 10 minutes)" in out
    assert re.search(r"rows/s read +\d", out)
    figures = run("explain", "--output", "json").json["figures"]
    assert [(figure["of"], figure["what"], figure["origin"]) for figure in figures] == [
        ("web.clicks", "rows_per_second", "measured"), ("stg_clicks", "keeps", "declared"),
    ]  # fmt: skip


def test_results_of_another_target_or_that_cannot_be_read_say_nothing(shop, run):
    plain = run("explain").out
    (shop / "target").mkdir(exist_ok=True)
    for text in (json.dumps(COUNTED | {"target": "other"}), "{"):
        write(shop, {"target/run_results.json": text})
        assert run("explain") == (0, plain, "")


def test_mistakes_are_told_as_compile_tells_them(shop, run):
    write(shop, {"models/bad.sql": "select nope from {{ ref('stg_clicks') }}\n"})
    explained, compiled = run("explain"), run("compile")
    assert explained.code == 2
    assert explained.err == compiled.err


def test_tables_over_tables_are_maintained_and_not_opaque(shop, run):
    ranked = "select user_id, total, rank() over (order by total desc) as place from {{ ref('totals') }}"
    over = f"{{{{ config(materialized='table', unique_key='user_id', refresh='full') }}}}\n{ranked}\n"
    write(shop, {f"models/{name}.sql": over for name in ("ranked", "ranked_too")})
    result = run("explain", "ranked", "ranked_too")
    assert (result.code, result.err) == (0, "")
    assert "OPAQUE" not in result.out
    assert "each table over tables is maintained by a query of its own" in " ".join(result.out.split())
    (opaque,) = run("explain", "--output", "json").json["unsupported"]
    assert opaque["model"] == "odd"
