"""One cause, one error: what reads a broken model is not wrong itself, and causes come first."""

from pathlib import Path

import pytest
from support.dependent_models import FILES
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.core.errors import Diagnostic

BROKEN = [
    ("models/z_first.sql", "e.score,", "e.scorex,", "MS402"),
    ("models/z_first.sql", "e.id, ", "e.id e.score ", "MS401"),
    ("models/z_first.sql", "select", "select nofunction(1) as x,", "MS405"),
    ("models/z_first.sql", "e.score,", "(coalescee.score, 0.0) as score,", "MS402"),
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
    assert [
        diagnostic for diagnostic in compile_project(tmp_path).diagnostics if diagnostic.severity == "error"
    ] == []
    (tmp_path / path).write_text(FILES[path].replace(before, after, 1))
    for _ in range(2):
        diagnostics = [
            diagnostic
            for diagnostic in compile_project(tmp_path).diagnostics
            if diagnostic.severity == "error"
        ]
        assert {diagnostic.location.path for diagnostic in diagnostics if diagnostic.location} == {path}
        assert code in {diagnostic.code for diagnostic in diagnostics}


@pytest.mark.parametrize("name", ["no-such", "a b", "a`b", "a;b", "(", "\\u001b[31m"])
@pytest.mark.parametrize("call", ["ref('{}')", "source('{}', 'x')", "source('app', '{}')"])
def test_a_name_that_is_no_name_is_one_error(tmp_path: Path, name: str, call: str) -> None:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "models/x.sql").write_text(
        f"select a.b from {{{{ {call.format(name)} }}}} as a where a.b > 0"
    )
    codes = [
        diagnostic.code
        for diagnostic in compile_project(tmp_path).diagnostics
        if diagnostic.severity == "error"
    ]
    assert codes in (["MS203"], ["MS204"])


def test_causes_come_first(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "models/z_first.sql").write_text(FILES["models/z_first.sql"].replace(" as e", " as f"))
    (tmp_path / "models/all_stars.sql").write_text("select nofunction(1) as x from {{ ref('z_first') }}")
    paths = [
        str(diagnostic.location and diagnostic.location.path)
        for diagnostic in compile_project(tmp_path).diagnostics
    ]
    assert paths.index("models/z_first.sql") < paths.index("models/all_stars.sql")


MACROS = "{%- macro twice(x) -%}\n{{ x }} * 2\n{%- endmacro -%}\n"
DERIVED = (
    "sources:\n  - name: far\n    topics:\n      - name: times\n        columns:\n"
    "          - {name: ms, type: bigint}\n          - {name: at, type: timestamp, from: timestamp_millis(ms)}\n"
)
MORE = FILES | {
    "models/derived.yml": DERIVED,
    "models/derived.sql": "select t.ms, t.at from {{ source('far', 'times') }} as t",
    "models/s.yml": FILES["models/s.yml"]
    + "models:\n  - name: keyed\n    config: {materialized: table, unique_key: id}\n",
    "models/keyed.sql": "select z.id, count(*) as n from {{ ref('z_first') }} as z group by z.id",
    "models/seeded.sql": "select c.code, half(c.n) as n, {{ twice('c.n') }} as m from {{ ref('codes') }} as c",
    "models/looked.sql": "select z.id, {{ lookup_map('places', 'id', 'name') }} as names from {{ ref('z_first') }} as z",
    "models/places.yml": "sources: [{name: map, topics: [{name: places, table: true, key: {name: id, type: string}, columns: [{name: name, type: string}]}]}]\n",
    "macros/twice.sql": MACROS,
    "macros/half.py": "def half(x: int | None) -> int:\n    return (x or 0) // 2\n",
    "macros/half.yml": "functions: [{name: half, cost: low}]\n",
    "seeds/codes.csv": "code,n\na,1\n",
    "seeds/codes.yml": "seeds: [{name: codes, columns: [{name: code, type: string}, {name: n, type: int}]}]\n",
    "models/stored.sql": "{{ config(materialized='table', unique_key='code') }} select c.code, count(*) as n from {{ ref('z_first') }} as z join {{ ref('codes') }} as c on z.id = c.code group by c.code",
    "profiles.yml": "p: {target: local, outputs: {local: {master: 'local[2]', kafka: embedded}}}\n",
}
CHANGED = [
    ("models/z_first.sql", "", "MS116"),
    ("models/z_first.sql", b"\xff", "MS103"),
    ("seeds/codes.csv", "", "MS118"),
    ("seeds/codes.csv", "code,n\na,1,2\n", "MS118"),
    ("seeds/codes.csv", 'code,"n\na,1\n', "MS118"),
    ("macros/half.py", "def half(x: int | None) -> int:\n", "MS310"),
    ("macros/twice.sql", "{% include 'x' %}" + MACROS, "MS207"),
    ("macros/twice.sql", MACROS.replace("{%- macro twice(x) -%}", "{{ env_var('HOME') }}"), "MS201"),
    ("models/places.yml", "sources: [{name: map, topics: [{name: places, table: true, key: {", "MS105"),
    ("models/s.yml", FILES["models/s.yml"].replace("id, type", '"1`9", type'), "MS110"),
    ("models/s.yml", FILES["models/s.yml"] + "models:\n   - name: keyed\n  x\n", "MS105"),
    ("macros/twice.sql", "{{ nothing.more }}" + MACROS, "MS202"),
    ("models/s.yml", FILES["models/s.yml"].replace("{name: at,", "{name: x,"), "MS117"),
    ("models/derived.yml", DERIVED.replace("          - {name: ms, type: bigint}\n", ""), "MS402"),
    ("pyproject.toml", "[tool.millstream]\nname = 99999999999999999999999999\n", "MS107"),
]


@pytest.mark.parametrize(("path", "content", "code"), CHANGED)
def test_what_a_broken_file_declares_is_not_missed(
    tmp_path: Path, path: str, content: str | bytes, code: str
) -> None:
    for name, text in MORE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [
        diagnostic for diagnostic in compile_project(tmp_path).diagnostics if diagnostic.severity == "error"
    ] == []
    (tmp_path / path).write_bytes(content.encode() if isinstance(content, str) else content)
    for _ in range(2):
        diagnostics = [
            diagnostic
            for diagnostic in compile_project(tmp_path).diagnostics
            if diagnostic.severity == "error"
        ]
        assert {diagnostic.location and diagnostic.location.path for diagnostic in diagnostics} == {path}
        assert code in {diagnostic.code for diagnostic in diagnostics}


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ("[tool.millstream]\ncurrency = 'EUR'\n", "MS106"),  # the line [tool.millstream.vars] is missing
        ("[tool.millstream.vars]\ncurrency = 'EUR'\n[tool.millstream.models]\nmaterialized = 31\n", "MS120"),
    ],
)
def test_wrong_settings_are_the_only_error(tmp_path: Path, settings: str, code: str) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "models/s.yml").write_text(FILES["models/s.yml"])
    sql = "{{ config(topic='t', key='id') }} select id, '{{ var('currency') }}' as c from {{ source('app', 'events') }}"
    (tmp_path / "models/m.sql").write_text(sql)
    assert [diagnostic.code for diagnostic in compile_project(tmp_path).diagnostics] == [code]


def test_a_mistake_in_a_macro_is_reported_once(tmp_path: Path) -> None:
    for folder in ("models", "macros"):
        (tmp_path / folder).mkdir()
    (tmp_path / "models/s.yml").write_text(FILES["models/s.yml"])
    (tmp_path / "pyproject.toml").write_text(FILES["pyproject.toml"])
    (tmp_path / "macros/twice.sql").write_text("{% macro twice(x) %}nofunction({{ x }}) * 2{% endmacro %}")
    for number in range(3):
        sql = "select {{ twice('id') }} as x from {{ source('app', 'events') }}"
        (tmp_path / f"models/m{number}.sql").write_text(sql)
    (diagnostic,) = compile_project(tmp_path).diagnostics
    assert (diagnostic.code, [note.message for note in diagnostic.notes]) == (
        "MS405",
        ["called from here", "and from 2 other calls"],
    )


@pytest.mark.parametrize(
    ("argument", "macro"),
    [
        ("score * .x", "cast({{ x }} * 2 as double)"),
        ("score[x", "cast({{ x }} * 2 as double)"),
        pytest.param("score(x", "cast(({{ x }}) * 2 as decimal(12, 2))", id="closed by the macro"),
    ],
)
def test_a_sign_that_is_wrong_in_an_argument_is_located_there(
    tmp_path: Path, argument: str, macro: str
) -> None:
    for folder in ("models", "macros"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pyproject.toml").write_text(FILES["pyproject.toml"])
    (tmp_path / "models/s.yml").write_text(FILES["models/s.yml"])
    (tmp_path / "macros/twice.sql").write_text(MACROS.replace("{{ x }} * 2", macro))
    sql = f"select {{{{ twice('{argument}') }}}} as x from {{{{ source('app', 'events') }}}}"
    (tmp_path / "models/m.sql").write_text(sql)
    (diagnostic,) = compile_project(tmp_path).diagnostics
    assert (diagnostic.code, str(diagnostic.location)) == ("MS401", "models/m.sql:1:11")
    assert [note.location and note.location.path for note in diagnostic.notes] == ["macros/twice.sql"]


def _errors(root: Path) -> list[tuple[str, str]]:
    diagnostics = compile_project(root, use_cache=False).diagnostics
    return [
        (diagnostic.code, diagnostic.location.path)
        for diagnostic in diagnostics
        if diagnostic.severity == "error" and diagnostic.location
    ]


@pytest.mark.parametrize(
    "name",
    ["stg_events.bak", "2stg_events", "stg_events copy", "stg_events-2", "old.stg_events", "STG_EVENTS.x"],
)
def test_a_model_whose_file_has_no_valid_name_is_one_error(tmp_path: Path, name: str) -> None:
    events = "{{ source('shop', 'events') }}"
    project(
        tmp_path,
        {"stg_events": f"select user_id from {events}", "r": "select * from {{ ref('stg_events') }}"},
    )
    (tmp_path / "models/m.yml").write_text(
        "models: [{name: stg_events, columns: [{name: user_id, tests: [not_null]}]}]"
    )
    assert _errors(tmp_path) == []
    (tmp_path / "models/stg_events.sql").rename(tmp_path / f"models/{name}.sql")
    assert _errors(tmp_path) == [("MS110", f"models/{name}.sql")]


def test_a_macro_that_lost_a_parameter_is_one_error(tmp_path: Path) -> None:
    """A call without the parameter runs the macro, which then misses it; a call with it is not wrong itself."""
    events = "{{ source('shop', 'events') }}"
    calls = {"a": "plus(x='amount', negated=true)", "b": "plus(x='amount')"}
    project(tmp_path, {name: f"select {{{{ {call} }}}} as n from {events}" for name, call in calls.items()})
    macro = "{% macro plus(x, negated=false) %}{{ '-' if negated else '' }}{{ x }}{% endmacro %}"
    (tmp_path / "macros/plus.sql").write_text(macro)
    assert _errors(tmp_path) == []
    (tmp_path / "macros/plus.sql").write_text(macro.replace(", negated=false", ""))
    assert _errors(tmp_path) == [("MS202", "macros/plus.sql")]


def test_a_syntax_error_in_a_decoder_is_one_error(tmp_path: Path) -> None:
    root = project(tmp_path, {"m": "select n from {{ source('own', 'records') }}"})
    (root / "models/own.yml").write_text(
        "sources: [{name: own, topics: [{name: records, format: 'python:decode_record'}]}]"
    )
    code = "from typing import TypedDict\n\nclass R(TypedDict):\n    n: int\n\ndef decode_record(value: bytes) -> R:\n    return {'n': 1}\n"
    (root / "macros/records.py").write_text(code)
    assert _errors(root) == []
    (root / "macros/records.py").write_text(code.replace("bytes)", "bytes"))
    assert [path for _, path in _errors(root)] == ["macros/records.py"]


def test_a_column_without_a_name_is_at_the_call_of_its_macro(tmp_path: Path) -> None:
    select = "select user_id, {{ twice('amount') }} from {{ source('shop', 'events') }}"
    project(tmp_path, {"m": select})
    (tmp_path / "macros/twice.sql").write_text("{% macro twice(x) %}{{ x }} * 2{% endmacro %}")
    (diagnostic,) = compile_project(tmp_path, use_cache=False).diagnostics
    assert (diagnostic.code, str(diagnostic.location)) == ("MS409", "models/m.sql:1:20")


@pytest.mark.parametrize("group", ["1, type", "'all', type", "label, type"])
def test_a_constant_that_is_selected_is_a_key_that_is_selected(tmp_path: Path, group: str) -> None:
    table = "{{ config(materialized='table', unique_key=['label', 'type']) }} "
    select = (
        f"select 'all' as label, type, count(*) as n from {{{{ source('shop', 'events') }}}} group by {group}"
    )
    project(tmp_path, {"m": table + select})
    assert _errors(tmp_path) == []


@pytest.mark.parametrize("folder", ["models", "tests"])
def test_macros_in_another_folder_are_one_error(tmp_path: Path, folder: str) -> None:
    root = project(
        tmp_path, {"a": "select {{ cents('1') }} as cents", "b": "select {{ cents('2') }} as cents"}
    )
    (root / folder).mkdir(exist_ok=True)
    (root / folder / "money.sql").write_text("{% macro cents(amount) %}{{ amount }} * 100{% endmacro %}")
    (diagnostic,) = compile_project(root, use_cache=False).diagnostics
    assert diagnostic.code == "MS212"
    assert (diagnostic.message, diagnostic.help) == (
        f"'{folder}/money.sql' has macros and no SELECT",
        "move it to macros/",
    )


STREAMS = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n[tool.millstream]\nname = "shop"\n',
    "models/topics.yml": """
sources:
  - name: app
    topics:
      - name: events
        watermark: {column: event_at, delay: 1 hour}
        columns:
          - {name: id, type: bigint}
          - {name: event_name, type: string}
          - {name: event_at, type: timestamp}
          - {name: arm, type: "map<string,string>"}
      - name: orders
        watermark: {column: at, delay: 1 hour}
        columns:
          - {name: order_id, type: bigint}
          - {name: id, type: bigint}
          - {name: at, type: timestamp}
""",
    "models/a_joined.sql": "{{ config(materialized='sink') }} select e.id, o.order_id, e.arm['x'] as arm from {{ source('app','events') }} as e "
    "join {{ source('app','orders') }} as o on o.id = e.id and o.at between e.event_at and e.event_at + interval 1 hour",
    "models/b_counts.sql": "{{ config(materialized='sink', key=['id', 'begin']) }} select id, window(event_at, '1 hour').start as begin, "
    "count(*) as n from {{ source('app','events') }} group by id, window(event_at, '1 hour')",
    "models/c_first.sql": "{{ config(materialized='sink', dedupe={'keys': ['id'], 'within': '1 hour'}) }} "
    "select id, event_at from {{ source('app','events') }}",
    "models/d_arms.sql": "select id, arm from {{ source('app','events') }}",
    "models/e_reader.sql": "{{ config(materialized='sink') }} select id, arm['a'] as a from {{ ref('d_arms') }}",
}
MISDECLARED = [
    ("event_at, type: timestamp", "event_at, type: timestmp", "MS107", "timestamp"),
    ("column: at,", "column: att,", "MS117", "'at'"),
    ("delay: 1 hour}", "delay: 1 hour and}", "MS107", "delay: 10 seconds"),
    ('"map<string,string>"', "map<string>", "MS107", ""),
    ("column: event_at", "column: event_time", "MS117", "'event_at'"),
    ("column: event_at", "column: when", "MS117", "name a timestamp: event_at, _timestamp"),
]


def _diagnostics(folder: Path, files: dict[str, str]) -> list[Diagnostic]:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return list(compile_project(folder).diagnostics)


@pytest.mark.parametrize(("before", "after", "code", "remedy"), MISDECLARED)
def test_a_mistake_in_a_topic_is_one_error_without_warnings(
    tmp_path: Path, before: str, after: str, code: str, remedy: str
) -> None:
    assert _diagnostics(tmp_path, STREAMS) == []
    wrong = STREAMS | {"models/topics.yml": STREAMS["models/topics.yml"].replace(before, after, 1)}
    for _ in range(2):
        (diagnostic,) = _diagnostics(tmp_path, wrong)
        assert (diagnostic.code, diagnostic.location and diagnostic.location.path) == (
            code,
            "models/topics.yml",
        )
        assert remedy in diagnostic.help


def test_what_another_topic_needs_is_still_reported(tmp_path: Path) -> None:
    topics = STREAMS["models/topics.yml"].replace("column: at,", "column: att,")
    only_events = STREAMS["models/c_first.sql"].replace("select id, event_at", "select id")
    diagnostics = _diagnostics(
        tmp_path, STREAMS | {"models/topics.yml": topics, "models/c_first.sql": only_events}
    )
    assert {diagnostic.code for diagnostic in diagnostics} == {"MS117", "MS523"}


@pytest.mark.parametrize("columns", ["id, arm", "*"])
def test_a_cycle_is_the_only_error(tmp_path: Path, columns: str) -> None:
    cycle = {
        "models/d_arms.sql": f"select {columns} from {{{{ ref('e_reader') }}}}",
        "models/f_behind.sql": "{{ config(materialized='sink', key='a') }} select r.id, r.a from {{ ref('e_reader') }} as r",
        "models/g_further.sql": "{{ config(materialized='table', unique_key='id') }} select id, a from {{ ref('f_behind') }}",
        "models/m.yml": "models: [{name: d_arms, columns: [{name: id}, {name: arm}]}, {name: f_behind, columns: [{name: id}]}]",
    }
    assert [diagnostic.code for diagnostic in _diagnostics(tmp_path, STREAMS | cycle)] == ["MS501"]
