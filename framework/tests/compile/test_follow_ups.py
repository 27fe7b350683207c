"""One cause, one error: what reads a broken model is not wrong itself, and causes come first."""

from pathlib import Path

import pytest

from millstream.compile import compile_project

FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "p"\n[tool.millstream.models]\nunbounded_state = "accept"\n',
    "models/s.yml": """
sources:
  - name: app
    topics:
      - name: events
        columns: [{name: id, type: string}, {name: score, type: double}, {name: at, type: timestamp}]
        watermark: {column: at, delay: 10 seconds}
""",
    "models/z_first.sql": "select e.id, e.score, e.at, struct(e.id as a) as part from {{ source('app', 'events') }} as e",
    "models/windows.sql": "{{ config(materialized='table', unique_key=['begin', 'id']) }} select window.start as begin, window.end as stop, f.id, count(*) as n from {{ ref('z_first') }} as f group by window(f.at, '5 seconds'), f.id",
    "models/aliases.sql": "{{ config(materialized='table', unique_key='id') }} select f.id, sum(f.score) as total, count(*) as n, total / n as mean from {{ ref('z_first') }} as f group by f.id having mean > 1",
    "models/stars.sql": "with s as (select f.* except (score), f.score * 2 as more from {{ ref('z_first') }} as f) select s.* except (at) from s",
    "models/all_stars.sql": "select * except (at) from {{ ref('z_first') }}",
    "models/parts.sql": "select f.part.* except (a), f.id from {{ ref('z_first') }} as f",
    "models/later.sql": "select s.id, s.more from {{ ref('stars') }} as s where s.id is not null",
    "models/joined.sql": "select a.id, at, more from {{ ref('z_first') }} as a join {{ ref('later') }} as l on a.id = l.id and a.at = l.id",
    "models/d.yml": "models: [{name: stars, columns: [{name: id}, {name: more}]}, {name: windows, columns: [{name: begin, tests: [not_null]}]}]",
}
BROKEN = [
    ("models/z_first.sql", "e.score,", "e.scorex,", "MS402"),
    ("models/z_first.sql", "e.id, ", "e.id e.score ", "MS401"),
    ("models/z_first.sql", "select", "select nofunction(1) as x,", "MS405"),
    ("models/z_first.sql", "'events'", "'eventsx'", "MS204"),
    ("models/z_first.sql", "e.id, e", "{{ nothing }}, e", "MS202"),
    ("models/z_first.sql", "e.id, e", "{% if %}, e", "MS201"),
    ("models/s.yml", "columns: [{", "columns: [[{", "MS105"),
]


@pytest.mark.parametrize(("path", "before", "after", "code"), BROKEN)
def test_only_the_cause_is_reported(tmp_path: Path, path: str, before: str, after: str, code: str) -> None:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert [each for each in compile_project(tmp_path).diagnostics if each.severity == "error"] == []
    (tmp_path / path).write_text(FILES[path].replace(before, after, 1))
    for _ in range(2):
        found = [each for each in compile_project(tmp_path).diagnostics if each.severity == "error"]
        assert {each.location.path for each in found if each.location} == {path}
        assert code in {each.code for each in found}


def test_causes_come_first(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "models/z_first.sql").write_text(FILES["models/z_first.sql"].replace(" as e", " as f"))
    (tmp_path / "models/all_stars.sql").write_text("select nofunction(1) as x from {{ ref('z_first') }}")
    paths = [str(found.location and found.location.path) for found in compile_project(tmp_path).diagnostics]
    assert paths.index("models/z_first.sql") < paths.index("models/all_stars.sql")
