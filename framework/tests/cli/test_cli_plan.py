"""`millstream plan`, and what `apply` refuses before it starts anything."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from millstream.compile import compile_project
from millstream.compile.artifacts import manifest_file
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.deployed import write_manifest
from millstream.deploy.checkpoints.files import checkpoint_folder, records_in, write_lock, write_record
from millstream.deploy.planning.definitions import definition_of
from millstream.deploy.planning.records import OlderRows, new_record, older_rows
from millstream.project.folders import checkpoints_of
from millstream.project.load import load_project
from millstream.queries.topology import compiled_topology, physical_of
from millstream.stores.files import LocalFiles

CONFIG = "{{ config(materialized='table', unique_key='user_id') }}\n"
TOTALS = "select user_id, sum(amount) as total, count(*) as n from {{ ref('stg_clicks') }} group by user_id\n"


def started(root, *, only=None, all_succeeded=True):
    """Note what a build notes that starts every model, or `only` some queries; `all_succeeded`: no query failed."""
    compiled = compile_project(root)
    project, files = load_project(root, None, None, None), LocalFiles()
    checkpoints = checkpoints_of(project.target, root)
    topology = compiled_topology(compiled)
    physical = physical_of(topology)
    for query in physical.queries:
        if only is not None and query.name not in only:
            continue
        definition = definition_of(compiled.manifest, topology.catalog, query.stored).packed()
        folder, record = checkpoint_folder(checkpoints, query.name), new_record("shop", query, {}, definition)
        write_record(files, folder, record)
        files.write(f"{folder.spark(record)}/offsets/0", b"v1\n{}\n-")
    write_lock(files, checkpoints, physical.lock)
    if all_succeeded:
        write_manifest(files, checkpoints, manifest_file(compiled))
    return checkpoints


def edit(shop, text=TOTALS):
    (shop / "models/totals.sql").write_text(CONFIG + text)


@pytest.fixture
def running(shop):
    edit(shop)
    return started(shop)


def test_nothing_runs_yet(shop, run):
    result = run("plan")
    assert result.code == 0
    assert result.out.endswith(
        "totals: new (totals)\n    starts with the first records of its sources\n    apply: create, start\n\n"
        "Nothing runs on this target yet. All models start from the beginning of their topics.\n"
    )


def test_nothing_changed(shop, running, run):
    output = run("plan").out
    assert output.startswith("No effect on what runs\n")
    assert output.endswith("Nothing is rebuilt. All queries continue from their checkpoints.\n")


def test_incompatible_state_is_rebuilt_with_the_reason(shop, running, run):
    edit(shop, TOTALS.replace("sum(", "max("))
    out = run("plan").out
    assert "totals: aggregate is `max(amount)` instead of `sum(amount)`" in out
    assert "total: meaning sum(amount) → max(amount)" in out
    assert out.endswith(
        "Rebuilt alongside the running version, compared, then swapped: totals. All others continue.\n"
    )


def test_state_that_two_versions_count_is_rebuilt_unless_accepted(shop, running, run):
    edit(shop, TOTALS.replace(" group by", " where amount > 1 group by"))
    (query,) = run("plan", "--output", "json").json["queries"]
    assert (query["status"], query["accept"]) == ("mixed", ["mixed:totals"])
    assert query["command"] == "millstream build --accept mixed:totals --select totals"
    for rebuilt in ((), ("--accept", "stored:totals"), ("--accept", "mixed:stg_clicks")):
        assert "compared, then swapped: totals." in run("plan", *rebuilt).out
    for accepted in (
        ("stored:stg_clicks", "mixed:totals"),
        ("mixed:stg_clicks+",),
        ("mixed:config.materialized:table",),
    ):
        out = run("plan", "--accept", *accepted).out
        assert out.endswith("continue from their checkpoints. totals: what the old version computed stays.\n")


def test_stored_rows_of_the_old_version_are_rebuilt_unless_accepted(shop, running, run):
    edit(shop, TOTALS.replace("sum(amount) as total", "sum(amount) + 1 as total"))
    (query,) = run("plan", "--output", "json").json["queries"]
    assert (query["status"], query["accept"]) == ("stored", ["stored:totals"])
    assert "compared, then swapped: totals." in run("plan").out
    for kind in ("stored", "mixed"):
        assert "Nothing is rebuilt" in run("plan", "--accept", f"{kind}:totals").out


def test_the_former_option_accepts_everything(shop, running, run):
    edit(shop, TOTALS.replace(" group by", " where amount > 1 group by"))
    result = run("plan", "--accept-forward", "--fail-on", "forward")
    assert result.code == 1
    assert "Nothing is rebuilt" in result.out
    assert "warning[MS612]: --accept-forward accepts whatever an edit does to all models" in result.err


@pytest.mark.parametrize(
    ("accepted", "why"),
    [
        ("totals", "'totals': write `stored:` or `mixed:` and then the models, as in stored:totals"),
        ("forward:totals", "'forward:totals': write"),
        ("mixed:", "'mixed:': write"),
        ("mixed:total", "'total' selects nothing"),
    ],
)
def test_what_can_not_be_accepted(shop, running, run, accepted, why):
    result = run("plan", "--accept", accepted)
    assert result.code == 2
    assert why in result.err


def test_for_programs(shop, running, run):
    edit(shop, TOTALS.replace("sum(", "max("))
    result = run("plan", "--output", "json", "--fail-on", "rebuild")
    assert result.code == 1
    assert result.json["rebuilds"] == ["totals"]
    assert [(query["name"], query["status"]) for query in result.json["queries"]] == [("totals", "rebuild")]
    assert result.json["against"]["name"] == "what runs on local"


def test_as_a_comment(shop, running, run):
    edit(shop, TOTALS.replace("sum(", "max("))
    assert "what runs on local" in run("plan", "--format", "markdown").out


@pytest.mark.parametrize("content", [b"{}", b"\xff", None])
def test_without_definitions_and_a_saved_manifest_only_state_is_compared(shop, running, run, content):
    path = Path(running) / "manifest.json"
    path.write_bytes(content) if content is not None else path.unlink()
    for record in records_in(LocalFiles(), running).values():
        folder = checkpoint_folder(running, record.query)
        write_record(LocalFiles(), folder, replace(record, definition=b""))
    edit(shop, TOTALS.replace("sum(", "max("))
    result = run("plan")
    assert (result.code, result.err) == (0, "")
    assert "are unknown, so only their state is compared" in result.out
    assert "totals: aggregate is `max(amount)` instead of `sum(amount)`" in result.out


SENT = "{{ config(materialized='sink') }}\nselect user_id, amount from {{ ref('stg_clicks') }}\n"


def test_a_build_in_which_a_model_failed(shop, run):
    edit(shop)
    (shop / "models/sent.sql").write_text(SENT)
    started(shop, only={"totals"}, all_succeeded=False)
    output = run("plan", "--output", "json").json
    assert [(node["id"], node["status"]) for node in output["nodes"]] == [("model.sent", "added")]
    assert [(query["models"], query["status"]) for query in output["queries"]] == [(["sent"], "new")]


def test_models_that_were_started_after_the_last_whole_build(shop, running, run):
    edit(shop, TOTALS.replace("sum(", "max("))
    started(shop, only={"totals"}, all_succeeded=False)
    assert run("plan").out.startswith("No effect on what runs\n")
    edit(shop)
    assert "total: meaning max(amount) → sum(amount)" in run("plan").out


def test_a_query_that_keeps_the_older_version_of_a_view(shop, run):
    edit(shop)
    (shop / "models/sent.sql").write_text(SENT)
    started(shop)
    view = shop / "models/staging/stg_clicks.sql"
    view.write_text(view.read_text().rstrip() + " and amount > 5\n")
    started(shop, only={"sent"}, all_succeeded=False)
    output = run("plan", "--output", "json").json
    assert [(query["name"], query["status"]) for query in output["queries"]] == [("totals", "mixed")]


def test_a_query_of_dead_letters_that_is_no_longer_needed(shop, running, run):
    record = replace(records_in(LocalFiles(), running)["totals"], query="dead", models=(), outputs={})
    write_record(LocalFiles(), checkpoint_folder(running, "dead"), record)
    assert "dead: removed\n" in run("plan").out


def test_a_checkpoint_that_nobody_needs_any_more(shop, running, run):
    (shop / "models/totals.sql").unlink()
    (shop / "models/totals.yml").unlink()
    assert "totals: removed (totals)" in run("plan").out
    started(shop)
    out = run("plan").out
    assert out.startswith("No effect on what runs\n")
    assert out.endswith(
        "Left over of models removed earlier: totals. To remove: millstream clean --orphans\n"
    )


def test_a_reader_of_all_columns_that_was_not_built_since_a_column_was_added(shop, running, run):
    (shop / "models/copied.sql").write_text(CONFIG + "select * from {{ ref('totals') }}\n")
    started(shop)
    edit(shop, TOTALS.replace("select user_id", "select upper(user_id) as name, user_id"))
    started(shop, only={"totals"}, all_succeeded=False)
    (copied,) = run("plan", "--output", "json").json["nodes"]
    columns = [(column["name"], column["kind"]) for column in copied["columns"]]
    assert (copied["id"], copied["rows"], columns) == ("model.copied", False, [("name", "added")])


def test_mistakes_of_the_project_come_first(shop, running, run):
    edit(shop, "select nothing from {{ ref('stg_clicks') }}\n")
    result = run("plan")
    assert result.code == 2
    assert "nothing" in result.err


@pytest.mark.parametrize(
    "option", ["--accept-forward", "--accept=mixed:totals", "--accept-differences", "--no-tests"]
)
def test_a_way_back_has_no_options(shop, run, option):
    result = run("apply", "--rollback", option)
    assert result.code == 2
    assert "--rollback takes no other option of apply" in result.err


def test_a_plan_changes_nothing(shop, running, run):
    from pathlib import Path

    def content():
        return {path: path.read_bytes() for path in Path(running).rglob("*") if path.is_file()}

    before = content()
    edit(shop, TOTALS.replace("sum(", "max("))
    json.loads(run("plan", "--output", "json").out)
    assert content() == before


def test_a_model_that_shares_a_query_is_rebuilt_alone(shop, run):
    edit(shop)
    most = "select user_id, max(amount) as most from {{ ref('stg_clicks') }} group by user_id\n"
    (shop / "models/most.sql").write_text(CONFIG + most)
    checkpoints = Path(started(shop))
    before = {path: path.read_bytes() for path in checkpoints.rglob("*") if path.is_file()}
    (shop / "models/most.sql").write_text(CONFIG + most.replace("max(amount)", "min(amount)"))
    out = run("plan").out
    assert "leaves the query of totals, which continues; `millstream regroup` joins them again" in out
    assert ": millstream apply\n" in out
    assert out.endswith("compared, then swapped: most. All others continue.\n")
    assert {path: path.read_bytes() for path in checkpoints.rglob("*") if path.is_file()} == before


def test_what_fills_a_column_that_is_added(shop, running, run):
    edit(shop, TOTALS.replace("count(*) as n", "count(*) as n, max(amount) as most"))
    out = run("plan").out
    assert "`most`: added to the table; `apply` fills existing rows\n" in out
    edit(shop, TOTALS.replace("count(*) as n", "count(*) as n, count(*) * 2 as twice"))
    filled = (
        "`twice`: added to the table; `apply` fills existing rows, `build --accept stored:totals` leaves NULL"
    )
    assert filled in run("plan").out


FUNCTION_SENT = "{{ config(materialized='sink', key='user_id') }} select user_id, doubled(amount) as amount from {{ ref('stg_clicks') }}"
DOUBLED = "def doubled(value: float) -> float:\n    return value * 2\n"


def test_records_of_a_sink_that_continues_with_another_function(shop, run):
    (shop / "macros").mkdir(exist_ok=True)
    (shop / "macros/doubled.py").write_text(DOUBLED)
    (shop / "models/sent.sql").write_text(FUNCTION_SENT)
    edit(shop)
    started(shop)
    assert "sent before" not in run("plan").out
    (shop / "macros/doubled.py").write_text(DOUBLED.replace("* 2", "* 3"))
    assert run("plan").out.endswith(
        "Nothing is rebuilt. All queries continue from their checkpoints.\n"
        "Records that sent sent before stay; to send all again: millstream build --rebuild sent\n"
    )


def test_rows_of_an_older_version_are_named(shop, run, running):
    table = NodeId("model", "totals")
    ranges = (("at", "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"),)
    older = OlderRows("2026-02-01T00:00:00+00:00", ranges)
    record = records_in(LocalFiles(), running)["totals"]
    write_record(LocalFiles(), checkpoint_folder(running, "totals"), replace(record, older={table: older}))
    text = (
        "rows stored before 2026-02-01T00:00:00+00:00 are those of an older version, "
        "except at from 2026-01-01T00:00:00+00:00 to 2026-01-02T00:00:00+00:00"
    )
    assert run("plan").out.endswith(f"\ntotals: {text}.\n")
    assert run("plan", "--output", "json").json["older_rows"] == {"totals": text}


def test_what_is_accepted_leaves_rows_of_an_older_version(shop, running):
    """Both edits and restarts: only an accepted edit says that rows are old, of tables that are still there."""
    before = records_in(LocalFiles(), running)["totals"]
    assert older_rows(before, before) == {}
    changed = replace(
        before, signature=replace(before.signature, stored=edited(before.signature.stored)), created="now"
    )
    totals = NodeId("model", "totals")
    assert older_rows(before, changed) == {totals: OlderRows("now")}
    noted = replace(changed, older={totals: OlderRows("now")})
    assert older_rows(noted, replace(noted, created="later")) == {totals: OlderRows("now")}
    assert older_rows(noted, replace(noted, tables={})) == {}


def edited(stored):
    return tuple(replace(one, rows=f"{one.rows} and more") for one in stored)
