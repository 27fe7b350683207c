"""A site's values and files."""

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from millstream.compile.manifest import Manifest
from millstream.docs.generate import data_script, files_of_texts, site_files, site_of, write_site
from millstream.docs.outcomes import coverage_by_model, entry_results
from millstream.docs.site_input import SiteInput, gather_input
from millstream.docs.values import EntrySql, Site
from millstream.results.test_results import TestResult, TestResults

EXAMPLE = Path(__file__).resolve().parents[3]
MATERIAL = SiteInput(Manifest(1, "0.1.0", "p", "t", {}, {}), {}, {})


def entry(site: Site, id_: str):
    return next(number for number, candidate in enumerate(site.start.entries) if candidate.id == id_)


def test_everything_has_an_entry_a_page_columns_and_texts(example: SiteInput, example_values: Site):
    site = example_values
    ids = {entry.id for entry in site.start.entries}
    assert set(example.manifest.nodes) <= ids
    assert {"function.calculate_score", "query.active_users"} <= ids
    assert len(site.pages) == len(site.columns) == len(site.code) == len(site.start.entries)


def test_a_model_knows_its_folder_query_tests_and_texts(example_values: Site):
    site = example_values
    number = entry(site, "model.hourly_user_metrics")
    model = site.start.entries[number]
    assert (model.folder, model.stored) == ("marts/engagement", "sink")
    assert [site.start.entries[query].kind for query in model.queries] == ["query"]
    assert len(site.pages[number].tests) == model.tests > 0
    assert "{{ ref(" in site.code[number].written
    assert "{{" not in site.code[number].compiled
    assert "select" in site.code[model.queries[0]].optimized


def test_models_and_queries_that_keep_state_are_known(example_values: Site):
    stateful = {entry.id for entry in example_values.start.entries if entry.state}
    assert {"model.user_activity_totals", "query.active_users"} <= stateful
    assert not stateful & {
        "model.valid_partner_events",
        "model.stg_storefront_events",
        "source.shop.app_events",
    }


def test_columns_know_where_they_come_from(example_values: Site):
    site = example_values
    number = entry(site, "model.hourly_user_metrics")
    column = next(column for column in site.columns[number].columns if column.name == "metrics_key")
    edge = column.from_[0]
    assert site.start.entries[edge.entry].id == "model.hourly_user_interests"
    assert (site.columns[edge.entry].columns[edge.column].name, edge.kind) == ("metrics_key", "direct")
    assert [site.start.entries[test].stored for test in column.tests] == ["not_null", "unique"]


def test_a_function_shows_its_own_lines(example_values: Site):
    text = example_values.code[entry(example_values, "function.calculate_score")].written
    assert text.startswith("def calculate_score(")
    assert "def calculate_complex_score" not in text


def test_a_topology_goes_from_written_to_running_by_the_rules_that_fired(example_values: Site):
    topology = example_values.topologies[0]
    rules = [stage.rule for stage in topology.stages]
    assert (rules[0], rules[-1]) == ("as written", "as it runs")
    assert "bypass_topics" in rules
    assert ("reads of topics", "12", "6") in topology.costs
    sizes = [len(topology.drawings[stage.drawing].operators) for stage in topology.stages]
    assert sizes[0] > sizes[-1]


def test_each_stage_names_what_is_new_and_what_is_gone(example_values: Site):
    topology = example_values.topologies[0]

    def names(stage):
        return {topology.operators[operator].id for operator in topology.drawings[stage.drawing].operators}

    for before, stage in zip(topology.stages, topology.stages[1:], strict=False):
        assert set(stage.new) <= names(stage)
        assert set(stage.gone) == names(before) - names(stage)


def test_health_finds_what_is_missing(nasty: SiteInput):
    site = site_of(nasty)
    ids = {check.name: {site.start.entries[n].id for n in check.entries} for check in site.start.health}
    names = {"model.__proto__", "model.constructor", "model.totals_of"}
    assert ids["undocumented"] == {"model.unread", "function.says", *names} - {"model.constructor"}
    assert ids["untested"] == {"model.unread", *names}
    assert ids["dead-ends"] == {"model.totals", "model.unread"}
    assert ids["unused"] == set()
    assert "model.totals" in ids["columns"]


def test_results_of_models_and_tests_are_told(nasty: SiteInput):
    site = site_of(nasty)
    result = site.pages[entry(site, "model.totals")].result
    assert result is not None
    assert (result.status, result.command) == ("error", "build")
    test = site.pages[entry(site, "test.not_null_totals_user")].result
    assert test is not None
    assert (test.status, test.started) == ("pass", "2026-01-02T05:00:00")
    unit = site.pages[entry(site, "unit_test.totals.sums")].result
    assert unit is not None
    assert (unit.status, unit.started) == ("fail", "2026-01-02T04:00:00")
    assert unit.message.startswith("unit test 'sums': a row differs")
    assert unit.details == "- <b>a</b>  1\n+ <b>a</b>  2\nin ./macros/f.py, ~/x.py"


def test_what_a_build_read_is_told_of_sources_and_queries(nasty: SiteInput):
    site = site_of(nasty)
    source = site.pages[entry(site, "source.web.clicks")].result
    assert source is not None
    assert [(fact.name, fact.text) for fact in source.facts] == [("records read by totals", "1,234")]
    query = site.pages[entry(site, "query.totals")].result
    assert query is not None
    assert query.status == "error"


def test_rows_of_users_are_not_told():
    """A data test's rows come from tables and topics; a unit test's from its file."""
    by_test = entry_results(
        replace(
            MATERIAL,
            tests=TestResults(
                "test", "p", "t", "2026-01-02", 1.0,
                (
                    TestResult("test.a", "test", "fail", 0.1, "a.yml", 1, ({"message": "1 row"},), "jane@private.example"),
                    TestResult("test.b", "test", "skipped", 0.1, "a.yml", 1, (), "Skipped: 'b' has not been built"),
                    TestResult("tests/test_x.py::test_x", "python", "fail", 0.1, "tests/test_x.py", 1),
                ),
                (), "0.1.0",
            ),
        )
    )  # fmt: skip
    assert (by_test["test.a"].message, by_test["test.a"].details) == ("1 row", "")
    assert by_test["test.b"].message == "'b' has not been built"
    assert set(by_test) == {"test.a", "test.b"}


def test_what_unit_tests_reach_of_a_model(nasty: SiteInput):
    site = site_of(nasty)
    coverage = site.pages[entry(site, "model.totals")].coverage
    assert coverage is not None
    assert (coverage.ways, coverage.reached, coverage.stale) == (4, 2, False)
    assert [branch.line for branch in coverage.missed] == [2, 0]


def test_lines_that_may_have_moved_are_not_marked(nasty: SiteInput):
    manifest = nasty.manifest
    nodes = {id_: replace(node, checksum="another") for id_, node in manifest.nodes.items()}
    coverage = coverage_by_model(replace(nasty, manifest=replace(manifest, nodes=nodes)))["model.totals"]
    assert coverage.stale
    assert [branch.line for branch in coverage.missed] == [0, 0]


def test_health_tells_of_what_failed_only_where_something_ran(nasty: SiteInput):
    def names(material: SiteInput) -> dict[str, set[str]]:
        site = site_of(material)
        return {check.name: {site.start.entries[n].id for n in check.entries} for check in site.start.health}

    ids = names(nasty)
    assert ids["failed"] == ids["uncovered"] == {"model.totals"}
    assert ids["failing"] == {"unit_test.totals.sums"}
    assert not {"failed", "failing", "uncovered"} & set(names(replace(nasty, results=None, tests=None)))


def test_tests_show_their_lines_and_what_they_ask(nasty: SiteInput, example_values: Site):
    site = site_of(nasty)
    unit = site.code[entry(site, "unit_test.totals.sums")].written
    assert unit.startswith("- name: sums\n  model: totals")
    assert "API_TOKEN: ****" in unit
    assert site.code[entry(site, "test.not_null_totals_user")].written == ""
    sql = example_values.code[entry(example_values, "test.not_null_hourly_user_metrics_user_id")].compiled
    assert sql == "select *\nfrom models.hourly_user_metrics\nwhere `user_id` is null"


def test_a_chunk_can_be_put_into_a_page(nasty: SiteInput):
    for name, content in site_files(site_of(nasty)):
        if name.startswith("data/"):
            assert b"<" not in content


def test_a_chunk_is_a_call_with_json():
    text = data_script("pages-0", {"a": "</script>\u2028é"}).decode()
    match = re.fullmatch(r"millstreamData\((.*)\);\n", text)
    assert match is not None
    assert json.loads(f"[{match[1]}]") == ["pages-0", {"a": "</script>\u2028é"}]
    assert "\u2028" not in text


def test_no_secret_is_written(nasty: SiteInput):
    everything = b"".join(content for _, content in site_files(site_of(nasty)))
    assert b"hunter2" not in everything
    assert b"****" in everything


def test_no_absolute_path_is_written(example_values: Site, nasty: SiteInput):
    for site in (example_values, site_of(nasty)):
        everything = b"".join(content for name, content in site_files(site) if name.startswith("data/"))
        for folder in (Path.home(), EXAMPLE, Path(__import__("tempfile").gettempdir())):
            assert str(folder).encode() + b"/" not in everything or str(folder) == "/"


def test_the_same_project_gives_the_same_files(nasty: SiteInput):
    assert dict(site_files(site_of(nasty))) == dict(site_files(site_of(nasty)))


def test_chunks_of_an_older_site_go(nasty: SiteInput, tmp_path: Path):
    write_site(tmp_path, site_of(nasty))
    (tmp_path / "data" / "pages-77.js").write_text("millstreamData('pages-77', []);")
    (tmp_path / "data" / "notes.js").write_text("mine")
    sizes = write_site(tmp_path, site_of(nasty))
    there = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert there == {*sizes, "data/notes.js"}


@pytest.mark.parametrize(("plan", "there"), [(False, False), (None, True), (True, True)])
def test_the_plan_is_left_out_when_asked(plan: bool | None, there: bool):
    from millstream.compile import compile_project

    material = gather_input(EXAMPLE, compile_project(EXAMPLE, use_cache=False), "nowhere", plan=plan)
    site = site_of(material)
    assert bool(site.topologies) is there
    assert bool(site.start.plan) is not there
    assert any(entry.kind == "query" for entry in site.start.entries) is there


def test_files_of_texts_are_small():
    texts = [
        EntrySql("a" * 100_000),
        EntrySql("b" * 100_000),
        EntrySql("c" * 400_000),
        EntrySql("d"),
        EntrySql("e"),
    ]
    assert files_of_texts(texts) == (0, 2, 3)
    assert files_of_texts([EntrySql("a")] * 250) == (0, 100, 200)
    assert files_of_texts([]) == ()
