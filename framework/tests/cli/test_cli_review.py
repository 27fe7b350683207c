"""`millstream review`, and the selectors that stand on it."""

import json
from pathlib import Path

import pytest
from support.reviews import commit, git, repository

from millstream.core.node_id import decode_id

BREAKS = "select user_id, sum(amount) as sums from {{ ref('stg_clicks') }} group by user_id\n"
CONFIG = "{{ config(materialized='table', unique_key='user_id', tags=['money']) }}\n"


@pytest.fixture
def shop(shop: Path) -> Path:
    return repository(shop)


def edit(shop, text=BREAKS):
    (shop / "models/totals.sql").write_text(CONFIG + text)


def test_nothing_changed(shop, run):
    result = run("review", "--against", "main")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("No effect on what runs\n")


def test_the_main_branch_is_compared_with_by_default(shop, run):
    edit(shop)
    assert run("review").out == run("review", "--against", "main").out


def test_the_verdict_comes_first(shop, run):
    edit(shop)
    out = run("review", "--against", "main").out.splitlines()
    assert out[0] == "Breaks readers of 1 table, and 1 query keeps rows that the old version computed"
    assert out[3] == "breaking  table `totals`: `total` is now called `sums`"


def test_a_rebuild_has_its_command(shop, run):
    edit(shop, BREAKS.replace("sum(amount) as sums", "max(amount) as total"))
    out = run("review", "--against", "main").out
    assert "totals: aggregate is `max(amount)` instead of `sum(amount)`" in out
    assert "millstream apply" in out
    assert "reads topic clicks from its start" in out


@pytest.mark.parametrize(("level", "code"), [("breaking", 1), ("rebuild", 0), ("cost", 0)])
def test_fail_on(shop, run, level, code):
    edit(shop)
    assert run("review", "--against", "main", "--fail-on", level).code == code


def test_fail_on_several(shop, run):
    edit(shop)
    assert run("review", "--against", "main", "--fail-on", "cost", "--fail-on", "breaking").code == 1


def test_json_is_what_its_schema_says(shop, run):
    import msgspec

    from millstream.review.values import Review

    edit(shop)
    output = run("review", "--against", "main", "--output", "json").json
    assert output["schema_version"] == 2
    assert output["diagnostics"] == []
    del output["diagnostics"]
    review = msgspec.convert(output, Review, strict=True, dec_hook=decode_id)
    assert review.levels == ("breaking", "stored")
    assert review.nodes[0].columns[0].kind == "renamed"


def test_a_comment_is_the_same_every_time(shop, run):
    edit(shop)
    first = run("review", "--against", "main", "--output", "markdown").out
    (shop / "models/totals.sql").touch()
    git(shop, "checkout", "-q", "-b", "other")
    assert run("review", "--against", "main", "--format", "markdown").out == first
    assert first.startswith(
        "<!-- millstream-review shop local -->\n### ❌ Millstream: breaks readers of 1 table"
    )


def test_a_review_that_is_remembered_says_where_lines_are_now(shop, run):
    edit(shop)
    first = run("review", "--against", "main").out
    assert run("review", "--against", "main").out == first
    edit(shop, f"-- one\n-- two\n{BREAKS}")
    assert "models/totals.sql:2" in run("review", "--against", "main").out
    edit(shop, BREAKS.replace("sums", "other_sums"))
    assert "`other_sums`" in run("review", "--against", "main").out


def test_no_path_of_this_machine_is_told(shop, run):
    edit(shop)
    for output in ("text", "json", "markdown"):
        assert str(shop) not in run("review", "--against", "main", "--output", output).out


def test_secrets_are_not_told(shop, run, monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    profile = "shop: {target: far, outputs: {far: {kafka: {bootstrap_servers: 'a:9092', sasl_password: \"{{ env_var('SHOP_PASSWORD') }}\"}}}}"
    (shop / "profiles.yml").write_text(profile)
    edit(shop)
    for output in ("text", "json", "markdown"):
        result = run("review", "--against", "main", "--output", output)
        assert "hunter2" not in result.out + result.err
        assert result.code in {0, 2}


def test_against_a_manifest(shop, run, tmp_path):
    run("compile")
    (shop / "target/manifest.json").rename(tmp_path / "old.json")
    edit(shop, BREAKS.replace("sum(amount) as sums", "max(amount) as total"))
    output = run("review", "--against-manifest", str(tmp_path / "old.json"), "--output", "json").json
    assert output["levels"] == ["rebuild"]
    assert output["limits"] == []


def test_a_manifest_of_another_version_is_known_in_part(shop, run, tmp_path):
    run("compile")
    manifest = json.loads((shop / "target/manifest.json").read_text())
    manifest["plan"]["format"] = "0.0.1-1"
    (tmp_path / "old.json").write_text(json.dumps(manifest))
    edit(shop)
    output = run("review", "--against-manifest", str(tmp_path / "old.json"), "--output", "json").json
    assert output["levels"] == ["breaking"]
    assert "Changes of meaning, state and cost are unknown" in output["limits"][0]


@pytest.mark.parametrize("text", ["", "{}", "not json", '{"schema_version": 99}'])
def test_what_is_no_manifest(shop, run, tmp_path, text):
    (tmp_path / "old.json").write_text(text)
    result = run("review", "--against-manifest", str(tmp_path / "old.json"))
    assert result.code == 2
    assert "MS725" in result.err
    assert "Traceback" not in result.err


def test_a_manifest_that_is_not_there(shop, run):
    result = run("review", "--against-manifest", "nowhere.json")
    assert (result.code, "MS725" in result.err, "no such file" in result.err) == (2, True, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--against", ""),
        ("--against", "main", "--against-manifest", "x.json"),
        ("--against-manifest", "x.json", "--merge-base"),
    ],
)
def test_what_can_t_be_compared_with(shop, run, arguments):
    result = run("review", *arguments)
    assert result.code == 2
    assert "MS701" in result.err


def test_a_version_that_does_not_compile(shop, run):
    (shop / "models/broken.sql").write_text("select nothing from {{ ref('stg_clicks') }}")
    commit(shop)
    (shop / "models/broken.sql").unlink()
    edit(shop)
    result = run("review", "--against", "main")
    assert result.code == 0
    assert "MS726" in result.err
    assert result.out.startswith("Breaks readers of 1 table")
    assert "main: it does not compile (1 error)" in result.out


def test_mistakes_of_now_are_told_as_ever(shop, run):
    (shop / "models/totals.sql").write_text("select nothing from {{ ref('stg_clicks') }}")
    result = run("review", "--against", "main")
    assert (result.code, "MS402" in result.err) == (2, True)


def selected(run, selector, *options):
    result = run("ls", "--select", selector, *options, "--output", "json", "--resource-type", "model")
    return {node["id"] for node in result.json["nodes"]}


@pytest.mark.parametrize(
    ("selector", "ids"),
    [
        ("state:modified", {"model.totals", "model.more"}),
        ("state:modified.contract", {"model.totals"}),
        ("state:modified.body", set()),
        ("state:modified.state", {"model.totals"}),
        ("state:new", {"model.more"}),
        ("state:old", {"model.totals", "model.stg_clicks"}),
        ("state:unmodified", {"model.stg_clicks"}),
    ],
)
def test_selectors_of_states(shop, run, selector, ids):
    edit(shop)
    (shop / "models/more.sql").write_text("select * from {{ ref('stg_clicks') }}")
    (shop / "models/staging/stg_clicks.sql").write_text(
        (shop / "models/staging/stg_clicks.sql").read_text().replace("select", "-- cleaned\nSELECT")
    )
    assert selected(run, selector, "--state", "main") == ids


def test_what_loses_its_state(shop, run):
    edit(shop, BREAKS.replace("sum(amount) as sums", "max(amount) as total"))
    assert selected(run, "state:modified.state", "--state", "main") == {"model.totals"}


def test_state_of_a_manifest(shop, run, tmp_path):
    run("compile")
    (shop / "target/manifest.json").rename(tmp_path / "old.json")
    edit(shop)
    assert selected(run, "state:modified", "--state", str(tmp_path / "old.json")) == {"model.totals"}


def test_state_must_be_told(shop, run):
    result = run("ls", "--select", "state:modified")
    assert (result.code, "add --state main" in result.err) == (2, True)
