"""What an environment builds, and what it reads from production; no Spark."""

import msgspec
import pytest

from millstream.compile import compile_project
from millstream.compile.environments import in_environment
from millstream.core.errors import MillstreamError
from millstream.deploy.engine import check_isolated
from millstream.deploy.planning.definitions import definition_of, running_project
from millstream.deploy.planning.records import Deployed, new_record
from millstream.project.names import Environment
from millstream.queries.topology import compiled_topology, physical_of, read_catalog
from millstream.queries.values import DeadLetters, SinkOutput, TableOutput
from millstream.review.deferring import find_deferred
from millstream.review.version import version_of

FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "shop"\n[tool.millstream.models]\nunbounded_state = "accept"\n',
    "models/sources.yml": """\
sources:
  - name: web
    topics:
      - name: clicks
        on_bad_record: dead_letter
        columns: [{name: user, type: string}, {name: amount, type: bigint}, {name: kind, type: string}]
      - name: products
        table: true
        key: {name: kind, type: string}
        columns: [{name: title, type: string}]
""",
    "models/clean.sql": "select user, amount, kind from {{ source('web', 'clicks') }} where kind <> 'bot'",
    "models/scored.sql": (
        "{{ config(materialized='sink', key='user') }}\n"
        "select user, amount, kind, score(amount) as score from {{ ref('clean') }}"
    ),
    "models/scored.yml": (
        "models:\n  - name: scored\n    columns:\n"
        "      - {name: amount, tests: [not_null: {severity: dead_letter}]}\n"
    ),
    "models/totals.sql": (
        "{{ config(materialized='table', unique_key='user') }}\n"
        "select user, sum(amount) as total from {{ ref('clean') }} group by user"
    ),
    "models/counts.sql": (
        "{{ config(materialized='table', unique_key='kind') }}\n"
        "select kind, count(*) as clicks from {{ ref('clean') }} group by kind"
    ),
    "models/report.sql": (
        "{{ config(materialized='sink', key='user') }}\n"
        "select s.user, s.score, t.total, p.title, r.region\n"
        "from {{ ref('scored') }} s left join {{ ref('totals') }} t on s.user = t.user\n"
        "left join {{ source('web', 'products') }} p on s.kind = p.kind\n"
        "left join {{ ref('regions') }} r on s.user = r.user"
    ),
    "seeds/regions.csv": "user,region\na,north\n",
    "macros/score.py": "def score(amount: int) -> int:\n    return amount * 2\n",
}


@pytest.fixture
def shop(tmp_path):
    for path, text in FILES.items():
        write(tmp_path, path, text)
    return tmp_path


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def compiled(root):
    project = compile_project(root)
    assert not [diagnostic for diagnostic in project.diagnostics if diagnostic.severity == "error"], (
        project.diagnostics
    )
    return project


def running(project):
    """Return what a target has after a build of the whole project."""
    catalog, records = read_catalog(project), {}
    for query in physical_of(compiled_topology(project)).queries:
        definition = definition_of(project.manifest, catalog, query.stored).packed()
        records[query.name] = new_record("shop", query, {}, definition)
    return Deployed(records)


def decide(runs, root):
    """Return the models that an environment builds, and its queries."""
    now = compiled(root)
    old = version_of("what runs", running_project(runs.records.values(), now.manifest, None), None)
    deferral = find_deferred(runs, old, version_of("the working tree", now, root))
    environment = Environment("alice", "shop", deferral.relations, deferral.began)
    project = in_environment(now, environment)
    queries = physical_of(compiled_topology(project)).queries
    check_isolated(queries, environment)
    built = {id_.partition(".")[2] for query in queries for id_ in query.stored}
    assert {id_ for id_, node in project.manifest.nodes.items() if node.deferred} == {
        id_ for id_ in deferral.relations if id_.startswith("model.")
    }
    return built, queries


EDITS = {
    "nothing": ({}, set()),
    "a description": ({"models/a.yml": "models: [{name: totals, description: Sums}]\n"}, set()),
    "the same rows in other words": (
        {
            "models/clean.sql": "select user, amount, kind\nfrom {{ source('web', 'clicks') }} where 'bot' <> kind"
        },
        set(),
    ),
    "the filter of a view": (
        {"models/clean.sql": FILES["models/clean.sql"].replace("bot", "robot")},
        {"scored", "totals", "counts", "report"},
    ),
    "an aggregate": (
        {"models/totals.sql": FILES["models/totals.sql"].replace("sum(", "max(")},
        {"totals", "report"},
    ),
    "one model of a shared query": (
        {"models/counts.sql": FILES["models/counts.sql"].replace("count(*)", "sum(amount)")},
        {"counts"},
    ),
    "the last model": (
        {"models/report.sql": FILES["models/report.sql"].replace("s.score,", "s.score + 1 as score,")},
        {"report"},
    ),
    "a function": (
        {"macros/score.py": FILES["macros/score.py"].replace("* 2", "* 3")},
        {"scored", "report"},
    ),
    "rows of a seed": ({"seeds/regions.csv": "user,region\na,south\n"}, {"report"}),
    "a test that keeps rows out": ({"models/scored.yml": "models: [{name: scored}]\n"}, {"scored", "report"}),
    "a new model": (
        {
            "models/more.sql": "{{ config(materialized='sink', key='user') }}\n"
            "select user, total from {{ ref('totals') }}"
        },
        {"more"},
    ),
    "a topic": (
        {"models/scored.sql": FILES["models/scored.sql"].replace("key=", "topic='scores', key=")},
        {"scored", "report"},
    ),
    "the time zone": (
        {"profiles.yml": "shop: {outputs: {local: {timezone: Europe/Berlin}}}\n"},
        {"totals", "counts", "report", "web.products"},
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_changed_is_built_with_all_below_it(shop, edit):
    runs = running(compiled(shop))
    files, expected = EDITS[edit]
    for path, text in files.items():
        write(shop, path, text)
    assert decide(runs, shop)[0] == expected


def test_what_is_built_has_names_of_the_environment_and_reads_production(shop):
    runs = running(compiled(shop))
    write(shop, "models/report.sql", FILES["models/report.sql"].replace("s.score,", "s.score + 1 as score,"))
    _, queries = decide(runs, shop)
    (query,) = queries
    assert [source.stream for source in query.sources] == ["scored"]
    assert {read.relation for read in query.reads} == {"model.totals", "source.web.products", "seed.regions"}
    assert [output.topic for output in query.outputs if isinstance(output, SinkOutput)] == [
        "env-shop-alice--report"
    ]
    assert "'env-shop-alice--report'" in query.sql or any(
        "env-shop-alice--report" in d.sql for d in query.deliver.deliveries
    )


def test_dead_letters_of_sources_and_models_are_the_environment_s(shop):
    runs = running(compiled(shop))
    write(shop, "models/clean.sql", FILES["models/clean.sql"].replace("bot", "robot"))
    _, queries = decide(runs, shop)
    letters = {
        output.topic for query in queries for output in query.outputs if isinstance(output, DeadLetters)
    }
    assert letters == {"env-shop-alice--clicks.dead_letter", "env-shop-alice--scored.dead_letter"}
    texts = [
        text
        for query in queries
        for text in (query.sql, *(step.sql for step in query.steps if hasattr(step, "sql")))
    ]
    assert not any("'clicks.dead_letter'" in text or "'scored.dead_letter'" in text for text in texts)


def test_what_production_does_not_store_is_built(shop):
    runs = running(compiled(shop))
    without = {name: record for name, record in runs.records.items() if "model.totals" not in record.stored}
    assert len(without) < len(runs.records)
    assert "totals" in decide(Deployed(without), shop)[0]
    assert "totals" in decide(msgspec.structs.replace(runs, never_started=frozenset(runs.records)), shop)[0]


def test_an_environment_is_isolated_by_check_and_not_by_trust(shop):
    (*_, query) = [
        query
        for query in physical_of(compiled_topology(compiled(shop))).queries
        if any(isinstance(target, TableOutput | SinkOutput) for target in query.outputs)
    ]
    with pytest.raises(AssertionError, match="must not write"):
        check_isolated([query], Environment("alice", "shop", frozenset(query.stored)))


def test_names_that_kafka_refuses(shop):
    long = "t" * 240
    write(shop, "models/scored.sql", FILES["models/scored.sql"].replace("key=", f"topic='{long}', key="))
    write(shop, "models/scored.yml", "models: [{name: scored}]\n")
    with pytest.raises(MillstreamError, match="too long"):
        in_environment(compiled(shop), Environment("alice", "shop", frozenset()))


def test_a_sink_can_t_take_a_name_of_an_environment(shop):
    write(
        shop, "models/scored.sql", FILES["models/scored.sql"].replace("key=", "topic='env-shop-x--y', key=")
    )
    errors = [error for error in compile_project(shop).diagnostics if error.severity == "error"]
    assert [error.code for error in errors] == ["MS554"]
