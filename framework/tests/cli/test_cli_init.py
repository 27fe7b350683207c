"""`millstream init`."""

import json
import subprocess
import sys

import pytest

from millstream.cli.commands.init import TEMPLATES


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_project_compiles_green(run, here, monkeypatch):
    found = run("init", "bistro")
    assert found.code == 0
    assert "cd bistro" in found.out
    monkeypatch.chdir(here / "bistro")
    assert run("compile").err == ""
    assert run("debug").code == 0
    assert run("ls", "--resource-type", "model", "--output", "name").out.split() == [
        "stg_orders",
        "customers",
        "revenue_per_hour",
    ]


def test_every_column_of_a_new_project_has_a_type(run, here, monkeypatch):
    run("init", "bistro")
    monkeypatch.chdir(here / "bistro")
    run("compile")
    nodes = json.loads((here / "bistro/target/manifest.json").read_text())["nodes"].values()
    models = [node for node in nodes if node["kind"] == "model"]
    assert {
        node["name"]: [c["name"] for c in node["columns"] if c["type"] == "unknown"] for node in models
    } == {
        "stg_orders": [],
        "customers": [],
        "revenue_per_hour": [],
    }
    assert [node["opaque"] for node in models] == [[], [], []]


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
    found = run("init", "bistro", "--output", "json").json
    assert found["files"] == sorted(
        str(path.relative_to(here / "bistro")) for path in (here / "bistro").rglob("*") if path.is_file()
    )


def test_an_empty_folder_is_taken(run, here):
    (here / "bistro").mkdir()
    assert run("init", "bistro").code == 0


def test_a_folder_with_something_in_it_is_left_alone(run, here):
    (here / "bistro").mkdir()
    (here / "bistro/mine.txt").write_text("mine")
    found = run("init", "bistro")
    assert found.code == 2
    assert "error[MS703]: the folder 'bistro' is not empty" in found.err
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
        ("../x", "x"),
    ],
)
def test_an_invalid_name_comes_with_a_valid_one(run, here, name, proposed):
    found = run("init", name)
    assert found.code == 2
    assert f"error[MS704]: '{name}' is not a valid project name" in found.err
    assert f"`millstream init {proposed}`" in found.err
    assert list(here.iterdir()) == []


def test_another_place(run, here):
    (here / "work").mkdir()
    assert run("init", "bistro", "--project-dir", "work").code == 0
    assert (here / "work/bistro/pyproject.toml").exists()


def test_the_generator_makes_the_topics_records():
    code = (
        "import runpy, random, datetime as d, itertools\n"
        f"orders = runpy.run_path({str(TEMPLATES / 'seeds/orders.py')!r})['orders']\n"
        "make = lambda: list(itertools.islice(orders(random.Random(1), d.datetime(2024, 1, 1)), 50))\n"
        "assert make() == make(), 'not the same for the same seed'\n"
        "print(sorted(make()[0][1]))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['customer_id', 'drink', 'price_cents', 'quantity', 'timestamp']"
