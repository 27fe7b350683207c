"""What only the whole project shows: open columns, disabled models, derived columns, SQL tests."""

from pathlib import Path

from millstream.compile import compile_project
from millstream.compile.manifest import Compiled

SOURCE = """
sources:
  - name: app
    topics:
      - name: events
        columns:
          - {name: id, type: bigint}
          - {name: kind, type: string}
          - {name: ts, type: bigint}
          - {name: at, from: timestamp_millis(ts)}
"""


def compiled(root: Path, **files: str) -> Compiled:
    (root / "pyproject.toml").write_text('[tool.millstream]\nname = "p"\n')
    for path, content in {"models/s.yml": SOURCE, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return compile_project(root)


UNPIVOT = "select * from {{ source('app', 'events') }} unpivot (value for name in (kind))"


def test_columns_that_nobody_can_know_are_told_once(tmp_path: Path) -> None:
    files = {"models/wide.sql": UNPIVOT, "models/below.sql": "select w.whatever from {{ ref('wide') }} as w"}
    project = compiled(tmp_path, **files)
    assert [(d.code, d.severity, d.location and d.location.path) for d in project.diagnostics] == [
        ("MS414", "warning", "models/wide.sql")
    ]


def test_yaml_tells_the_columns_of_what_is_not_understood(tmp_path: Path) -> None:
    described = "models: [{name: wide, columns: [{name: id, type: bigint}, {name: a, type: bigint}]}]"
    below = "select w.a from {{ ref('wide') }} as w"
    files = {"models/wide.sql": UNPIVOT, "models/d.yml": described, "models/below.sql": below}
    project = compiled(tmp_path, **files)
    assert project.diagnostics == ()
    assert [(c.name, c.type) for c in project.manifest.nodes["model.below"].columns] == [("a", "bigint")]
    assert "UNPIVOT" in project.manifest.nodes["model.wide"].opaque[0]


def test_a_derived_column_has_the_type_of_its_sql(tmp_path: Path) -> None:
    project = compiled(tmp_path)
    columns = {c.name: c.type for c in project.manifest.nodes["source.app.events"].columns}
    assert columns["at"] == "timestamp"


def test_a_disabled_model_is_not_there(tmp_path: Path) -> None:
    project = compiled(
        tmp_path, **{"models/off.sql": "{{ config(enabled=false) }}select nonsense from nowhere"}
    )
    assert project.diagnostics == ()
    assert "model.off" not in project.manifest.nodes


def test_metadata_columns_can_be_read_and_are_not_part_of_star(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "select e.id, e._offset from {{ source('app', 'events') }} as e",
        "models/b.sql": "select * from {{ source('app', 'events') }}",
    }
    nodes = compiled(tmp_path, **files).manifest.nodes
    assert [c.name for c in nodes["model.a"].columns] == ["id", "_offset"]
    assert [c.name for c in nodes["model.b"].columns] == ["id", "kind", "ts", "at"]


def test_sql_tests_are_checked_and_part_of_the_graph(tmp_path: Path) -> None:
    project = compiled(
        tmp_path, **{"tests/good.sql": "select count(*) from {{ source('app', 'events') }} where idd = 1"}
    )
    assert [(d.code, str(d.location)) for d in project.diagnostics] == [("MS402", "tests/good.sql:1:58")]
    assert project.manifest.nodes["test.good"].depends_on == ("source.app.events",)


def test_nothing_of_a_broken_model_is_told_of_those_below(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "select e.idd as id from {{ source('app', 'events') }} as e",
        "models/b.sql": "select a.id, a.more from {{ ref('a') }} as a",
    }
    assert [str(d.location) for d in compiled(tmp_path, **files).diagnostics] == ["models/a.sql:1:10"]
