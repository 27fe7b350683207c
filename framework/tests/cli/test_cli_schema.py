"""`millstream schema`."""

import json

from millstream.cli.commands.schema import NAMES


def test_one_schema_is_printed_alone(run):
    schema = json.loads(run("schema", "properties").out)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert "models" in schema["properties"]


def test_all_schemas_by_name(run):
    assert set(json.loads(run("schema").out)) == set(NAMES)


def test_schemas_are_written_to_a_folder(run, tmp_path):
    result = run("schema", "--write", str(tmp_path / "a/b"))
    assert result.code == 0
    assert sorted(path.name for path in (tmp_path / "a/b").iterdir()) == sorted(
        f"{name}.json" for name in NAMES
    )


def test_a_folder_that_cannot_be_made_is_told(run, tmp_path):
    (tmp_path / "file").write_text("")
    result = run("schema", "--write", str(tmp_path / "file/x"))
    assert result.code == 2
    assert "error[MS702]" in result.err


def test_no_project_is_needed(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("schema", "manifest", "--output", "json").json["schemas"]["manifest"]["$defs"]["ManifestNode"]


def test_an_unknown_name_is_told_by_the_argument(run):
    assert "invalid value for '[NAME]': 'x' is not one of 'properties'" in run("schema", "x").err
