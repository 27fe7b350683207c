"""Values that no one expects are mistakes with a place, never internal errors."""

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

LARGE = "99999999999999999999999"
MODELS = f"models: [{{name: stg_clicks, meta: {{a: {LARGE}}}}}]"
UNITS = f"unit_tests: [{{name: u, model: totals, given: [{{input: ref('stg_clicks'), rows: [{{amount: {LARGE}}}]}}], expect: {{rows: []}}}}]"
TOPIC = "sources: [{name: far, topics: [{name: t, columns: [{name: a, type: int}], %s}]}]"
SETTINGS = '[tool.millstream]\nname = "shop"\n'
SELECT = "select user_id from {{ ref('stg_clicks') }}"
CASES = [
    ("models/x.yml", MODELS, "MS105", LARGE),
    ("models/x.yml", UNITS, "MS105", LARGE),
    ("models/x.yml", f"exposures: [{{name: e, meta: {{a: [-{LARGE}]}}}}]", "MS105", f"-{LARGE}"),
    ("models/x.yml", TOPIC % f"partitions: {LARGE}", "MS105", LARGE),
    ("models/x.yml", TOPIC % 'schema: "a\\0b.avsc"', "MS105", '"a\\0b.avsc"'),
    ("models/x.sql", f"{{{{ config(meta={{'a': {LARGE}}}) }}}}{SELECT}", "MS206", "meta"),
    ("models/x.sql", f"{{{{ config(meta={{'a': ref}}) }}}}{SELECT}", "MS206", "meta"),
    ("models/x.sql", f"{{{{ config(meta=[range]) }}}}{SELECT}", "MS206", "meta"),
    ("pyproject.toml", f"{SETTINGS}vars = {{a = {LARGE}}}", "MS107", LARGE),
    ("pyproject.toml", f"{SETTINGS}vars = {{a = {'9' * 5000}}}", "MS104", "9" * 5000),
    ("pyproject.toml", f'{SETTINGS}model_paths = ["models", "a\\u0000b"]', "MS107", '"a\\u0000b"'),
    ("pyproject.toml", f'{SETTINGS}target_path = "a\\u0000b"', "MS107", '"a\\u0000b"'),
    ("pyproject.toml", f'{SETTINGS}vars = {{a = {{b = ["\\u0000"]}}}}', "MS107", '"\\u0000"'),
    ("models/x.sql/y.sql", SELECT, "MS102", ""),
    ("models/marts.yml/y.sql", SELECT, "MS102", ""),
]


@pytest.mark.parametrize(("path", "content", "code", "under"), CASES)
def test_an_extreme_value_is_a_located_mistake(run, shop, path, content, code, under):
    (shop / path).parent.mkdir(exist_ok=True)
    (shop / path).write_text(content)
    for _ in range(2):
        errors = [
            diagnostic
            for diagnostic in run("compile", "--output", "json").json["diagnostics"]
            if diagnostic["severity"] == "error"
        ]
        assert [diagnostic["code"] for diagnostic in errors if diagnostic["code"] != "MS122"] == [code]
        diagnostic = errors[0]
        line = content.splitlines()[diagnostic["line"] - 1]
        assert diagnostic["path"] == (path if under else path.rpartition("/")[0])
        assert not under or line[diagnostic["column"] - 1 : diagnostic["end"] - 1] == under


@pytest.mark.parametrize("link", ["../models", "..", "."])
def test_a_model_that_links_to_its_own_folder(run, shop, link):
    (shop / "models/x.sql").symlink_to(link)
    result = run("compile")
    assert result.code == 2
    assert "error[MS102]: this is a folder with the name of a file" in result.err


@pytest.mark.parametrize(
    "path", ["models/x.sql", "models/x.yml", "macros/x.py", "seeds/x.csv", "schemas/x.avsc", "models/folder"]
)
@pytest.mark.parametrize(
    ("target", "where"),
    [
        ("elsewhere", "outside the repository"),
        ("/proc/self/environ", "outside the repository"),
        (".git", "to a hidden file"),
    ],
)
def test_a_link_shows_no_file_that_is_not_of_the_repository(run, shop, tmp_path_factory, path, target, where):
    if target == "elsewhere":
        target = tmp_path_factory.mktemp("elsewhere")
    elif target == ".git":
        target = shop / ".git"
        target.mkdir()
    elif path == "models/folder":
        target = "/proc/self"
    if isinstance(target, Path):
        for name in ("x.sql", "x.yml"):
            (target / name).write_text("token: canary, (\n")
        target = target if path == "models/folder" else target / "x.sql"
    (shop / path).parent.mkdir(exist_ok=True)
    (shop / path).symlink_to(target)
    for _ in range(2):
        result = run("compile")
        assert result.code == 2
        assert f"error[MS102]: the link points {where}\n --> {path}" in result.err
        assert "canary" not in result.err + result.out
    assert not any("canary" in path.read_text() for path in shop.glob("target/**/*.sql"))


def test_files_that_kubernetes_mounts_are_read(run, shop):
    """They are links to a folder that is a link to the newest version."""
    (shop / "models/..2026_11_27").mkdir()
    (shop / "models/..data").symlink_to("..2026_11_27")
    for path in [path for path in (shop / "models").iterdir() if path.is_file()]:
        path.rename(shop / "models/..data" / path.name)
        path.symlink_to(f"..data/{path.name}")
    assert run("compile").code == 0


@pytest.mark.parametrize(
    "path", ["models/x.sql", "models/x.yml", "macros/x.py", "seeds/x.csv", "tests/x.yml"]
)
@pytest.mark.parametrize("special", ["pipe", "/dev/zero"])
def test_a_file_without_an_end_is_not_read_by_any_part_of_a_command(run, shop, path, special):
    """Neither by the loader, with a cache and without, nor by what shows the line of an error."""
    os.mkfifo(shop / "pipe")
    (shop / path).parent.mkdir(exist_ok=True)
    (shop / path).symlink_to(shop / special)
    for _ in range(2):
        result = run("compile")
        assert result.code == 2
        assert (
            f"error[MS102]: the file can't be read: it is a pipe, a socket or a device\n --> {path}"
            in result.err
        )


def test_a_schema_without_an_end_is_one_error(run, shop):
    """Neither the topic nor the sink that names it says that it does not exist."""
    (shop / "schemas").mkdir()
    os.mkfifo(shop / "schemas/e.avsc")
    (shop / "models/e.yml").write_text(
        "sources:\n- name: e\n  topics:\n  - {name: e, format: avro, schema: schemas/e.avsc}\n"
    )
    for name, option in (("x", "format='avro', schema"), ("y", "key='a', key_format='avro', key_schema")):
        config = f"materialized='sink', topic='{name}', {option}='schemas/e.avsc'"
        (shop / f"models/{name}.sql").write_text(
            f"{{{{ config({config}) }}}} select a from {{{{ source('e', 'e') }}}}"
        )
    result = run("compile")
    assert result.code == 2
    assert result.err.count("error[") == 1
    assert (
        "error[MS102]: the file can't be read: it is a pipe, a socket or a device\n --> schemas/e.avsc"
        in result.err
    )


def _obey_permissions():
    """Let the next program ask for permission also as root: drop CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
    if os.geteuid() == 0:
        for capability in (1, 2):
            if ctypes.CDLL(None, use_errno=True).prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
                raise OSError(ctypes.get_errno(), "prctl")


@pytest.mark.parametrize(
    "path", ["models/x.sql", "models/x.yml", "macros/x.py", "schemas/x.avsc", "models/z"]
)
def test_an_unreadable_file_is_noticed_despite_the_cache(run, shop, path):
    (shop / path).parent.mkdir(exist_ok=True)
    if path.endswith("z"):
        (shop / path).mkdir()
    assert run("compile").code == 0
    if not path.endswith("z"):
        (shop / path).write_text("")
    (shop / path).chmod(0)
    for _ in range(2):
        result = subprocess.run(
            [sys.executable, "-m", "millstream", "compile", "--project-dir", shop],
            capture_output=True, text=True, check=False, preexec_fn=_obey_permissions,
        )  # fmt: skip
        assert result.returncode == 2
        assert re.search(
            rf"error\[MS102\]: the (file|folder) can't be read: permission denied\n --> {path}", result.stderr
        )


@pytest.mark.parametrize("name", ["manifest.json", "cache/snapshot.msgpack"])
def test_a_pipe_in_the_target_folder_is_replaced(run, shop, name):
    assert run("compile").code == 0
    file = shop / "target" / name
    before = file.stat().st_size
    file.unlink()
    os.mkfifo(file)
    assert run("compile").code == 0
    assert file.is_file()
    assert file.stat().st_size == before


def test_a_manifest_without_an_end(run, shop):
    result = run("review", "--against-manifest", "/dev/zero")
    assert (result.code, "error[MS725]: /dev/zero can't be read: it is a device" in result.err) == (2, True)


def test_an_unexpected_text_is_shown_in_part(run, shop):
    (shop / "models/x.sql").write_text(f"select 1 as a {'b' * 100_000} from t")
    result = run("compile")
    assert "error[MS401]: unexpected 'bbb" in result.err
    assert len(result.err) < 2000


@pytest.mark.parametrize("content", ["[" * 100_000, '{"nodes":' * 100_000, "9" * 5000])
def test_a_manifest_nested_deeply(run, shop, content):
    (shop / "other.json").write_text(content)
    result = run("review", "--against-manifest", "other.json")
    assert (result.code, "error[MS725]" in result.err) == (2, True)
