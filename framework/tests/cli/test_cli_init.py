"""`millstream init`."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import MILLSTREAM

from millstream.cli import project_templates
from millstream.cli.project_templates import FOLDER, NAMES, TEMPLATES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_project_compiles_green(run, here, monkeypatch):
    result = run("init", "bistro")
    assert result.code == 0
    assert "cd bistro" in result.out
    monkeypatch.chdir(here / "bistro")
    assert run("compile").err == ""
    assert run("debug").code == 0
    assert run("ls", "--resource-type", "model", "--output", "name").out.split() == [
        "stg_orders",
        "customers",
        "revenue_per_hour",
    ]


@pytest.mark.parametrize("template", NAMES)
def test_every_column_of_a_new_project_has_a_type_and_a_description(run, here, monkeypatch, template):
    assert run("init", "bistro", "--template", template, "--no-git").code == 0
    monkeypatch.chdir(here / "bistro")
    result = run("compile")
    assert (result.code, result.err) == (0, "")
    nodes = json.loads((here / "bistro/target/manifest.json").read_text())["nodes"].values()
    models = [node for node in nodes if node["kind"] == "model"]
    columns = [(node["name"], column) for node in models for column in node["columns"]]
    assert [(name, c["name"]) for name, c in columns if c["type"] == "unknown" or not c["description"]] == []
    assert [node["name"] for node in models if node["opaque"] or not node["description"]] == []


@pytest.mark.long
@pytest.mark.parametrize("template", TEMPLATES, ids=NAMES)
def test_a_new_project_builds_and_passes_its_tests(here, template):
    """As a user starts the commands, in processes of their own; the model that `init` names has rows."""
    millstream("init", "bistro", "--template", template.name)
    root = here / "bistro"
    try:
        built = json.loads(millstream("build", "--output", "json", root=root))
        assert {test["kind"] for test in built["tests"]} == {"unit_test", "test"}
        assert {test["status"] for test in built["tests"]} == {"pass"}
        assert re.search(r"\b[1-9]\d* passed", millstream("test", "--unit", root=root))
        assert len(json.loads(millstream("show", template.model, "--output", "json", root=root))["rows"]) > 0
    finally:
        millstream("broker", "stop", root=root)


def millstream(*arguments, root="."):
    done = subprocess.run([*MILLSTREAM, *arguments], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_name_stands_where_it_is_needed(run, here):
    run("init", "bistro")
    assert '[tool.millstream]\nname = "bistro"' in (here / "bistro/pyproject.toml").read_text()
    assert (here / "bistro/profiles.yml").read_text().startswith("bistro:\n")
    assert (here / "bistro/README.md").read_text().startswith("# bistro\n")
    for path in (here / "bistro").rglob("*.*"):
        assert path.is_dir() or "__name__" not in path.read_text()


def test_editors_are_wired_to_schemas_that_are_there(run, here):
    run("init", "bistro")
    settings = json.loads((here / "bistro/.vscode/settings.json").read_text())
    assert len(settings["yaml.schemas"]) == 3
    for schema in settings["yaml.schemas"]:
        json.loads((here / "bistro" / schema).read_text())


def test_what_is_made_is_told_as_json(run, here):
    output = run("init", "bistro", "--output", "json").json
    assert output["files"] == sorted(
        str(path.relative_to(here / "bistro"))
        for path in (here / "bistro").rglob("*")
        if path.is_file() and ".git" not in path.parts
    )


def test_an_empty_folder_is_taken(run, here):
    (here / "bistro").mkdir()
    assert run("init", "bistro").code == 0


def test_a_folder_with_something_in_it_is_left_alone(run, here):
    (here / "bistro").mkdir()
    (here / "bistro/mine.txt").write_text("mine")
    result = run("init", "bistro")
    assert result.code == 2
    assert "error[MS703]: the folder 'bistro' is not empty" in result.err
    assert [path.name for path in (here / "bistro").iterdir()] == ["mine.txt"]


def test_a_file_of_the_name_is_left_alone(run, here):
    (here / "bistro").write_text("mine")
    assert "error[MS703]: 'bistro' is a file" in run("init", "bistro").err


@pytest.mark.parametrize(
    ("name", "proposed"),
    [
        ("my-shop", "my_shop"),
        ("1shop", "project_1shop"),
        ("a b", "a_b"),
        ("class", "project_class"),
        ("../x y", "../x_y"),
        ("deep/my-shop/", "deep/my_shop"),
    ],
)
def test_an_invalid_name_comes_with_a_valid_one(run, here, name, proposed):
    result = run("init", name)
    assert result.code == 2
    folder = name.strip("/").rpartition("/")[2]
    assert f"error[MS704]: '{folder}' is not a valid project name" in result.err
    assert f"`millstream init {proposed}`" in result.err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("path", ["deep/er/bistro", "../bistro", "./bistro/"])
def test_a_path(run, tmp_path, monkeypatch, path):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert run("init", path).code == 0
    assert '[tool.millstream]\nname = "bistro"' in Path(path, "pyproject.toml").read_text()


def test_this_folder_with_a_repository(run, tmp_path, monkeypatch):
    (tmp_path / "bistro").mkdir()
    monkeypatch.chdir(tmp_path / "bistro")
    subprocess.run(["git", "init", "--quiet"], check=True)
    result = run("init", ".")
    assert result.code == 0
    assert "cd " not in result.out
    assert "git repository" not in result.out
    assert run("compile").code == 0


def test_a_git_repository_is_made(run, here):
    assert "(22 files, in a new git repository)" in run("init", "bistro").out
    git = ["git", "-C", "bistro", "status", "--porcelain", "--branch"]
    status = subprocess.run(git, capture_output=True, text=True, check=True).stdout
    assert status.startswith("## No commits yet on main\n")
    # Within a repository, there is none of its own.
    assert run("init", "bistro/inner", "--output", "json").json["git"] is False
    assert not (here / "bistro/inner/.git").exists()


def test_without_git(run, here, monkeypatch):
    assert run("init", "one", "--no-git").code == 0
    monkeypatch.setenv("PATH", str(here))
    assert run("init", "two").code == 0
    assert not any((here / folder / ".git").exists() for folder in ("one", "two"))


def test_the_next_commands_work(run, here):
    result = run("init", "bistro", "--no-git")
    commands = re.findall(r"^  (\w+ \S+ ?\S*)", result.out, re.MULTILINE)
    assert commands == ["cd bistro", "millstream build ", "millstream show customers"]


def test_the_project_depends_on_millstream(run, here):
    run("init", "bistro")
    project = tomllib.loads((here / "bistro/pyproject.toml").read_text())["project"]
    assert project["name"] == "bistro"
    assert project["dependencies"] == ["millstream"]


@pytest.mark.parametrize(
    ("direct", "source"),
    [
        ({"url": "FOLDER", "dir_info": {}}, {"path": "PATH"}),
        ({"url": "FOLDER", "dir_info": {"editable": True}}, {"path": "PATH", "editable": True}),
        ({"url": "FOLDER/gone.whl", "archive_info": {}}, None),
        (
            {"url": "https://git.example/m", "vcs_info": {"vcs": "git", "commit_id": "ab12"}},
            {"git": "https://git.example/m", "rev": "ab12"},
        ),
        ({"url": "https://example.com/m.whl", "archive_info": {}}, {"url": "https://example.com/m.whl"}),
    ],
)
def test_uv_gets_millstream_where_it_is_installed_from(tmp_path, direct, source):
    folder = tmp_path / "a folder"
    folder.mkdir()
    text = project_templates._sources(direct | {"url": direct["url"].replace("FOLDER", folder.as_uri())})
    setting = tomllib.loads(text).get("tool", {}).get("uv", {}).get("sources", {}).get("millstream")
    assert setting == (
        source and {key: str(folder) if text == "PATH" else text for key, text in source.items()}
    )


def test_uv_gets_this_installation(run, here):
    run("init", "bistro")
    sources = tomllib.loads((here / "bistro/pyproject.toml").read_text())["tool"]["uv"]["sources"]
    assert (Path(sources["millstream"]["path"]) / "framework/millstream").is_dir()


def test_another_place(run, here):
    (here / "work").mkdir()
    assert run("init", "bistro", "--project-dir", "work").code == 0
    assert (here / "work/bistro/pyproject.toml").exists()


def test_the_generator_makes_the_topics_records():
    code = (
        "import runpy, random, datetime as d, itertools\n"
        f"orders = runpy.run_path({str(FOLDER / 'events/seeds/orders.py')!r})['orders']\n"
        "make = lambda: list(itertools.islice(orders(random.Random(1), d.datetime(2024, 1, 1)), 50))\n"
        "assert make() == make(), 'not the same for the same seed'\n"
        "print(sorted(make()[0][1]))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['customer_id', 'drink', 'price_cents', 'quantity', 'timestamp']"
