"""A project folder as one value, and what only the whole shows."""

from pathlib import Path
from typing import Any

import pytest
from support.loading import load, summaries

SOURCES = """\
sources:
  - name: web
    topics:
      - {name: clicks, columns: [{name: id, type: string}]}
"""

CLICK = """\
from collections.abc import Iterator
from datetime import datetime
from random import Random
from typing import Any


def click(random: Random, now: datetime) -> Iterator[tuple[str | None, dict[str, Any] | None]]:
    yield None, {}
"""


def test_everything_is_where_it_belongs(tmp_path: Path) -> None:
    project, errors = load(
        tmp_path,
        {
            "models/sources.yml": SOURCES,
            "models/staging/a.sql": "select 1 as x",
            "models/b.sql": "select 2 as x",
            "models/b.yml": "models: [{name: b, description: d}]\nexposures: [{name: e, depends_on: ref('b')}]",
            "macros/m.sql": "{% macro m() %}{% endmacro %}",
            "macros/f.py": "def f(x: int) -> int:\n    return x\n",
            "seeds/s.csv": "id\n1\n",
            "tests/t.sql": "select 1 as x",
            "tests/u.yml": "unit_tests: [{name: u, model: b, given: [{input: ref('a'), rows: []}], expect: []}]",
            "selectors.yml": "selectors: [{name: nightly, definition: 'tag:nightly'}]",
        },
    )
    assert errors == []
    assert {name: model.path for name, model in project.models.items()} == {
        "a": "models/staging/a.sql",
        "b": "models/b.sql",
    }
    assert list(project.sources) == ["web.clicks"]
    assert project.properties["b"].description == "d"
    assert [m.path for m in project.macros] == ["macros/m.sql"]
    assert (list(project.functions), list(project.seeds)) == (["f"], ["s"])
    assert [t.name for t in project.tests] == ["t"]
    assert [u.name for u in project.unit_tests] == ["u"]
    assert [e.depends_on for e in project.exposures] == [("model.b",)]
    assert project.selectors == {"nightly": {"name": "nightly", "definition": "tag:nightly"}}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"models/x/a.sql": "select 1"}, [("MS109", "models/x/a.sql: ", "rename one of the files")]),
        ({"models/x/A.sql": "select 1"}, [("MS109", "models/x/A.sql: ", "rename one of the files")]),
        ({"seeds/a.csv": "id\n1\n"}, [("MS109", "models/a.sql: ", "rename one")]),
        ({"seeds/A.csv": "id\n1\n"}, [("MS109", "models/a.sql: ", "rename one")]),
        ({"seeds/s.csv": "id\n1\n", "seeds/x/S.csv": "id\n1\n"}, [("MS109", "seeds/x/S.csv: ", "rename one")]),
        ({"tests/t.sql": "x", "tests/x/t.sql": "y"}, [("MS109", "tests/x/t.sql: ", "rename one of the files")]),
        ({"models/a.yml": "models: [{name: a}]", "models/b.yml": "models: [{name: a}]"},
         [("MS109", "models/b.yml: a", "keep one of them")]),
        ({"models/a.yml": SOURCES, "models/b.yml": SOURCES}, [("MS109", "models/b.yml: clicks", "keep one of them")]),
        ({"models/a.yml": SOURCES, "models/b.yml": SOURCES.replace("clicks", "views")}, []),
        ({"seeds/s.csv": "id\n1\n", "seeds/a.yml": "seeds: [{name: s}]", "seeds/b.yml": "seeds: [{name: s}]"},
         [("MS109", "seeds/b.yml: s", "keep one of them")]),
        ({"selectors.yml": "selectors:\n- {name: a, definition: x}\n- {name: a, definition: y}"},
         [("MS109", "selectors.yml: a", "keep one of them")]),
    ],
)  # fmt: skip
def test_a_name_may_be_given_once(tmp_path: Path, files: dict[str, str], expected: list[Any]) -> None:
    _, errors = load(tmp_path, {"models/a.sql": "select 1 as x", **files})
    assert summaries(errors) == expected
    assert all(p.notes and p.notes[0].location for p in errors)


@pytest.mark.parametrize(
    ("path", "content", "code"),
    [
        ("models/x-y.sql", "select 1", "MS110"),
        ("models/x.y.sql", "select 1", "MS110"),
        ("models/1x.sql", "select 1", "MS110"),
        ("models/sources.sql", "select 1", "MS110"),
        ("models/x.sql", " \n", "MS116"),
        ("tests/x.sql", "", "MS116"),
        ("tests/x-y.sql", "select 1", "MS110"),
        ("seeds/x-y.csv", "a\n1\n", "MS110"),
        ("seeds/seeds.csv", "a\n1\n", "MS110"),
    ],
)
def test_a_file_that_can_not_be_what_its_folder_says(
    tmp_path: Path, path: str, content: str, code: str
) -> None:
    project, errors = load(tmp_path, {path: content})
    assert [(p.code, str(p.location)) for p in errors] == [(code, f"{path}:1:1")]
    assert not project.models
    assert not project.seeds


@pytest.mark.parametrize(
    ("path", "content", "code", "under", "remedy"),
    [
        ("models/m.yml", "models: [{name: order}]", "MS117", "order", "did you mean 'orders'?"),
        ("models/m.yml", "models: [{name: Orders}]", "MS117", "Orders", "did you mean 'orders'?"),
        ("seeds/m.yml", "seeds: [{name: regoins}]", "MS117", "regoins", "did you mean 'regions'?"),
        ("models/m.yml", "functions: [{name: scor}]", "MS117", "scor", "did you mean 'score'?"),
        ("models/m.yml", "exposures:\n- name: e\n  depends_on: [ref('orders'), ref('oders')]", "MS117", "ref('oders')",
         "did you mean 'orders'?"),
        ("models/m.yml", "exposures:\n- name: e\n  depends_on:\n  - source('web', 'click')", "MS117", "source('web', 'click')",
         "did you mean 'web.clicks'?"),
        ("models/m.yml", "metrics:\n- {name: e, model: ref('oders'), expression: count(1)}", "MS117", "ref('oders')",
         "did you mean 'orders'?"),
        ("models/m.yml", "unit_tests:\n- {name: u, model: oders, expect: []}", "MS117", "oders",
         "did you mean 'orders'?"),
        ("models/m.yml", "unit_tests:\n- name: u\n  model: orders\n  given:\n  - {input: ref('oders'), rows: []}",
         "MS117", "ref('oders')", "did you mean 'orders'?"),
        ("models/m.yml", "unit_tests:\n- name: u\n  model: orders\n  steps:\n  - given: [{input: ref('oders')}]",
         "MS117", "ref('oders')", "did you mean 'orders'?"),
        ("models/m.yml",
         "models:\n- name: orders\n  columns:\n  - {name: x, tests: [relationships: {field: region, to: ref('region')}]}",
         "MS117", "region", "did you mean 'regions'?"),
        ("seeds/click.py", CLICK,
         "MS117", "click", "did you mean 'clicks'?"),
        ("selectors.yml", "selector: []", "MS106", "selector", "did you mean 'selectors'?"),
        ("selectors.yml", "selectors: {a: b}", "MS107", "{a: b}", "write selectors: [{name: …, definition: …}]"),
        ("selectors.yml", "selectors: [{definition: a}, 3]", "MS108", "{definition: a}", "add `name: …`"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told_where_it_is_named(
    tmp_path: Path, path: str, content: str, code: str, under: str, remedy: str
) -> None:
    _, errors = load(
        tmp_path,
        {
            "models/orders.sql": "select 1 as x",
            "models/sources.yml": SOURCES,
            "seeds/regions.csv": "region\nnorth\n",
            "macros/f.py": "def score(x: int) -> int:\n    return x\n",
            path: content,
        },
    )
    assert summaries(errors)[0] == (code, f"{path}: {under}", remedy)


def test_mistakes_of_all_files_are_told_at_once_each_once(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/gone.sql").symlink_to("nowhere")
    _, errors = load(
        tmp_path,
        {
            "models/a.yml": "modls: []",
            "models/empty.sql": "",
            "macros/f.py": "def f(x): return x",
            "seeds/s.csv": "a,b\n1\n",
        },
    )
    codes = {p.code for p in errors}
    assert {"MS102", "MS106", "MS116", "MS118", "MS301"} <= codes
    assert len(set(errors)) == len(errors)


def test_what_was_read_is_remembered_and_gives_the_same(tmp_path: Path) -> None:
    memo: dict[str, bytes] = {}
    files = {
        "models/a.sql": "select 1 as x",
        "models/a.yml": SOURCES + "models: [{name: a, owner: \"{{ var('who', 'x') }}\"}]",
        "seeds/s.csv": "id\n1\n",
        "macros/f.py": "def f(x: int) -> int:\n    return x\n",
    }
    first, second = load(tmp_path, files, memo), load(tmp_path, {}, memo)
    assert len(memo) == 3
    assert first == second


@pytest.mark.parametrize("owner", ["{{ var('who', 'none') }}", "{{ var('who') }}", "{{ env_var('MS_WHO') }}"])
def test_what_templates_read_is_part_of_what_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str
) -> None:
    memo: dict[str, bytes] = {}
    files = {"models/a.sql": "select 1 as x", "models/a.yml": f'models: [{{name: a, owner: "{owner}"}}]'}
    files["pyproject.toml"] = '[tool.millstream]\nname = "shop"\nenv_vars = ["MS_WHO"]\n'
    owners = []
    for who in ("ann", "bob", "ann"):
        monkeypatch.setenv("MS_WHO", who)
        project, errors = load(tmp_path, files, memo, who=who)
        assert errors == []
        owners.append(project.properties["a"].owner)
    assert owners == ["ann", "bob", "ann"]


def test_a_variable_that_was_not_set_may_be_set_later(tmp_path: Path) -> None:
    memo: dict[str, bytes] = {}
    files = {
        "models/a.sql": "select 1",
        "models/a.yml": "models: [{name: a, owner: \"{{ var('who', 'none') }}\"}]",
    }
    assert load(tmp_path, files, memo)[0].properties["a"].owner == "none"
    assert load(tmp_path, files, memo, who="ann")[0].properties["a"].owner == "ann"


def test_the_type_of_a_seed_is_not_remembered_from_other_yaml(tmp_path: Path) -> None:
    memo: dict[str, bytes] = {}

    def type_of(yaml: str) -> str:
        project, _ = load(tmp_path, {"seeds/s.csv": "id\n1\n", "seeds/s.yml": yaml}, memo)
        return str(project.seeds["s"].columns[0].type)

    assert type_of("seeds: [{name: s}]") == "bigint"
    assert type_of("seeds: [{name: s, columns: [{name: id, type: string}]}]") == "string"


def test_files_with_mistakes_are_read_anew(tmp_path: Path) -> None:
    memo: dict[str, bytes] = {}
    files = {"seeds/s.csv": "a,b\n1\n", "models/m.yml": "modls: []"}
    first, second = load(tmp_path, files, memo)[1], load(tmp_path, files, memo)[1]
    assert len(first) == 2
    assert first == second


def test_a_broken_memo_counts_as_none(tmp_path: Path) -> None:
    memo: dict[str, bytes] = {}
    expected = load(tmp_path, {"seeds/s.csv": "a\n1\n"}, memo)
    assert load(tmp_path, {}, dict.fromkeys(memo, b"nonsense")) == expected
