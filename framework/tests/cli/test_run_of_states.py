"""What `run` says of states: what expired, and how long loading took, as text, as JSON and as metrics."""

import json

import pytest

from millstream.cli.output import OutputStyle
from millstream.cli.run_progress import RunProgress
from millstream.core.node_id import NodeId
from millstream.deploy.values import BatchCompleted, QueryRunning, QueryWaiting
from millstream.engine.queries.batch_result import BatchResult
from millstream.ops.metrics import RunIdentity, expose_metrics
from millstream.ops.query_status import RunTotals
from millstream.outputs.kinds import Sink
from millstream.queries.values import (
    MemoryEstimate,
    Query,
    QuerySignature,
    SinkOutput,
    StatefulOperator,
    ToKafka,
)
from millstream.results.state_sizes import OperatorState

QUERY = Query(
    name="visits", kind="stateful", models=(NodeId("model", "visits"),), sources=(), reads=(), steps=(), sql="",
    deliver=ToKafka((SinkOutput(NodeId("model", "visits"), Sink("visits")),)), output_mode="append", memory=MemoryEstimate(None, ""),
    signature=QuerySignature((), (StatefulOperator("visits", "stateful", (), models=(NodeId("model", "visits"),)),)),
)  # fmt: skip
LOADED = {
    "rocksdbNumLoadedFromDfs": 4,
    "rocksdbLoadLatencyMs": 1500,
    "rocksdbSstFileSize": 81_400_000,
}
BATCHES = (
    BatchResult(
        4, 10, 1.0, operators=(OperatorState("transformWithState", 5, 50, expired=3, figures=LOADED),)
    ),
    BatchResult(5, 0, 1.0, operators=(OperatorState("transformWithState", 4, 50, expired=1),)),
    BatchResult(6, 0, 1.0, operators=(OperatorState("transformWithState", 4, 50),)),
)
ENDED = (
    "stopped after 10 rows; all completed batches are saved, and the next run continues; "
    "4 keys of state expired: visits"
)


@pytest.mark.parametrize("as_json", [False, True])
def test_what_expired_and_what_was_loaded_is_said(capfd, as_json):
    totals = RunTotals()
    progress = RunProgress(OutputStyle(color=False, json=as_json, quiet=False), totals)
    for event in (
        QueryWaiting(QUERY),
        QueryRunning(QUERY),
        *(BatchCompleted("visits", batch) for batch in BATCHES),
    ):
        progress.handle(event)
    progress.show_end()
    progress.console.file.close()
    message = capfd.readouterr()
    if as_json:
        lines = {event["event"]: event for event in map(json.loads, message.out.splitlines())}
        assert lines["ended"]["expired"] == [{"operator": "stateful", "models": ["model.visits"], "rows": 4}]
        assert (lines["restored"]["bytes"], lines["restored"]["seconds"]) == (81_400_000, 1.5)
    else:
        assert [line[9:] for line in message.err.splitlines()] == [
            "visits is running",
            "visits: state of 81.4 MB loaded in 1.5 s, all stores together",
            "visits: 10 rows in 1.0 s, 10/s, 3 keys of state expired",
            "visits: 0 rows in 1.0 s, 0/s, 1 key of state expired",
            ENDED,
        ]
    metrics = expose_metrics(totals, RunIdentity("shop", "local"))[0].decode().splitlines()
    labels = '{query="visits",step="0 transformWithState"}'
    assert f"millstream_expired_rows_total{labels} 4.0" in metrics
    assert f"millstream_state_restore_seconds{labels} 1.5" in metrics


def test_the_last_late_rows_are_said_at_the_end(capfd):
    progress = RunProgress(OutputStyle(color=False, json=True, quiet=False), RunTotals())
    late = (BatchResult(number, 10, 1.0, watermark="10:00", late=number) for number in (1, 2, 3))
    for event in (QueryWaiting(QUERY), QueryRunning(QUERY), *(BatchCompleted("visits", one) for one in late)):
        progress.handle(event)
    progress.show_end()
    progress.console.file.close()
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["rows"] for line in lines if line["event"] == "late"] == [1, 5]
    assert lines[-1]["event"] == "ended"
