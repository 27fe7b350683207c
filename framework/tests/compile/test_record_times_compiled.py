"""The times and headers of a sink's records, as they are compiled."""

import pytest
from engine.test_record_times import CLICKS, VISITS
from support.shops import PROFILES, UNOPTIMIZED, Shop

from millstream.compile import compile_project
from millstream.plan.nodes import RECORD_TIME, Aggregate, Output, Project, TopicScan
from millstream.queries.topology import compiled_topology, physical_of
from millstream.queries.verdict import compare_signatures

EVENTS = "from {{ source('web', 'events') }}"
TRACED = f"select id, filter(_headers, h -> h.key = 'trace')[0].value as trace {EVENTS}"
COUNTS = f"select kind, count(*) as n {EVENTS} group by kind"


def compiled(root, **models):
    shop = Shop(root, "")
    for name, sql in models.items():
        shop.model(name, sql)
    return compile_project(root)


def output_of(root, sql):
    result = compiled(root, m="{{ config(materialized='sink', unbounded_state='accept') }}" + sql)
    assert result.diagnostics == ()
    (output,) = compiled_topology(result).written.outputs
    return output


def time_of(output: Output):
    assert isinstance(output.input, Project)
    return str(output.input.definitions[RECORD_TIME]) if RECORD_TIME in output.input.by_name else None


@pytest.mark.parametrize(
    ("time", "sql", "computed"),
    [
        ("at", f"select id, at {EVENTS}", "at"),
        ("at", f"select id {EVENTS}", "timestamp_micros(unix_micros(at))"),
        ("e.at + interval 1 hour", f"select id {EVENTS} as e", "at + INTERVAL 1 HOUR"),
        ("cast(at as date)", f"select id, at {EVENTS}", "CAST(CAST(at AS DATE) AS TIMESTAMP)"),
        ("max(at)", f"select kind, count(*) as n {EVENTS} group by kind", None),
        ("processing_time", f"select id, at {EVENTS}", None),
    ],
)
def test_a_time_is_any_sql_over_the_rows_or_what_they_come_from(tmp_path, time, sql, computed):
    key = "key='kind', " if "group by" in sql else ""
    output = output_of(tmp_path, f"{{{{ config({key}timestamp='{time}') }}}} {sql}")
    assert RECORD_TIME not in output.names
    assert output.timed == (time != "processing_time")
    if computed:
        assert (time_of(output) or "").lower() == computed.lower()


@pytest.mark.parametrize(
    ("options", "sql", "code", "message"),
    [
        (
            "timestamp='id'",
            f"select id {EVENTS}",
            "MS521",
            "'timestamp' is the time of a record, and 'id' is int",
        ),
        ("timestamp='kind'", f"select id {EVENTS}", "MS521", "and 'kind' is string"),
        ("timestamp='nothing'", f"select id {EVENTS}", "MS402", "in 'timestamp': "),
        ("headers='pass'", f"select id {EVENTS}", "MS557", "'headers' can only be 'keep', not 'pass'"),
        (
            "headers={'*': 'id'}",
            f"select id {EVENTS}",
            "MS557",
            "the header '*' can only be 'keep', not 'id'",
        ),
        (
            "headers='keep', key='kind'",
            COUNTS,
            "MS557",
            "a row above a refining aggregate does not come from a single",
        ),
        (
            "headers='keep'",
            "select kind, n from {{ ref('stored') }}",
            "MS557",
            "a row of a table does not come from",
        ),
    ],
)
def test_what_is_no_time_and_no_headers(tmp_path, options, sql, code, message):
    stored = f"{{{{ config(materialized='table', unique_key='kind', unbounded_state='accept') }}}} {COUNTS}"
    more = ", key='kind'" if "stored" in sql else ""
    model = f"{{{{ config(materialized='sink', unbounded_state='accept', {options}{more}) }}}} {sql}"
    (diagnostic,) = compiled(tmp_path, stored=stored, m=model).diagnostics
    assert (diagnostic.code, diagnostic.location.path) == (code, "models/m.sql")
    assert message in diagnostic.message


def test_remedies_work(tmp_path):
    remedies = [
        f"{{{{ config(materialized='sink', timestamp='timestamp_millis(id)') }}}} select id {EVENTS}",
        f"{{{{ config(materialized='sink', timestamp='cast(kind as timestamp)') }}}} select id {EVENTS}",
        f"{{{{ config(materialized='sink', headers={{'trace': 'trace'}}) }}}} {TRACED}",
    ]
    for number, sql in enumerate(remedies):
        assert compiled(tmp_path / str(number), m=sql).diagnostics == ()


@pytest.mark.parametrize(
    "config",
    [
        "emit='on_close', timestamp='max(_timestamp)'",
        "emit='on_close', timestamp='session_window.end - interval 30 minutes'",
        "emit='on_close', producer={'partitioner.class': 'org.apache.kafka.clients.producer.RoundRobinPartitioner'}",
    ],
)
def test_what_kafka_streams_sends_can_be_had(tmp_path, config):
    sessions = f"select kind, count(*) as n {EVENTS} group by kind, session_window(at, '30 minutes')"
    result = compiled(tmp_path, m=f"{{{{ config(materialized='sink', {config}) }}}} {sessions}")
    assert result.diagnostics == ()
    (output,) = compiled_topology(result).written.outputs
    assert output.timed


def test_a_session_is_sent_once(tmp_path):
    sessions = f"select kind, count(*) as n {EVENTS} group by kind, session_window(at, '30 minutes')"
    (diagnostic,) = compiled(
        tmp_path, m=f"{{{{ config(materialized='sink', key='kind') }}}} {sessions}"
    ).diagnostics
    assert "on_close" in f"{diagnostic.message} {diagnostic.help}"


def test_a_sink_and_a_table_keep_one_state(tmp_path):
    keyed = "unbounded_state='accept') }} "
    result = compiled(
        tmp_path,
        view=f"{{{{ config(materialized='view') }}}} select kind, upper(user) as user, value {EVENTS}",
        sink="{{ config(materialized='sink', key='kind', " + keyed
        + "select kind, count(*) as n, sum(value) as total from {{ ref('view') }} group by kind",
        table="{{ config(materialized='table', unique_key='kind', " + keyed
        + "select kind, count(*) as n from {{ ref('view') }} group by kind",
    )  # fmt: skip
    plan = compiled_topology(result).optimized.plan
    (state,) = (node for node in plan.order if isinstance(node, Aggregate))
    assert [measure.name for measure in state.measures] == ["n", "total", RECORD_TIME]


def test_a_table_alone_has_no_time(tmp_path):
    table = f"{{{{ config(materialized='table', unique_key='kind', unbounded_state='accept') }}}} {COUNTS}"
    plan = compiled_topology(compiled(tmp_path, table=table)).written
    (state,) = (node for node in plan.order if isinstance(node, Aggregate))
    assert [measure.name for measure in state.measures] == ["n"]


def signature_of(root, sql, profiles):
    shop = Shop(root, "")
    shop.write("profiles.yml", profiles)
    shop.write("macros/visits.py", VISITS)
    shop.more(CLICKS)
    shop.model("m", sql)
    result = compile_project(root)
    assert result.diagnostics == ()
    (query,) = physical_of(compiled_topology(result)).queries
    return query.signature


GROUPED = ("m: with the time of its records (none with timestamp='processing_time') `max(_timestamp)`",)
JOINED = ("join of m: the left side now has `_timestamp`", "join of m: the right side now has `_timestamp`")


@pytest.mark.parametrize("profiles", [PROFILES, UNOPTIMIZED], ids=["all", "none"])
@pytest.mark.parametrize(
    ("options", "sql", "reasons"),
    [
        ("key='id'", f"select id, kind {EVENTS}", ()),
        ("key='kind'", f"select kind, sum(value) as v, count(*) as n {EVENTS} group by kind", GROUPED),
        (
            "emit='on_close'",
            f"select count(*) as n, max(value) as v {EVENTS} group by window(at, '1 minute')",
            (),
        ),
        (
            "key=['kind', 'w']",
            (
                f"select kind, max(value) as v, window.start as w, count(*) as n {EVENTS} "
                "group by kind, window(at, '1 minute') having count(*) > 1"
            ),
            (),
        ),
        ("dedupe={'keys': ['id'], 'within': '1 hour'}", f"select id, at {EVENTS}", ()),
        ("", f"select v.number {EVENTS} as e lateral view visits(e.user) v as number, seen", ()),
        (
            "",
            (
                f"select e.id, c.id as click {EVENTS} as e join {{{{ source('web', 'clicks') }}}} as c "
                "on c.user = e.user and c.at between e.at and e.at + interval 1 hour"
            ),
            JOINED,
        ),
    ],
)
def test_only_a_state_that_has_the_time_does_not_fit(tmp_path, options, sql, reasons, profiles):
    config = "{{{{ config(materialized='sink', unbounded_state='accept', {}) }}}} {}"
    without_times = "timestamp='processing_time'"
    before = signature_of(
        tmp_path / "before",
        config.format(f"{options}, {without_times}" if options else without_times, sql),
        profiles,
    )
    after = signature_of(tmp_path / "after", config.format(options, sql), profiles)
    decided = compare_signatures(before, after)
    if profiles == PROFILES:
        assert decided.reasons == reasons
    assert decided.kind == ("rebuild" if reasons else "same"), decided


@pytest.mark.parametrize(
    ("options", "bypassed"),
    [
        ("", True),
        ("timestamp='at', ", False),
        ("timestamp='processing_time', ", False),
        ("topic_config={'message.timestamp.type': 'LogAppendTime'}, ", False),
    ],
)
def test_rows_are_taken_before_they_are_written_only_if_they_have_the_time_of_their_records(
    tmp_path, options, bypassed
):
    first = f"{{{{ config(materialized='sink', {options}key='id') }}}} select id, kind, at {EVENTS}"
    second = (
        "{{ config(materialized='sink', key='id') }} select id, upper(kind) as kind from {{ ref('first') }}"
    )
    plan = compiled_topology(compiled(tmp_path, first=first, second=second)).optimized.plan
    read = {
        topic for node in plan.order for topic in getattr(node, "topics", ()) if isinstance(node, TopicScan)
    }
    assert read == ({"events"} if bypassed else {"events", "first"})
