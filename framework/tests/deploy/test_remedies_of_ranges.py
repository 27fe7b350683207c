"""Which column chooses a range of a table's rows, and what is said where no range can be computed alone."""

from datetime import datetime, timezone

import pytest
from click.testing import CliRunner
from support.sql_plans import project

from millstream.cli.group import millstream
from millstream.compile import compile_project
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.planning.ranges import RequestedTimes, ranges_of
from millstream.project.load import load_project
from millstream.queries.topology import compiled_topology

EVENTS = "{{ source('shop', 'events') }}"
DAYS = tuple(datetime(2026, 1, day, tzinfo=timezone.utc) for day in (1, 2))
CLOSED = (
    "{{ config(materialized='table', emit='on_close'PARTITIONS) }} select COLUMNS, count(*) as n from "
    + EVENTS
)
HOURS = CLOSED + " group by type, window(at, '1 hour')"
SESSIONS = CLOSED + " group by type, session_window(at, '1 hour')"
START = "type, window.start as began"


def closed(sql, columns=START, partitions=""):
    return sql.replace("COLUMNS", columns).replace("PARTITIONS", partitions)


def table(columns, options="", of=EVENTS):
    return f"{{{{ config(materialized='table'{options}) }}}} select {columns} from {of}"


def range_in(root, times=DAYS, model="m", timezone_of_target=None):
    if timezone_of_target is not None:
        (root / "profiles.yml").write_text(
            f"shop: {{target: local, outputs: {{local: {{timezone: {timezone_of_target}}}}}}}\n"
        )
    compiled = compile_project(root, use_cache=False)
    assert [d for d in compiled.diagnostics if d.severity == "error"] == []
    project_of_models = load_project(root, None, None, None)
    models = frozenset({NodeId("model", model)})
    topology = compiled_topology(compiled)
    return ranges_of(topology, project_of_models, models, RequestedTimes(*times))[NodeId("model", model)]


COLUMNS = {
    "the event time of the source": (table("user_id, at"), "at"),
    "the event time under another name": (table("user_id, seen", of=f"(select user_id, at as seen from {EVENTS})"), "seen"),
    "the time that orders rows": (table("at, timestamp_millis(amount) as sent", ", order_by='sent', retention='1 day'"), "sent"),
    "a partition": (table("user_id, type, cast(at as date) as day", ", partition_by=['user_id', 'day']"), "day"),
    "the start of a window": (closed(HOURS), "began"),
    "the day of a window": (closed(HOURS, "type, cast(window.start as date) as day", ", partition_by='day'"), "day"),
    "an inner join": (
        table("e.user_id, h.path, e.at as at", of=EVENTS + " e join {{ source('shop', 'hits') }} h on e.user_id = h.visitor"),
        "at",
    ),
    "a dedupe of rows with their times": (table("user_id, at", ", dedupe={'keys': ['user_id', 'at']}"), "at"),
}  # fmt: skip
OF_EVENTS = (
    "the event time of the source",
    "the event time under another name",
    "the start of a window",
    "a dedupe of rows with their times",
)
"""Whose rows have the times of the events in their records: older records can't have rows of a range."""


@pytest.mark.parametrize("case", COLUMNS.values(), ids=COLUMNS)
def test_a_range_is_chosen_by_the_time_of_the_rows(tmp_path, case):
    sql, column = case
    part = range_in(project(tmp_path, {"m": sql}))
    assert part.column == column
    assert (part.records_since is not None) == (sql in [COLUMNS[name][0] for name in OF_EVENTS])
    of_day = ("2026-01-01", "2026-01-02")
    assert (part.start, part.end) == (
        of_day if column == "day" else tuple(f"{day}T00:00:00+00:00" for day in of_day)
    )


REBUILD = "compute all of its rows again: `millstream build --rebuild m+`; or leave it out: --exclude m"
REFUSED = {
    "a topic": ("MS640", "leave it out: --exclude m", "{{ config(materialized='sink') }} select user_id, at from " + EVENTS),
    "a table by key": ("MS640", REBUILD, table("user_id, at", ", unique_key='user_id', order_by='at'")),
    "a session": ("MS640", REBUILD, closed(SESSIONS, "type, session_window.start as began")),
    "a dedupe": ("MS640", REBUILD, table("user_id, at", ", dedupe={'keys': 'user_id'}")),
    "an outer join": (
        "MS640", REBUILD,
        table(
            "e.user_id, h.path, e.at as at",
            of=EVENTS + " e left join {{ source('shop', 'hits') }} h on e.user_id = h.visitor and h.seen between e.at and e.at + interval 1 hour",
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_model_whose_range_can_not_be_computed_alone_is_refused(tmp_path, case):
    code, remedy, sql = case
    diagnostic = refused(project(tmp_path, {"m": sql, "other": table("at")}))
    assert (diagnostic.code, diagnostic.help) == (code, remedy)
    assert str(diagnostic.location) == "models/m.sql:1:1"
    assert diagnostic.line == sql
    assert range_in(tmp_path, model="other").column == "at"


def test_a_table_over_tables_is_left_out_since_it_follows(tmp_path):
    of_other = "{{ config(materialized='table', unique_key='user_id', refresh='incremental') }} "
    of_other += "select user_id, count(*) as n from {{ ref('other') }} group by user_id"
    diagnostic = refused(project(tmp_path, {"m": of_other, "other": table("user_id, at")}))
    assert (diagnostic.code, diagnostic.help) == ("MS640", "leave it out: --exclude m")
    assert "'m' follows the tables that it reads" in diagnostic.message


EDITS = {
    "a table without a time": ("select the column that has the source's `watermark`", table("user_id"), table("user_id, at")),
    "a window without its start": (
        "or the start of its window (window.start)", closed(HOURS, "type, window.end as ended"), closed(HOURS, START + ", window.end as ended"),
    ),
    "a table without an event time": (
        "or set partition_by to a date", table("type, cast(at as date) as day"), table("type, cast(at as date) as day", ", partition_by='day'"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", EDITS.values(), ids=EDITS)
def test_a_table_without_a_time_gets_one_as_the_remedy_says(tmp_path, case):
    remedy, before, after = case
    diagnostic = refused(project(tmp_path, {"m": before}))
    assert (diagnostic.code, remedy in diagnostic.help) == ("MS641", True), diagnostic
    assert range_in(project(tmp_path, {"m": after}))


def test_days_are_those_of_the_target(tmp_path):
    root = project(tmp_path, {"m": table("type, cast(at as date) as day", ", partition_by='day'")})
    diagnostic = refused(root, timezone_of_target="Europe/Rome")
    assert (diagnostic.code, diagnostic.help) == ("MS641", "write days, such as --from 2026-01-01")
    assert "midnight in Europe/Rome" in diagnostic.message
    rome = tuple(datetime.fromisoformat(f"2026-01-{day:02}T00:00:00+01:00") for day in (1, 2))
    assert range_in(root, rome).start == "2026-01-01"


def test_a_source_that_can_not_be_read_again_is_refused(tmp_path):
    root = project(tmp_path, {"m": table("user_id, at")})
    sources = root / "models/sources.yml"
    written = sources.read_text()
    sources.write_text(written.replace("- name: events\n", "- name: events\n        starting: latest\n"))
    diagnostic = refused(root)
    assert (diagnostic.code, diagnostic.help) == (
        "MS640",
        "set `starting` of the source to 'earliest' or a time, to read it from there",
    )
    for start in ("earliest", "'2026-01-01 00:00:00'"):
        sources.write_text(
            written.replace("- name: events\n", f"- name: events\n        starting: {start}\n")
        )
        assert range_in(root).column == "at"


OPTIONS = {
    ("--from", "2026-01-01"): "a range needs both --from and --to",
    ("--from", "soon", "--to", "2026-01-02"): "'soon' is not a time",
    ("--from", "2026-01-02", "--to", "2026-01-02"): "--to 2026-01-02 is not after --from 2026-01-02",
    ("--from", "2026-01-01", "--to", "2026-01-02", "--rebuild", "m"): "compute all rows again",
    ("--accept-fewer-rows",): "--accept-fewer-rows needs --from and --to",
}


@pytest.mark.parametrize("options", OPTIONS, ids=OPTIONS.values())
def test_options_that_are_no_range_are_refused(tmp_path, options):
    root = project(tmp_path, {"m": table("user_id, at")})
    result = CliRunner().invoke(millstream, ["build", "--project-dir", str(root), *options])
    assert (result.exit_code, OPTIONS[options] in result.output) == (2, True), result.output


def refused(root, **options):
    with pytest.raises(MillstreamError) as error:
        range_in(root, **options)
    (diagnostic,) = error.value.diagnostics
    return diagnostic
