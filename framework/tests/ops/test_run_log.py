"""The log of a run: its limits, and what is masked in it."""

import json

import pytest
from support.runs import job_of
from support.shops import Shop

from millstream.cli.output import OutputStyle
from millstream.cli.run_progress import run_progress
from millstream.core.node_id import NodeId
from millstream.deploy.values import BatchCompleted, FunctionLogged, LineLogged, MachineUsage, QueryRunning
from millstream.engine.queries.batch_result import BatchResult
from millstream.ops.query_status import RunTotals
from millstream.ops.run_log import MINUTE, OF_FUNCTION, RunLog
from millstream.project.secrets import Secret
from millstream.project.values import Target


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class Log:
    """A run's log and what it passed on."""

    def __init__(self, root, **settings):
        shop = Shop(root, "")
        shop.model(
            "plain", "{{ config(materialized='sink') }} select id, kind from {{ source('web', 'events') }}"
        )
        shop.write("models/plain.yml", "models: [{name: plain, log: {per_minute: 3, level: debug}}]")
        (self.query,) = job_of(root).physical.queries
        self.events, self.clock = [], Clock()
        self.log = RunLog(Target("shop", "local", settings), self.events.append, self.clock)

    def batch(self, *texts, rows=None, rebuilding=False):
        """Tell of a batch with logged rows, and return the new lines."""
        self.log.tell(QueryRunning(self.query, rebuilding))
        logs = {NodeId("model", "plain"): (rows or len(texts), list(texts))}
        return self.lines(BatchCompleted(self.query.name, BatchResult(0, 1, 1.0, logs=logs)))

    def lines(self, event):
        del self.events[:]
        self.log.tell(event)
        return [event for event in self.events if isinstance(event, LineLogged)]


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path, password=Secret('hush "hush"'))


def test_rows_above_the_limit_of_a_minute_are_counted(log):
    assert len(log.batch('{"id":1}', '{"id":2}')) == 2
    assert [line.data for line in log.batch('{"id":3}', '{"id":4}', rows=10)] == [
        {"model": "plain", "row": {"id": 3}}
    ]
    assert log.batch('{"id":5}') == []
    log.clock.now += MINUTE
    (left_out,) = log.lines(MachineUsage())
    assert left_out == LineLogged(
        "warning", "plain: 10 more in this minute, above the limit", {"model": "plain", "left_out": 10}
    )
    assert len(log.batch('{"id":6}')) == 1
    assert log.lines(MachineUsage()) == []


def test_what_was_left_out_last_is_said_at_the_end(log):
    log.batch('{"id":1}', rows=5)
    del log.events[:]
    log.log.close()
    assert [line.data for line in log.events] == [{"model": "plain", "left_out": 4}]


def test_functions_have_a_limit_and_workers_count_what_they_left_out(log):
    record = FunctionLogged("f", ("plain",), "info", "x")
    assert sum(len(log.lines(record)) for _ in range(OF_FUNCTION + 5)) == OF_FUNCTION
    log.lines(FunctionLogged("f", ("plain",), "info", "x", left_out=20))
    log.clock.now += MINUTE
    (left_out,) = log.lines(MachineUsage())
    assert left_out.data == {"function": "f", "left_out": 26}


def test_a_rebuild_logs_no_rows(log):
    assert log.batch('{"id":1}', rebuilding=True) == []


def test_secrets_are_masked_also_in_json(log, monkeypatch):
    row, position = {"kind": 'a hush "hush" b'}, "events-2-17"
    (line,) = log.batch(f"{position} {json.dumps(row)}")
    assert line.data == {
        "model": "plain", "topic": "events", "partition": 2, "offset": 17, "row": {"kind": "a **** b"},
    }  # fmt: skip
    assert (line.level, line.text) == ("debug", 'plain events-2-17: {"kind": "a **** b"}')
    message = FunctionLogged(
        "f", ("plain",), "info", 'hush "hush"', exception='E: hush "hush"', location={"user": 'hush "hush"'}
    )
    (line,) = log.lines(message)
    assert line.text == "f() of plain, user ****: ****: E: ****"
    assert line.data["key"] == {"user": "****"}
    assert "hush" not in repr(line)


def test_secrets_of_the_environment_are_masked(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_API_KEY", "abracadabra")
    (line,) = Log(tmp_path).lines(FunctionLogged("f", (), "info", "with abracadabra"))
    assert line.data["message"] == "with ****"


def test_a_row_that_was_cut_is_text(log):
    (line,) = log.batch('events-0-1 {"kind":"xxx…')
    assert line.data["cut"] == '{"kind":"xxx…'


def test_topics_with_dashes_keep_their_name(log):
    (line,) = log.batch("a-b-3-4 {}")
    assert line.data == {"model": "plain", "topic": "a-b", "partition": 3, "offset": 4, "row": {}}


@pytest.mark.parametrize("as_json", [True, False])
def test_the_commands_output(log, as_json, capfd):
    (line,) = log.batch('events-0-1 {"kind":"\\u001b[31mred [bold]"}')
    with run_progress(OutputStyle(json=as_json), RunTotals()) as progress:
        progress.handle(line)
    shown = capfd.readouterr()
    if as_json:
        output = json.loads(shown.out)
        assert output.pop("time")
        assert output == {
            "event": "log", "level": "debug", "model": "plain", "topic": "events", "partition": 0, "offset": 1,
            "row": {"kind": "\x1b[31mred [bold]"},
        }  # fmt: skip
    else:
        assert 'DEBUG plain events-0-1: {"kind":"\\u001b[31mred [bold]"}' in shown.out + shown.err
