"""Details of what a review finds: types, readers, replays, drawings."""

import pytest
from support.reviews import query, reviewed, version, written

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.review.contracts import find_misfits
from millstream.review.deployment import untouched_columns
from millstream.review.formats.text import text_lines
from millstream.review.rebuild_cost import ReplayFigures, TopicFacts, format_duration, plan_rebuild

SINK = "{{ config(materialized='sink', key='user_id') }}\n"
TABLE = "{{ config(materialized='table', unique_key='user_id') }}\n"
MODELS = {
    "clicks": "select user_id, type, amount from {{ source('shop', 'events') }} where type = 'click'",
    "sent": SINK + "select user_id, amount * 2 as double_amount from {{ ref('clicks') }}",
    "totals": TABLE + "select user_id, sum(amount) as total from {{ ref('clicks') }} group by user_id",
    "models/more.yml": (
        "models:\n  - name: clicks\n    columns:\n      - {name: amount, tests: [not_null]}\n"
        "exposures:\n  - name: board\n    type: dashboard\n    depends_on: [ref('totals')]\n"
    ),
}


@pytest.mark.parametrize(
    ("was", "now", "misfit"),
    [
        ("int", "int", []),
        (
            "int",
            "bigint",
            [(False, "`c` is bigint instead of int: large values do not fit existing readers")],
        ),
        ("bigint", "string", [(True, "`c` is string instead of bigint")]),
        ("bigint", "double", [(True, "`c` is double instead of bigint")]),
        ("double", "decimal(12,2)", [(False, "`c` is decimal(12,2) instead of double")]),
        ("struct<a:int,b:int>", "struct<a:int>", [(True, "the field `c.b` was removed")]),
        ("struct<a:int>", "struct<a:int,b:int>", [(False, "the field `c.b` is new")]),
        ("array<struct<a:int>>", "array<struct<a:string>>", [(True, "`c[].a` is string instead of int")]),
        ("map<string,int>", "map<int,int>", [(True, "`c` is map<int,int> instead of map<string,int>")]),
    ],
)
def test_types_that_fit_and_do_not(was, now, misfit):
    assert list(find_misfits(parse_type(was), parse_type(now), "c")) == misfit


def test_who_reads_a_column(tmp_path):
    report = reviewed(
        tmp_path, MODELS, {"clicks": MODELS["clicks"].replace("amount from", "amount + 1 as amount from")}
    )
    (change,) = next(node for node in report.nodes if node.id == "model.clicks").columns
    assert (change.name, change.kind) == ("amount", "meaning")
    assert (change.before, change.after) == ("amount", "amount + 1")
    assert [(reader.id, reader.column, reader.kind) for reader in change.readers] == [
        ("model.sent", "double_amount", "computed"),
        ("model.totals", "total", "computed"),
    ]
    assert change.downstream == ("model.sent", "model.totals")
    assert change.exposures == ("exposure board",)
    assert change.tests == ("not_null_clicks_amount",)


def test_what_is_only_affected_says_through_what(tmp_path):
    report = reviewed(tmp_path, MODELS, {"clicks": MODELS["clicks"].replace("'click'", "'view'")})
    affected = {node.id: node.because for node in report.nodes if node.status == "affected"}
    assert affected == {"model.sent": ("model.clicks",), "model.totals": ("model.clicks",)}
    assert next(node for node in report.nodes if node.id == "model.clicks").what == (
        "keeps rows where `events.type = 'view'`, no longer `events.type = 'click'`",
    )


def test_a_model_that_is_renamed(tmp_path):
    report = reviewed(tmp_path, MODELS, {"totals": "", "sums": MODELS["totals"], "models/more.yml": ""})
    (change,) = (node for node in report.nodes if node.status == "renamed")
    assert (change.id, change.old_id) == ("model.sums", "model.totals")


def test_the_plan_of_a_rebuild(tmp_path):
    report = reviewed(tmp_path, MODELS, {"totals": MODELS["totals"].replace("sum(", "max(")})
    plan = query(report, "totals").replay
    assert plan.command == "millstream apply"
    assert (plan.models, plan.tables, plan.sent_again) == (("totals",), ("totals",), ())
    assert [(read.topic, read.start, read.holds, read.records) for read in plan.reads] == [
        ("events", "its start", "", None)
    ]


@pytest.mark.parametrize(
    ("config", "rate", "holds", "records"),
    [
        ({"retention.ms": "604800000"}, 10.0, "records of the last 7 days", 6_048_000),
        ({"retention.ms": "-1"}, None, "all records", None),
        ({"cleanup.policy": "compact"}, None,
         "only the newest record of each key: older ones can't be processed again", None),
        ({}, 10.0, "", None),
    ],
)  # fmt: skip
def test_what_a_topic_still_holds(config, rate, holds, records):
    from support.reviews import physical_query

    from millstream.queries.lock import Lock
    from millstream.queries.physical_plan import PhysicalPlan

    reads = physical_query("totals", "source.shop.events", "events")
    stats = ReplayFigures(
        {"events": TopicFacts(config)},
        {NodeId("source", "shop.events"): rate} if rate else {},
        {"totals": 1000.0},
    )
    plan = plan_rebuild(reads, PhysicalPlan((), (), Lock()), stats)
    assert (plan.reads[0].holds, plan.reads[0].records) == (holds, records)
    assert plan.seconds == (round(records / 1000) if records and records > 0 else None)


def test_durations():
    assert [format_duration(ms) for ms in (604_800_000, 86_400_000, 5_400_000, 1500)] == [
        "7 days", "1 day", "90 minutes", "1,500 ms",
    ]  # fmt: skip


def test_a_drawing_has_what_changed_and_its_neighbours(tmp_path):
    more = SINK + "select user_id from {{ ref('sent') }}"
    report = reviewed(tmp_path, MODELS, {"again": more})
    assert report.diagram.splitlines() == [
        "flowchart LR",
        '  n0[("again<br/>sink")]:::added',
        '  n1[("sent<br/>sink")]',
        "  n1 ==> n0",
        "  classDef added fill:#dafbe1,stroke:#1a7f37,color:#1f2328",
    ]


def test_rules_that_no_longer_fire_name_the_line_that_reads_what_they_were_about(tmp_path):
    after = {
        "sent": SINK
        + "select user_id, amount * 2 as double_amount\nfrom {{ ref('clicks') }} as c\nwhere exists (select 1 from {{ ref('products') }} as p where p.product_id = c.user_id)"
    }
    report = reviewed(tmp_path, MODELS, after)
    stopped = next(rule for rule in report.rules if (rule.rule, rule.status) == ("prune_columns", "stopped"))
    assert stopped.models == ("model.clicks",)
    assert stopped.edited_line is not None
    assert stopped.edited_line.path == "models/sent.sql"


def test_a_model_that_moves_to_a_query_of_its_own_begins_anew(tmp_path):
    after = {
        "sent": SINK
        + "select user_id, amount * 2 as double_amount from {{ ref('clicks') }} as c where exists (select 1 from {{ ref('products') }} as p where p.product_id = c.user_id)"
    }
    moved = query(reviewed(tmp_path, MODELS, after), "sent")
    assert moved.status == "rebuild"
    assert moved.reasons == ("sent ran in events_topics before, and sent has no checkpoint: it starts over",)
    assert moved.replay.sent_again == ("sent",)


def test_a_source_that_reads_another_topic(tmp_path):
    sources = (written(tmp_path / "plain", {}) / "models/sources.yml").read_text()
    after = {
        "models/sources.yml": sources.replace("- name: events", "- name: events\n        topic: events_v2")
    }
    report = reviewed(tmp_path, MODELS, after)
    assert {change.name: change.status for change in report.queries} == {
        "events_topics": "rebuild",
        "totals": "rebuild",
    }
    assert "it reads the topic events_v2 instead of the topic events" in report.queries[0].reasons


def test_a_source_whose_records_may_not_be_read_any_more(tmp_path):
    sources = (written(tmp_path / "plain", {}) / "models/sources.yml").read_text()
    after = {
        "models/sources.yml": sources.replace(
            "{name: product_id, type: string}", "{name: product_id, type: bigint}"
        )
    }
    report = reviewed(tmp_path, MODELS, after)
    (contract,) = report.contracts
    assert contract.breaking == (
        "`product_id` is read as bigint instead of string: other records stop the query",
    )


def test_a_sink_whose_keys_have_another_format(tmp_path):
    after = {"sent": MODELS["sent"].replace("key='user_id'", "key='user_id', key_format='json'")}
    report = reviewed(tmp_path, MODELS, after)
    (contract,) = report.contracts
    assert contract.breaking == ("the format of its key is json instead of the default",)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("key_format='avro'", "key_format='avro', key_framing='confluent'", "avro (confluent)"),
        ("key_format='csv'", "key_format='csv', key_format_options={'delimiter': ';'}", "csv (delimiter ;)"),
    ],
)
def test_a_sink_whose_keys_are_framed_or_separated_differently(tmp_path, before, after, shown):
    old, new = (
        {"sent": MODELS["sent"].replace("key='user_id'", f"key=['user_id', 'double_amount'], {options}")}
        for options in (before, after)
    )
    (contract,) = reviewed(tmp_path, {**MODELS, **old}, new).contracts
    assert contract.breaking == (f"the format of its key is {shown} instead of {shown.partition(' ')[0]}",)


def test_a_source_whose_keys_have_another_format(tmp_path):
    sources = "sources: [{name: web, topics: [{name: ids, key: {name: id, type: bigint}, columns: [{name: a, type: int}]}]}]\n"
    before = {
        "models/web.yml": sources,
        "sums": TABLE.replace("user_id", "id")
        + "select id, sum(a) as total from {{ source('web', 'ids') }} group by id",
    }
    after = {"models/web.yml": sources.replace("type: bigint", "format: long")}
    report = reviewed(tmp_path, before, after)
    assert {change.name: change.status for change in report.queries}["sums"] != "same"


NEWEST = "{{ config(materialized='table', unique_key='user_id', order_by='at', %s) }} "
FX = (
    "sources:\n  - name: bank\n    topics:\n      - name: fx\n        table: true\n        versions: %s\n"
    "        key: {name: currency, type: string}\n        columns: [{name: rate, type: double}]\n"
)


@pytest.mark.parametrize(
    ("path", "before", "after", "changed"),
    [
        ("models/fx.yml", FX % "30 days", FX % "all", "source.bank.fx"),
        ("seen", NEWEST % "versions='30 days'", NEWEST % "versions='all'", "model.seen"),
        ("seen", NEWEST % "retention='30 days'", NEWEST % "retention='60 days'", "model.seen"),
    ],
)
def test_rows_that_are_kept_for_another_time_are_not_compared_by_an_apply(
    tmp_path, path, before, after, changed
):
    events = "from {{ source('shop', 'events') }}"
    rates = f"select e.user_id, r.rate {events} as e left join {{{{ source('bank', 'fx') }}}} as r "
    read = {"rates": f"{SINK}{rates}on r.currency = e.type and r.valid_to is null"}
    read = read if path == "models/fx.yml" else {}
    sql = "" if read else f"select user_id, amount, at {events}"
    files = {"totals": MODELS["totals"], "clicks": MODELS["clicks"], **read}
    report = reviewed(tmp_path, {**files, path: before + sql}, {path: after + sql})
    columns = untouched_columns(report, version(tmp_path / "new"))
    assert (columns[changed], columns["model.totals"]) == ((), ("user_id", "total"))


def test_a_line_of_another_file_is_shown_with_its_file(tmp_path):
    macro = "{# who clicks\n\n\n#}\n{% macro who() %}user_id{% endmacro %}"
    sql = SINK + "select {{ who() }} as user_id from {{ ref('clicks') }}"
    report = reviewed(
        tmp_path,
        MODELS | {"macros/who.sql": macro, "who": sql},
        {"macros/who.sql": macro.replace("user_id", "user_id + 1")},
    )
    shown = [line.text for line in text_lines(report) if line.text.startswith("~ who ")]
    assert shown == ["~ who changed  models/who.sql, edited in macros/who.sql:5"]


def test_another_key_of_a_table(tmp_path):
    more = {"newest": TABLE + "select user_id, type from {{ source('shop', 'events') }}"}
    other = more["newest"].replace("unique_key='user_id'", "unique_key='type'")
    (contract,) = reviewed(tmp_path, MODELS | more, {"newest": other}).contracts
    assert contract.breaking == ("its key is type instead of user_id",)
    assert contract.todo == ("deploy it with `millstream apply`, which replaces the table",)


def test_other_values_of_a_key(tmp_path):
    more = {"newest": TABLE + "select user_id, amount from {{ source('shop', 'events') }}"}
    other = more["newest"].replace("select user_id", "select upper(user_id) as user_id")
    (contract,) = reviewed(tmp_path, MODELS | more, {"newest": other}).contracts
    note = "the values of key `user_id` change: without a rebuild, rows under old values would stay"
    assert contract.notes == (note,)
