"""Options that decide which rows a table keeps: its rows, and those of its readers, are others after an edit."""

import pytest
from support.reviews import reviewed

from millstream.compile import compile_project
from millstream.review.deployment import untouched_columns

EVENTS = "{{ source('shop', 'events') }}"
MODELS = {
    "newest": "{{ config(materialized='table', unique_key='user_id') }} select user_id, type, amount, at from " + EVENTS,
    "types": "{{ config(materialized='table', unique_key='type') }} select type, sum(amount) as total from {{ ref('newest') }} group by type",
}  # fmt: skip
KEY = "unique_key='user_id'"


def options(*more):
    return {"newest": MODELS["newest"].replace(KEY, ", ".join((KEY, *more)))}


ORDER, HOURS, DAYS, DELETE = (
    "order_by='at'",
    "retention='5 hours'",
    "retention='5 days'",
    "delete_when='amount < 0'",
)
EDITS = {
    "first retention": ([ORDER], [ORDER, HOURS], "rows are kept for 5 hours instead of forever; older rows would stay until"),
    "shorter retention": ([ORDER, DAYS], [ORDER, HOURS], "rows are kept for 5 hours instead of 5 days; older rows would stay until"),
    "longer retention": ([ORDER, HOURS], [ORDER, DAYS], "rows are kept for 5 days instead of 5 hours; rows that were removed would stay"),
    "no retention": ([ORDER, HOURS], [ORDER], "rows are kept forever instead of 5 hours; rows that were removed would stay"),
    "delete_when added": ([], [DELETE], "rows changed; "),
    "delete_when changed": ([DELETE], [DELETE.replace("0", "1")], "rows changed; "),
    "delete_when removed": ([DELETE], [], "rows changed; "),
    "order_by added": ([], [ORDER], "rows changed; "),
    "order_by changed": ([ORDER], ["order_by='amount'"], "rows changed; "),
    "order_by removed": ([ORDER], [], "rows changed; "),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_stored_rows_and_those_of_readers_change(tmp_path, name):
    before, after, reason = EDITS[name]
    report = reviewed(tmp_path, {**MODELS, **options(*before)}, options(*after))
    (changed,) = report.queries
    assert changed.status == "stored"
    assert reason in " ".join(changed.reasons)
    nodes = {node.id: node for node in report.nodes}
    table, reader = nodes["model.newest"], nodes["model.types"]
    assert (table.status, table.parts, table.rows) == ("changed", ("configs", "state"), True)
    assert (reader.status, reader.because, reader.rows) == ("affected", ("model.newest",), True)
    assert untouched_columns(report, compile_project(tmp_path / "new"))["model.newest"] == ()


def test_versions_kept_for_a_shorter_time(tmp_path):
    first = {"newest": MODELS["newest"].replace(KEY, f"{KEY}, order_by='at', versions='5 days'"), "types": ""}
    report = reviewed(tmp_path, first, {"newest": first["newest"].replace("5 days", "5 hours")})
    assert [change.status for change in report.queries] == ["stored"]
    report = reviewed(tmp_path, first, {"newest": first["newest"].replace("5 days", "all")})
    assert [change.status for change in report.queries] == ["stored"]
