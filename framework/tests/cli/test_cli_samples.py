"""`--sample` and `--empty` of `show`, `test` and `build`: nothing is written, and nothing need be there."""

import os

import pytest
from cli.conftest import CommandResult, write
from support.broker import lend
from support.runs import create_topics, send

from millstream.cli.group import millstream

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="needs flock"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "shop"\n[tool.millstream.models]\nunbounded_state = "accept"\n',
    "models/sources.yml": """\
sources:
  - name: web
    topics:
      - name: clicks
        key: {name: user, type: string}
        columns: [{name: id, type: bigint}, {name: product, type: string}]
      - name: products
        table: true
        key: {name: product, type: string}
        columns: [{name: price, type: bigint}]
""",
    "seeds/traffic.py": """\
def clicks(random, now):
    for n in range(1_000_000_000):
        yield "ann" if n % 2 else "bob", {"id": n, "product": f"p{n % 3}"}


def products(random, now):
    for n in range(6):
        yield f"p{n % 3}", {"price": n}
    yield "p2", None
""",
    "seeds/names.csv": "user,name\nann,Ann\nbob,Bob\n",
    "models/counts.sql": (
        "{{ config(materialized='table', unique_key='user') }}\n"
        "select user, count(*) as clicks from {{ source('web', 'clicks') }} group by user\n"
    ),
    "models/priced.sql": (
        "{{ config(materialized='sink', key='user') }}\n"
        "select c.user, c.id, p.price, n.name, t.clicks\n"
        "from {{ source('web', 'clicks') }} as c\n"
        "join {{ source('web', 'products') }} as p on c.product = p.product\n"
        "join {{ ref('names') }} as n on c.user = n.user\n"
        "join {{ ref('counts') }} as t on c.user = t.user\n"
    ),
    "models/models.yml": (
        "models:\n"
        "  - name: counts\n    tests: [row_count: {equals: 2}]\n"
        "  - name: priced\n    columns: [{name: id, tests: [expression: id < 4, unique]}]\n"
    ),
    "tests/units.yml": (
        "unit_tests:\n  - name: counted\n    model: counts\n"
        "    given: [{input: \"source('web', 'clicks')\", rows: [{_key: ann, id: 1}]}]\n"
        "    expect: [{user: ann, clicks: 1}]\n"
    ),
}


@pytest.fixture
def build(capfd):
    """Run `build`, which needs a real standard error, in this process."""

    def call(*arguments):
        capfd.readouterr()
        code = millstream.main(["build", *arguments], standalone_mode=False)
        return CommandResult(code, *capfd.readouterr())

    return call


def stored(root):
    """Return what a build would create."""
    return [path.name for path in (root / ".millstream").glob("*/*") if path.name != "log"]


def test_a_project_that_was_never_built(run, build, tmp_path, first_spark):
    root = write(tmp_path / "shop", FILES)
    project = ("--project-dir", str(root))
    rows = run("show", "priced", "--sample", "5", *project, "--output", "json").json["rows"]
    # The lookups are the newest rows of their generators: p2 has been deleted.
    assert sorted((row["id"], row["price"], row["name"], row["clicks"]) for row in rows) == [
        (0, 3, "Bob", 3), (1, 4, "Ann", 2), (3, 3, "Ann", 2), (4, 4, "Bob", 3),
    ]  # fmt: skip
    empty = run("show", "priced", "--empty", *project, "--output", "json").json
    assert (empty["columns"], empty["rows"]) == (["user", "id", "price", "name", "clicks"], [])

    tested = run("test", "--data", "--sample", "5", *project, "--output", "json")
    statuses = {result["id"].rpartition(".")[2]: result["status"] for result in tested.json["results"]}
    assert statuses == {
        "expression_priced_id": "fail", "row_count_counts": "pass", "unique_priced_id": "pass",
    }  # fmt: skip
    assert tested.code == 1

    built = build("--sample", "4", *project, "--output", "json")
    assert {model["id"]: model["rows"] for model in built.json["models"]} == {
        "model.counts": 2, "model.priced": 3,
    }  # fmt: skip
    assert {result["status"] for result in built.json["tests"]} == {"pass"}
    assert (built.code, len(built.json["tests"])) == (0, 4)
    built = build("--empty", *project)
    assert "2 models computed from no rows; 1 test passed; nothing was written" in built.err
    assert (built.code, stored(root), (root / "target/test_results.json").exists()) == (0, [], False)


def test_a_model_that_fails_on_its_sample(build, tmp_path, first_spark):
    failing = "{{ config(materialized='sink', key='user') }}\nselect user, 1 / (id - 2) as part, id\n"
    root = write(
        tmp_path / "shop", FILES | {"models/priced.sql": failing + "from {{ source('web', 'clicks') }}\n"}
    )
    built = build("--sample", "3", "--project-dir", str(root), "--output", "json")
    models = {
        model["id"]: [error["code"] for error in model["diagnostics"]] for model in built.json["models"]
    }
    assert (models["model.counts"], len(models["model.priced"]), built.code) == ([], 1, 1)


def test_the_newest_records_of_all_partitions(run, tmp_path, broker_server, first_spark):
    root = write(tmp_path / "shop", FILES)
    bootstrap = lend(broker_server, root)
    create_topics(bootstrap, "clicks", partitions=2)
    # A key's records are in one partition: ann has two of them, bob many.
    send(bootstrap, {"clicks": [("bob" if n > 1 else "ann", {"id": n, "product": "p1"}) for n in range(40)]})
    result = run("show", "counts", "--sample", "9", "--project-dir", str(root), "--output", "json")
    assert sum(row["clicks"] for row in result.json["rows"]) == 9
    rows = run("show", "priced", "--sample", "4", "--project-dir", str(root), "--output", "json").json["rows"]
    assert {row["id"] for row in rows} >= {38, 39}  # the newest, joined to a reference topic without records


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "names", "--sample", "3"], "--sample needs a model; 'names' is a seed"),
        (["show", "counts", "--sample", "3", "--empty"], "--sample and --empty can't be combined"),
        (["build", "--sample", "3", "--full-refresh"], "write nothing: leave out --full-refresh"),
        (["build", "--empty", "--rebuild", "counts"], "write nothing: leave out --rebuild"),
        (["build", "--sample", "0"], "0 is not in the range x>=1"),
    ],
)
def test_mistakes(run, tmp_path, arguments, message):
    root = write(tmp_path / "shop", FILES)
    result = run(*arguments, "--project-dir", str(root))
    assert (result.code, message in result.err) == (2, True), result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("test", "--unit", "--sample", "10"), "--sample is for data tests"),
        (("show", "counts", "--last", "5", "--sample", "5"), "--last belongs to --compute"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(shop, run, arguments, message):
    result = run(*arguments)
    assert (result.code, message in result.err) == (2, True), result.err
