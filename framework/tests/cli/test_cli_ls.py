"""`millstream ls`."""

import pytest

SOURCE, STAGED, TOTALS = "source:shop.web.clicks", "shop.staging.stg_clicks", "shop.totals"
TEST = "shop.not_null_totals_user_id"


def test_everything_in_the_order_of_the_graph(run, shop):
    assert run("ls") == (0, f"{SOURCE}\n{STAGED}\n{TOTALS}\n{TEST}\n", "")


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["--select", "stg_clicks"], [STAGED]),
        (["-s", "+totals"], [SOURCE, STAGED, TOTALS, TEST]),
        (["-s", "stg_clicks totals", "--resource-type", "model"], [STAGED, TOTALS]),
        (["-s", "stg_clicks", "-s", "tag:money", "--resource-type", "model"], [STAGED, TOTALS]),
        (["--exclude", "totals", "--resource-type", "model", "--resource-type", "source"], [SOURCE, STAGED]),
        (["--resource-type", "all"], [SOURCE, STAGED, TOTALS, TEST]),
    ],
)
def test_choosing(run, shop, arguments, lines):
    assert run("ls", *arguments).out.splitlines() == lines


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("name", ["clicks", "stg_clicks", "totals", "not_null_totals_user_id"]),
        (
            "path",
            ["models/sources.yml", "models/staging/stg_clicks.sql", "models/totals.sql", "models/totals.yml"],
        ),
        ("selector", [SOURCE, STAGED, TOTALS, TEST]),
    ],
)
@pytest.mark.parametrize("option", ["--output", "--format"])
def test_what_is_written_of_each(run, shop, output, lines, option):
    assert run("ls", option, output).out.splitlines() == lines


def test_every_line_selects_its_node_alone(run, shop):
    for line in run("ls").out.splitlines():
        assert run("ls", "--select", line).out.splitlines()[0] == line


def test_json(run, shop):
    (node,) = run("ls", "-s", "totals", "--resource-type", "model", "--output", "json").json["nodes"]
    assert node == {
        "id": "model.totals",
        "resource_type": "model",
        "name": "totals",
        "fqn": ["shop", "totals"],
        "path": "models/totals.sql",
        "tags": ["money"],
        "materialized": "table",
        "depends_on": ["model.stg_clicks"],
        "description": "",
    }


@pytest.mark.parametrize(
    "keys",
    [
        ["--output-keys", "name tags"],
        ["--output-keys", "name,tags"],
        ["--output-keys", "name", "--output-keys", "tags"],
    ],
)
def test_json_of_chosen_keys(run, shop, keys):
    result = run("ls", "-s", "totals", "--resource-type", "model", "--output", "json", *keys)
    assert result.json["nodes"] == [{"name": "totals", "tags": ["money"]}]


def test_keys_that_json_has_when_asked_for_only(run, shop):
    result = run(
        "ls", "-s", "totals", "--resource-type", "model", "--output", "json", "--output-keys", "columns"
    )
    (node,) = result.json["nodes"]
    assert [column["name"] for column in node["columns"]] == ["user_id", "total"]


def test_all_unknown_keys_are_told_with_the_nearest_one(run, shop):
    result = run("ls", "--output", "json", "--output-keys", "nam tgs name")
    assert result.code == 2
    assert [(d["message"], d["help"]) for d in result.json["diagnostics"]] == [
        ("a node has no key 'nam'", "did you mean 'name'?"),
        ("a node has no key 'tgs'", "did you mean 'tags'?"),
    ]


def test_keys_are_of_json(run, shop):
    result = run("ls", "--output-keys", "name")
    assert result.code == 2
    assert "--output-keys needs --output json" in result.err


def test_an_argument_that_is_no_utf_8_is_told_as_json(run, shop):
    result = run("ls", "--select", "\udcff", "--output", "json")
    assert [d["code"] for d in result.json["diagnostics"]] == ["MS603"]


def test_a_name_that_nothing_has_is_an_error(run, shop):
    result = run("ls", "--select", "totls")
    assert (result.code, result.out) == (2, "")
    assert "error[MS603]" in result.err
    assert "totals" in result.err


def test_a_wrong_selector_is_an_error_with_a_caret(run, shop):
    result = run("ls", "--select", "tagg:money")
    assert result.code == 2
    assert " --> --select:1:1" in result.err
    assert "1 | tagg:money" in result.err


def test_nothing_is_listed_of_a_broken_project(run, shop):
    (shop / "models/bad.sql").write_text("select x from {{ ref('nothing') }}")
    (shop / "models/bad.yml").write_text("models: [")
    result = run("ls")
    assert (result.code, result.out) == (2, "")
    assert "models/bad.sql:1:" in result.err


def test_a_cycle_is_told_with_its_files(run, shop):
    (shop / "models/a.sql").write_text("select * from {{ ref('b') }}")
    (shop / "models/b.sql").write_text("select * from {{ ref('a') }}")
    result = run("ls")
    assert result.code == 2
    assert "error[MS501]" in result.err
