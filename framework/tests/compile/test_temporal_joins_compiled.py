"""Streams that join versions as of their event time: what is planned, what it depends on, and what an edit means."""

import pytest
from support.reviews import version
from support.runs import job_of
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.queries.emit.steps import SqlView, TemporalView
from millstream.queries.values import TableOutput
from millstream.queries.verdict import compare_signatures
from millstream.review.compare import review_versions
from millstream.review.formats.markdown import write_comment
from millstream.review.rebuild_cost import collect_figures

PLANS = """      - name: plans
        table: true
        versions: 30 days
        key: {name: user, type: string}
        columns: [{name: plan, type: string}, {name: price, type: int}, {name: since, type: timestamp}]
        watermark: {column: since, delay: 1 minute}
"""
SQL = """{{ config(materialized='sink', key='user_id') }}
select e.user_id, e.amount * p.price as paid
from {{ source('shop', 'events') }} as e
join {{ source('shop', 'plans') }} for system_time as of e.at as p on p.user = e.user_id
"""


def written(root, sql=SQL, plans=PLANS, **models):
    project(root, {"m": sql, **models})
    sources = root / "models/sources.yml"
    sources.write_text(sources.read_text() + plans)
    return root


def query_of(root, model="m"):
    (query,) = (
        q
        for q in job_of(root).physical.queries
        if any(getattr(o, "model", "") == f"model.{model}" for o in q.outputs)
    )
    return query


def joins(query):
    return [step for step in query.steps if isinstance(step, TemporalView)]


def test_a_row_waits_for_the_longer_delay_and_versions_are_kept_that_much_longer(tmp_path):
    query = query_of(written(tmp_path))
    (step,) = joins(query)
    assert (step.pairs, step.time, step.begins, step.outer) == (
        (("user_id", "user"),),
        "at",
        "valid_from",
        False,
    )
    # The events can be late by ten seconds, and the plans by a minute.
    assert (step.wait, step.keep) == (50_000, 30 * 86_400_000 + 50_000)
    assert query.output_mode == "append"


def test_only_the_columns_that_are_read_are_part_of_the_state(tmp_path):
    (step,) = joins(query_of(written(tmp_path)))
    assert [name for name, _ in step.left] == ["user_id", "amount", "at", "_timestamp"]
    assert [name for name, _ in step.right] == ["user", "price", "valid_from"]


def test_each_batch_reads_all_records_of_the_versions(tmp_path):
    query = query_of(written(tmp_path))
    assert [(source.relation, source.reads_all) for source in query.sources] == [
        ("source.shop.events", False),
        ("source.shop.plans", True),
    ]


def test_the_table_of_versions_is_stored_only_for_what_reads_it(tmp_path):
    def tables(root):
        outputs = [output for query in job_of(root).physical.queries for output in query.outputs]
        return [output.model for output in outputs if isinstance(output, TableOutput)]

    assert tables(written(tmp_path / "one")) == []
    newest = "{{ config(materialized='sink') }} select e.user_id, p.plan from {{ source('shop', 'events') }} as e join {{ source('shop', 'plans') }} as p on p.user = e.user_id and p.valid_to is null"
    assert tables(written(tmp_path / "two", newest=newest)) == ["source.shop.plans"]


def test_two_joins_follow_each_other_in_one_query(tmp_path):
    two = SQL.replace(
        "p on p.user = e.user_id",
        "p on p.user = e.user_id left join {{ source('shop', 'plans') }} for system_time as of e.at as q on q.user = e.product_id",
    )
    first, second = joins(query_of(written(tmp_path, two)))
    assert second.of == first.name
    # The rows of the second one have waited in the first one.
    assert second.keep - first.keep == 50_000


def test_models_share_the_state_of_a_view(tmp_path):
    view = SQL.replace("{{ config(materialized='sink', key='user_id') }}\n", "")
    cheap, dear = (
        f"{{{{ config(materialized='sink', key='user_id') }}}} select * from {{{{ ref('m') }}}} where paid {sign} 10"
        for sign in "<>"
    )
    root = written(tmp_path, view, cheap=cheap, dear=dear)
    assert query_of(root, "cheap") == query_of(root, "dear")
    assert len(joins(query_of(root, "cheap"))) == 1


@pytest.mark.parametrize("more", ["", "\n        on_bad_record: skip"])
def test_only_the_stream_has_a_watermark(more, tmp_path):
    query = query_of(written(tmp_path, plans=PLANS.replace("table: true", f"table: true{more}")))
    text = " ".join([query.sql, *(getattr(step, "sql", "") for step in query.steps)])
    assert text.count("watermark at delay") == text.count("watermark") == 1


def test_a_model_that_aggregates_joined_rows_reads_their_topic(tmp_path):
    counts = "{{ config(materialized='table', unique_key='user_id') }} select user_id, count(*) as n from {{ ref('m') }} group by user_id"
    query = query_of(written(tmp_path, counts=counts), "counts")
    assert [source.relation for source in query.sources] == ["model.m"]


@pytest.mark.parametrize("time", ["p.valid_from", "p.since"])
def test_a_time_of_the_version_itself_is_refused(time, tmp_path):
    (diagnostic,) = compile_project(written(tmp_path, SQL.replace("as of e.at", f"as of {time}"))).diagnostics
    assert (diagnostic.code, diagnostic.help) == ("MS691", "write FOR SYSTEM_TIME AS OF e.at")


@pytest.mark.parametrize("left", ["amount", "at"])
def test_a_comparison_of_another_column_than_the_key_is_one_error(left, tmp_path):
    sql = SQL.replace("on p.user = e.user_id", f"on e.{left} = p.plan")
    (diagnostic,) = compile_project(written(tmp_path, sql)).diagnostics
    assert (diagnostic.code, diagnostic.help) == ("MS692", "add to ON: p.`user` = e.user_id")
    repaired = sql.replace(f"on e.{left} = p.plan", "on p.`user` = e.user_id")
    assert not compile_project(written(tmp_path, repaired)).diagnostics


@pytest.mark.parametrize("name", ["a CTE", "a table with versions", "a right join", "rows that change"])
def test_what_else_is_refused(name, tmp_path):
    versioned = "{{ config(materialized='table', unique_key='user', versions='all', order_by='since') }} select user_id as user, amount as price, at as since from {{ source('shop', 'events') }}"
    counts = "{{ config(emit='on_change') }} select user_id, max(amount) as amount, window, window.start as at from {{ source('shop', 'events') }} group by user_id, window(at, '1 day')"
    sql = {
        "a CTE": SQL.replace(
            "select e", "with v as (select * from {{ source('shop', 'plans') }}) select e"
        ).replace("join {{ source('shop', 'plans') }}", "join v"),
        "a table with versions": SQL.replace("source('shop', 'plans')", "ref('kept')"),
        "a right join": SQL.replace("\njoin", "\nright join"),
        "rows that change": SQL.replace("source('shop', 'events')", "ref('counts')").replace(
            "as paid", "as paid, e.window"
        ),
    }[name]
    errors = compile_project(written(tmp_path, sql, kept=versioned, counts=counts)).diagnostics
    assert "MS686" in {diagnostic.code for diagnostic in errors if diagnostic.severity == "error"}


def test_an_aggregate_of_the_same_select_is_refused(tmp_path):
    sql = SQL.replace("e.amount * p.price as paid", "count(*) as n") + "group by e.user_id\n"
    (diagnostic,) = compile_project(written(tmp_path, sql)).diagnostics
    assert diagnostic.code == "MS529"
    assert "a refining aggregate can't share a query with the temporal join" in diagnostic.message


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"store": "memory"}, "joins FOR SYSTEM_TIME AS OF only keep state in RocksDB"),
        ({"ttl": "1 day"}, "'state: {ttl}' is for Python functions with keyed state and joins"),
    ],
)
def test_options_of_state_that_it_does_not_have(state, message, tmp_path):
    (diagnostic,) = compile_project(
        written(tmp_path, SQL.replace("key=", f"state={state}, key="))
    ).diagnostics
    assert diagnostic.code == "MS522"
    assert diagnostic.message.startswith(message)


def test_lineage(tmp_path):
    compiled = compile_project(written(tmp_path))
    (_, paid) = compiled.manifest.nodes["model.m"].columns
    assert {(influence.relation, influence.column, influence.kind) for influence in paid.influences} == {
        ("source.shop.events", "amount", "computed"),
        ("source.shop.plans", "price", "computed"),
    }
    rows = {
        (influence.relation, influence.column, influence.kind)
        for influence in compiled.manifest.nodes["model.m"].influences
    }
    assert rows == {
        ("source.shop.events", "user_id", "join"),
        ("source.shop.events", "at", "join"),
        ("source.shop.plans", "user", "join"),
        ("source.shop.plans", "valid_from", "join"),
        ("source.shop.plans", "valid_to", "join"),
    }


def test_a_filter_of_events_goes_below_the_join_and_one_of_versions_does_not(tmp_path):
    query = query_of(written(tmp_path, SQL + "where e.type = 'x' and p.plan = 'y'\n"))
    events, versions = (step.sql for step in query.steps if isinstance(step, SqlView))
    assert "type = 'x'" in events
    assert "plan = 'y'" not in versions
    assert "plan = 'y'" in query.sql


EDITS = {
    "nothing": ("", "", "same"),
    "a column that is computed above": ("e.amount * p.price as paid", "e.amount * p.price * 2 as paid", "same"),
    "another alias": ("as p on p.user", "as q on q.user", "same"),
    "a left join": ("join {{ source('shop', 'plans')", "left join {{ source('shop', 'plans')", "rebuild"),
    "another key": ("= e.user_id\n", "= e.product_id\n", "rebuild"),
    "another column of versions": ("p.price as paid", "if(p.plan = 'x', 0, p.price) as paid", "rebuild"),
    "another column of the stream": ("e.amount * p", "if(e.type = 'x', 0, e.amount) * p", "rebuild"),
    "a condition on versions": ("= e.user_id\n", "= e.user_id and p.price > 0\n", "rebuild"),
    "a filter of the stream": ("= e.user_id\n", "= e.user_id where e.amount > 0\n", "rebuild"),
    "a filter below the join": ("{{ source('shop', 'events') }} as e", "(select * from {{ source('shop', 'events') }} where amount > 0) as e", "rebuild"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_what_an_edit_means_for_the_state(name, tmp_path):
    before, after, kind = EDITS[name]
    sql = SQL.replace("p.price as", "q.price as") if name == "another alias" else SQL
    old = query_of(written(tmp_path / "old")).signature
    new = query_of(written(tmp_path / "new", sql.replace(before, after))).signature
    change = compare_signatures(old, new)
    assert change.kind == kind, change.reasons


@pytest.mark.parametrize("name", ["a filter of the stream", "a filter below the join"])
def test_what_a_filter_leaves_in_the_state_are_rows(name, tmp_path):
    before, after, _ = EDITS[name]
    old = query_of(written(tmp_path / "old")).signature
    new = query_of(written(tmp_path / "new", SQL.replace(before, after))).signature
    assert compare_signatures(old, new).reasons == (
        "temporal join of m: the conditions upstream of it changed; rows that the old ones let in would still be emitted",
    )


def test_a_filter_that_is_moved_below_the_join_has_no_effect(tmp_path):
    events = "{{ source('shop', 'events') }}"
    old = version(written(tmp_path / "old", SQL + "where e.value > 1 and p.price > 2\n"), "main")
    moved = SQL.replace(events, f"(select * from {events} where 1 < value)") + "where p.price > 2\n"
    new = version(written(tmp_path / "new", moved))
    comment = write_comment(review_versions(old, new, collect_figures(new.manifest, {}, None)))
    assert "no effect on what runs" in comment
    assert "keeps rows where" not in comment


SETTINGS = {
    "versions are kept longer": ("versions: 30 days", "versions: 60 days"),
    "versions are kept for ever": ("versions: 30 days", "versions: all"),
    "versions can be later": ("delay: 1 minute", "delay: 5 minutes"),
    "versions begin at another time": ("watermark: {column: since, delay: 1 minute}", ""),
    "a column has another type": ("{name: price, type: int}", "{name: price, type: bigint}"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_an_edit_of_the_reference_topic_rebuilds(name, tmp_path):
    old = query_of(written(tmp_path / "old")).signature
    new = query_of(written(tmp_path / "new", plans=PLANS.replace(*SETTINGS[name]))).signature
    assert compare_signatures(old, new).kind == "rebuild"
