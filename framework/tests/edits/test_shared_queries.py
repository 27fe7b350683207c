"""Models that share a query are rebuilt one by one: an edit costs no more than with queries of their own."""

import json
import os

import pytest
from edits import test_edited_states as corpus
from edits.bases import EVENTS, table
from edits.corpus import EDITS
from edits.test_edited_states import OTHERS, PROFILES, half, succeeded
from support.runs import built, create_topics, job_of, received, send, table_rows
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from millstream.compile.manifest import Manifest
from millstream.core.decoding import from_json
from millstream.core.node_id import NodeId
from millstream.deploy.planning.definitions import definition_of
from millstream.deploy.planning.intents import Apply, FullRefresh, Regroup, Update
from millstream.deploy.planning.records import Deployed, new_record
from millstream.deploy.planning.reuse_running import reuse_running_state
from millstream.deploy.planning.stages import plan_stages, rebuilt_queries
from millstream.deploy.stages.roll_back import roll_back
from millstream.queries.topology import physical_of

pytestmark = SPARK_WARNINGS

SHARED_STEP = int(os.environ.get("MILLSTREAM_EDITS_STEP", "5"))
"""Every how many edits of the corpus are run on shared queries."""

VIEW = (
    "{{ config(materialized='view') }} select user, count(*) as events, sum(value) as total, max(id) as last\n"
    f"from {EVENTS} group by user"
)


def windows(name, length):
    return (
        f"{{{{ config(materialized='sink', topic=target.name ~ '_{name}', emit='on_close') }}}}\n"
        f"select window.start as s, user, count(*) as n from {EVENTS} group by window(at, '{length}'), user"
    )


MODELS = {
    # three states over one shuffle
    "total": table("user", f"select user, sum(value) as total from {EVENTS} group by user"),
    "number": table("user", f"select user, count(*) as n from {EVENTS} where kind <> 'd' group by user"),
    "largest": table("user", f"select user, max(id) as last from {EVENTS} group by user"),
    # two windows that close, over one shuffle
    "minutes": windows("minutes", "1 minute"),
    "longer": windows("longer", "2 minutes"),
    # one state of two models
    "per_user": VIEW,
    "some": table("user", "select user, events from {{ ref('per_user') }}"),
    "more": table("user", "select user, total, last from {{ ref('per_user') }}"),
    "read_again": table(["user", "s"], "select user, s, n from {{ ref('minutes') }}"),
    # without state
    "copied": table("id", f"select id, value from {EVENTS}"),
    "copied_too": table("id", f"select id, kind from {EVENTS}"),
}
EDITED = {
    "total": MODELS["total"].replace("sum(", "max("),
    "longer": windows("longer", "3 minutes"),
    "more": MODELS["more"].replace(
        "{{ ref('per_user') }}",
        f"(select user, avg(value) as total, max(id) as last from {EVENTS} group by user)",
    ),
    "copied": MODELS["copied"].replace("id, value", "id, value + 1 as value"),
}
TABLES = [name for name, sql in MODELS.items() if "'table'" in sql]
SINKS = ["minutes", "longer"]


def write(shop, models):
    for name, sql in models.items():
        shop.model(name, sql)


def rows(shop, target="local", without=()):
    """Return the rows of tables, and the newest record of each window."""
    stored_rows = {
        name: table_rows(shop.root, f"model.{name}", target) for name in TABLES if name not in without
    }
    for name in SINKS:
        if name not in without:
            values = [json.loads(record.value()) for record in received(shop.bootstrap, f"{target}_{name}")]
            stored_rows[name] = {(row["s"], row["user"]): row["n"] for row in values}.items()
    return {name: sorted(map(repr, rows)) for name, rows in stored_rows.items()}


def read(results):
    return {result.id.partition(".")[2]: result.rows_read for result in results.results}


def started(tmp_path, broker, spark):
    """Return a project that was built on half of the records."""
    shop = Shop(tmp_path, broker)
    shop.write("profiles.yml", PROFILES.replace("grouping: off", "grouping: all"))
    shop.more(OTHERS)
    write(shop, MODELS)
    create_topics(shop.bootstrap, "events", "others")
    send(shop.bootstrap, half(0))
    succeeded(built(shop.root, spark)[0])
    queries = [query.stored for query in job_of(shop.root).physical.queries]
    assert sorted(map(len, queries)) == [2, 3, 5]
    return shop


@pytest.mark.long
def test_an_edit_of_some_models_of_a_query(tmp_path, broker, first_spark):
    shop = started(tmp_path, broker, first_spark)
    before = rows(shop)
    sent = len(received(shop.bootstrap, "local_minutes"))

    write(shop, EDITED)
    results, events = built(shop.root, first_spark, intent=Apply())
    succeeded(results)
    assert {name for name, number in read(results).items() if number} == EDITED.keys()
    assert len(received(shop.bootstrap, "local_minutes")) == sent
    succeeded(built(shop.root, first_spark, target="fresh")[0])
    ends = {"longer"}  # its topic also has the windows of the version before
    assert rows(shop, without=ends) == rows(shop, "fresh", without=ends)

    roll_back(job_of(shop.root), shop.root / ".millstream", events.append, first_spark)
    assert rows(shop, without=ends) == {k: v for k, v in before.items() if k not in ends}
    write(shop, MODELS)
    send(shop.bootstrap, half(1))
    results, _ = built(shop.root, first_spark)
    succeeded(results)
    assert set(read(results).values()) == {60}
    write(shop, EDITED)
    results, _ = built(shop.root, first_spark, intent=Apply())
    succeeded(results)
    assert {name for name, number in read(results).items() if number} == EDITED.keys()
    succeeded(built(shop.root, first_spark, target="fresh")[0])
    assert rows(shop, without=ends) == rows(shop, "fresh", without=ends)

    # What left its query is joined again.
    succeeded(built(shop.root, first_spark, intent=Regroup())[0])
    succeeded(built(shop.root, first_spark)[0])
    assert rows(shop, without=ends) == rows(shop, "fresh", without=ends)


@pytest.mark.long
def test_models_of_a_query_are_rebuilt_refreshed_and_removed_one_by_one(tmp_path, broker, first_spark):
    shop = started(tmp_path, broker, first_spark)

    shop.model("total", EDITED["total"])
    results, _ = built(shop.root, first_spark, intent=Update(frozenset({NodeId("model", "total")})))
    succeeded(results)
    assert {name for name, number in read(results).items() if number} == {"total"}
    only = frozenset({"model.number"})
    results, _ = built(shop.root, first_spark, intent=FullRefresh(), models=only)
    assert read(results) == {"number": 60}
    (shop.root / "models/some.sql").unlink()

    send(shop.bootstrap, half(1))
    results, _ = built(shop.root, first_spark)
    succeeded(results)
    assert set(read(results).values()) == {60}
    succeeded(built(shop.root, first_spark, target="fresh")[0])
    assert rows(shop, without={"some"}) == rows(shop, "fresh", without={"some"})


def rebuilt_models(root, grouping, step):
    """Return the models that an apply of edits of the corpus rebuilds, and how many queries ran before."""
    shop = Shop(root, "")
    corpus.write(shop, EDITS[::step], "before")
    shop.write("profiles.yml", PROFILES.replace("grouping: off", f"grouping: {grouping}"))
    old = job_of(shop.root)
    records = {
        query.name: new_record("", query, {}, definition(old, query)) for query in old.physical.queries
    }
    for edit in EDITS[::step]:
        shop.model(corpus.name_of(edit), edit.after)
    new = job_of(shop.root)
    running = Deployed(records, old.physical.lock)
    reused = reuse_running_state(new.topology, physical_of(new.topology, running.lock), running, Apply())
    planned = rebuilt_queries(
        plan_stages(reused.physical.queries, reused.running, Apply(), reused.physical.queries)
    )
    names = {edit.name: f"model.{corpus.name_of(edit)}" for edit in EDITS}
    stored = {model for query in reused.physical.queries if query.name in planned for model in query.stored}
    return {name for name, model in names.items() if model in stored}, len(records)


def definition(job, query):
    return definition_of(from_json(job.manifest, Manifest), job.catalog, query.stored).packed()


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
def test_sharing_never_rebuilds_more_than_separate_queries(tmp_path, step):
    shared, queries = rebuilt_models(tmp_path / "shared", "all", step)
    separate, models = rebuilt_models(tmp_path / "separate", "off", step)
    assert queries < models / 3
    assert shared == separate


@pytest.mark.long
def test_edits_of_the_corpus_on_shared_queries_have_the_rows_of_a_fresh_build(tmp_path, broker, first_spark):
    chosen = EDITS[corpus.FIRST :: SHARED_STEP]
    shop = Shop(tmp_path, broker)
    corpus.write(shop, chosen, "before")
    shop.write("profiles.yml", PROFILES.replace("grouping: off", "grouping: all"))
    create_topics(shop.bootstrap, "events", "others")
    send(shop.bootstrap, half(0))
    succeeded(built(shop.root, first_spark)[0])

    for edit in chosen:
        shop.model(corpus.name_of(edit), edit.after)
    results, _ = built(shop.root, first_spark, intent=Apply(accept_differences=True))
    succeeded(results)
    again = {name for name, number in read(results).items() if number}
    assert again == {corpus.name_of(edit) for edit in chosen if edit.verdict != "same"}
    send(shop.bootstrap, half(1))
    succeeded(built(shop.root, first_spark)[0])
    succeeded(built(shop.root, first_spark, target="fresh")[0])
    differing = {
        edit.name: both
        for edit in chosen
        for both in [(corpus.rows(shop, edit), corpus.rows(shop, edit, "fresh"))]
        if both[0] != both[1]
    }
    assert differing == {}
