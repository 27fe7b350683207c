"""What `run` says of tables over tables: keys touched, rows computed and changed, as text, as JSON and as metrics."""

import json

import pytest

from millstream.cli.output import OutputStyle
from millstream.cli.run_progress import RunProgress
from millstream.core.node_id import NodeId
from millstream.deploy.values import BatchCompleted, QueryRunning, QueryWaiting
from millstream.engine.queries.batch_result import BatchResult
from millstream.ops.metrics import RunIdentity, expose_metrics
from millstream.ops.query_status import RunTotals
from millstream.queries.values import MemoryEstimate, PerBatch, Query, QuerySignature
from millstream.results.run_results import TableChanges

QUERY = Query(
    name="kinds", kind="single", models=(NodeId("model", "kinds"),), sources=(), reads=(), steps=(), sql="",
    deliver=PerBatch("batch", ()), output_mode="update", memory=MemoryEstimate(None, ""), signature=QuerySignature((), ()),
)  # fmt: skip
BATCHES = (
    BatchResult(0, 0, 1.0, changes={"kinds": TableChanges(computed=2, inserted=2)}),
    BatchResult(1, 0, 1.0, changes={"kinds": TableChanges(touched=3, computed=2, updated=1, deleted=1)}),
    BatchResult(2, 0, 1.0, changes={"kinds": TableChanges(touched=1, computed=1)}),
    BatchResult(3, 0, 1.0, changes={"kinds": TableChanges()}),
)


@pytest.mark.parametrize("as_json", [False, True])
def test_what_a_batch_did_is_said(capfd, as_json):
    totals = RunTotals()
    progress = RunProgress(OutputStyle(color=False, json=as_json, quiet=False), totals)
    for event in (
        QueryWaiting(QUERY),
        QueryRunning(QUERY),
        *(BatchCompleted("kinds", batch) for batch in BATCHES),
    ):
        progress.handle(event)
    progress.console.file.close()
    message = capfd.readouterr()
    if as_json:
        lines = [event for event in map(json.loads, message.out.splitlines()) if event["event"] == "batch"]
        assert [event["changes"]["kinds"]["computed"] for event in lines] == [2, 2, 1]
        assert lines[1]["changes"]["kinds"] == {
            "touched": 3, "computed": 2, "inserted": 0, "updated": 1, "deleted": 1,
        }  # fmt: skip
    else:
        assert [line[9:] for line in message.err.splitlines()] == [
            "kinds is running",
            "kinds: all keys touched, 2 rows computed, 2 inserted in 1.0 s",
            "kinds: 3 keys touched, 2 rows computed, 1 updated, 1 deleted in 1.0 s",
            "kinds: 1 key touched, 1 row computed, nothing stored in 1.0 s",
        ]
    metrics = expose_metrics(totals, RunIdentity("shop", "local"))[0].decode().splitlines()
    labels = 'model="kinds",query="kinds"'
    assert f"millstream_touched_keys_total{{{labels}}} 4.0" in metrics
    assert f"millstream_computed_rows_total{{{labels}}} 5.0" in metrics
    for kind, rows in {"inserted": 2.0, "updated": 1.0, "deleted": 1.0}.items():
        assert f'millstream_changed_rows_total{{change="{kind}",{labels}}} {rows}' in metrics
