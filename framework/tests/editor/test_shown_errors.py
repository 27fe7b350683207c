"""What an editor shows while files are edited, over pipes: as `millstream compile` does, and nothing stale."""

import json
import subprocess
import sys

import pytest
from editor.conftest import SHOP, write_shop
from lsprotocol import types
from support.language_client import Editor

TOTALS = SHOP["models/totals.sql"]


@pytest.mark.parametrize(
    ("path", "written", "instead", "expected"),
    [
        ("models/totals.sql", "sum(euros)", "sum(eros)", ("MS402", "eros")),
        ("models/totals.sql", "ref('stg_clicks')", "ref('stg_click')", ("MS203", "stg_click")),
        ("models/totals.sql", "select user_id, sum", "selec user_id, sum", ("MS401", ",")),
        ("models/totals.sql", "}}\nwith", "\nwith", ("MS201", "w")),
        ("models/totals.sql", "unique_key=", "unique_keys=", ("MS120", "unique_keys")),
        ("models/shop.yml", "tests: [not_null]", "test: [not_null]", ("MS106", "test")),
        ("models/shop.yml", "name: amount", "name: amont", ("MS402", "amont")),
        ("models/shop.yml", "models:\n", "models: [\n", ("MS105", "-")),
        ("models/shop.yml", "{user_id: a, total: 3.0}", "{user_id: a, totl: 3.0}", ("MS650", "totl")),
        ("macros/money.py", "amount: int", "amount: integer", ("MS305", "integer")),
        ("macros/limits.sql", "{% endmacro %}", "", ("MS201", "macro at_least(column, least=1)")),
        ("pyproject.toml", "unbounded_state", "unbounded_stat", ("MS120", "unbounded_stat")),
    ],
)
def test_an_error_is_shown_and_disappears(shop, path, written, instead, expected):
    text = shop.open(path)
    shop.type(path, text.replace(written, instead, 1))
    shop.wait_until(lambda: shop.shown().get(path))
    assert expected in shop.marked(path)
    shop.type(path, text)
    shop.wait_for({})


def test_the_remedy_and_other_locations_are_shown(shop):
    path = "models/totals.sql"
    shop.open(path)
    shop.type(path, TOTALS.replace("sum(euros)", "sum(euro)"))
    shop.wait_until(lambda: shop.shown().get(path))
    (diagnostic,) = shop.diagnostics(path)
    assert diagnostic.message == "column 'euro' does not exist\nhelp: did you mean 'euros'?"
    assert (diagnostic.severity, diagnostic.source) == (types.DiagnosticSeverity.Error, "millstream")
    shop.type(path, TOTALS)
    shop.open("models/other.yml", "models:\n  - {name: totals, columns: []}\n")
    shop.wait_until(lambda: shop.shown().get("models/shop.yml") or shop.shown().get("models/other.yml"))
    notes = [
        note
        for file in ("models/shop.yml", "models/other.yml")
        for shown in shop.diagnostics(file)
        for note in shown.related_information or ()
    ]
    assert [note.message for note in notes] == ["first defined here"]


def test_errors_in_several_files_come_together(shop):
    totals, staging = shop.open("models/totals.sql"), shop.open("models/stg_clicks.sql")
    shop.type("models/totals.sql", totals.replace("sum(euros)", "sum(eros)"))
    shop.type("models/stg_clicks.sql", staging.replace("c.kind <>", "c.knd <>"))
    shop.wait_until(lambda: len(shop.shown()) == 2)
    codes = {path: [code for code, *_ in shown] for path, shown in shop.shown().items()}
    assert codes == {"models/stg_clicks.sql": ["MS402"], "models/totals.sql": ["MS402"]}


def test_an_edit_of_one_file_shows_errors_in_its_readers(shop):
    staging = shop.open("models/stg_clicks.sql")
    shop.type("models/stg_clicks.sql", staging.replace("c.amount,", "c.amount as cents,"))
    shop.wait_until(lambda: "models/totals.sql" in shop.shown())
    assert ("MS402", "amount") in shop.marked("models/totals.sql")


def test_errors_are_those_of_compile(tmp_path):
    broken = TOTALS.replace("sum(euros)", "sum(eros)").replace("'user_id'", "'user'")
    write_shop(tmp_path)
    (tmp_path / "models/totals.sql").write_text(broken)
    (tmp_path / "models/more.yml").write_text("models:\n  - {name: nothing, colums: []}\n")
    command = [sys.executable, "-m", "millstream", "compile", "--output", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    compiled = {
        (d["path"], d["code"], d["line"] - 1, d["column"] - 1) for d in json.loads(done.stdout)["diagnostics"]
    }
    assert len(compiled) >= 3
    editor = Editor(tmp_path)
    try:
        editor.wait_until(
            lambda: {(path, *where) for path, shown in editor.shown().items() for where in shown} == compiled
        )
    finally:
        editor.stop()


def test_a_project_file_that_is_not_toml_hides_nothing_else(shop):
    shop.open("models/totals.sql")
    text = shop.open("pyproject.toml")
    shop.type("pyproject.toml", text + "[tool.millstream\n")
    shop.wait_until(lambda: "pyproject.toml" in shop.shown())
    assert [code for code, *_ in shop.shown()["pyproject.toml"]] == ["MS104"]
    assert "Clicks of people" in shop.hover("models/totals.sql", "stg_clicks")
    shop.type("models/totals.sql", TOTALS.replace("sum(euros)", "sum(eros)"))
    shop.type("pyproject.toml", text)
    shop.wait_until(lambda: list(shop.shown()) == ["models/totals.sql"])


def test_a_project_that_never_loaded_is_shown_once_it_does(tmp_path):
    write_shop(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.millstream]\nname = \n")
    editor = Editor(tmp_path)
    try:
        editor.wait_until(editor.shown)
        assert list(editor.shown()) == ["pyproject.toml"]
        editor.open("models/totals.sql")
        assert editor.hover("models/totals.sql", "stg_clicks") == ""
        (tmp_path / "pyproject.toml").write_text(SHOP["pyproject.toml"])
        editor.files_changed("pyproject.toml")
        editor.wait_for({})
        assert "Clicks of people" in editor.hover("models/totals.sql", "stg_clicks")
    finally:
        editor.stop()


def test_a_new_file_counts_before_it_is_saved(shop):
    shop.open("models/latest.sql", "select user_id, totl from {{ ref('totals') }}")
    shop.wait_for({"models/latest.sql": [("MS402", 0, 16)]})
    shop.type("models/latest.sql", "select user_id, total from {{ ref('totals') }}")
    shop.wait_for({})
    shop.open("models/newest.sql", "select user_id from {{ ref('latest') }}")
    shop.type("models/newest.sql", "select total, user from {{ ref('latest') }}")
    shop.wait_until(lambda: "models/newest.sql" in shop.shown())


def test_an_edit_that_is_closed_without_saving_is_gone(shop):
    shop.open("models/totals.sql")
    shop.type("models/totals.sql", TOTALS.replace("sum(euros)", "sum(eros)"))
    shop.wait_until(lambda: "models/totals.sql" in shop.shown())
    shop.close("models/totals.sql")
    shop.wait_for({})


def test_a_saved_edit_stays_after_closing(shop):
    shop.open("models/totals.sql")
    shop.type("models/totals.sql", TOTALS.replace("sum(euros)", "sum(eros)"))
    shop.save("models/totals.sql")
    shop.close("models/totals.sql")
    shop.wait_until(lambda: "models/totals.sql" in shop.shown())


def test_a_file_that_is_deleted_while_it_is_open_counts_until_it_is_closed(shop):
    shop.open("models/stg_clicks.sql")
    (shop.root / "models/stg_clicks.sql").unlink()
    shop.files_changed("models/stg_clicks.sql", kind=types.FileChangeType.Deleted)
    shop.open("models/totals.sql")
    assert shop.definition("models/totals.sql", "stg_clicks") == [("models/stg_clicks.sql", 1, "")]
    shop.wait_for({})
    shop.close("models/stg_clicks.sql")
    shop.wait_until(lambda: ("MS203", "stg_clicks") in shop.marked("models/totals.sql"))


def test_a_folder_that_is_deleted_while_a_file_is_open(shop):
    (shop.root / "models/deep").mkdir()
    (shop.root / "models/deep/nested.sql").write_text("select user_id from {{ ref('totals') }}")
    shop.open("models/deep/nested.sql")
    (shop.root / "models/deep/nested.sql").unlink()
    (shop.root / "models/deep").rmdir()
    shop.type("models/deep/nested.sql", "select usr_id from {{ ref('totals') }}")
    shop.wait_for({"models/deep/nested.sql": [("MS402", 0, 7)]})


def test_two_projects_in_one_workspace_are_apart(tmp_path):
    first, second = write_shop(tmp_path / "first"), write_shop(tmp_path / "second")
    (second / "models/totals.sql").write_text(TOTALS.replace("sum(euros)", "sum(eros)"))
    editor = Editor(tmp_path)
    try:
        editor.open("first/models/totals.sql")
        editor.open("second/models/totals.sql")
        editor.wait_for({"second/models/totals.sql": [("MS402", 4, 20)]})
        assert (
            editor.definition("first/models/totals.sql", "stg_clicks")[0][0] == "first/models/stg_clicks.sql"
        )
        editor.type("first/models/totals.sql", "select 1")
        editor.wait_until(lambda: "first/models/totals.sql" in editor.shown())
        editor.type("second/models/totals.sql", TOTALS)
        editor.wait_until(lambda: list(editor.shown()) == ["first/models/totals.sql"])
        assert first != second
    finally:
        editor.stop()


def test_a_file_outside_of_projects_is_ignored(tmp_path):
    write_shop(tmp_path / "shop")
    (tmp_path / "notes.sql").write_text("selec 1")
    editor = Editor(tmp_path)
    try:
        editor.open("notes.sql")
        assert editor.hover("notes.sql", "selec") == ""
        assert editor.shown() == {}
    finally:
        editor.stop()


@pytest.mark.parametrize(("encoding", "column"), [("utf-16", 21), ("utf-8", 26), ("utf-32", 19)])
def test_columns_count_as_the_editor_does(tmp_path, encoding, column):
    write_shop(tmp_path)
    text = "select '🎈🎈é', usr_id as b from {{ ref('totals') }}"
    (tmp_path / "models/party.sql").write_text(text.replace("'🎈🎈é'", "'🎈🎈é' as a"))
    editor = Editor(tmp_path, encodings=(encoding,))
    try:
        assert editor.server.capabilities.position_encoding == encoding
        editor.wait_until(editor.shown)
        assert editor.shown() == {"models/party.sql": [("MS402", 0, column)]}
    finally:
        editor.stop()


def test_windows_line_ends(shop):
    text = TOTALS.replace("\n", "\r\n")
    shop.open("models/totals.sql", text)
    shop.type("models/totals.sql", text.replace("sum(euros)", "sum(eros)"))
    shop.wait_for({"models/totals.sql": [("MS402", 4, 20)]})
    shop.type("models/totals.sql", text)
    shop.wait_for({})
    assert shop.definition("models/totals.sql", "euros) as")[0] == ("models/totals.sql", 3, "euros")


def test_what_was_typed_last_is_shown(shop):
    """Edits that come while a compile runs are not lost."""
    shop.open("models/totals.sql")
    for length in range(1, 30):
        shop.type("models/totals.sql", TOTALS.replace("sum(euros)", f"sum({'x' * length})"))
    shop.wait_until(
        lambda: any("'" + "x" * 29 + "'" in d.message for d in shop.diagnostics("models/totals.sql"))
    )
    shop.type("models/totals.sql", TOTALS)
    shop.wait_for({})


def test_line_separators_that_editors_do_not_count(shop):
    text = TOTALS.replace("with cleaned", "-- a\u2028b\x0cc\x85d\nwith cleaned")
    shop.open("models/totals.sql", text)
    shop.type("models/totals.sql", text.replace("sum(euros)", "sum(eros)"))
    shop.wait_for({"models/totals.sql": [("MS402", 5, 20)]})
