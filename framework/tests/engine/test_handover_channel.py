"""Commands reach the run of a target, and nobody else does."""

import json
import socket
import threading

import pytest

from millstream import __version__
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import TIMESTAMP
from millstream.deploy.handover.channel import listen_for_requests, run_of
from millstream.deploy.handover.client import request_deploy, request_ranges
from millstream.deploy.handover.values import (
    DeployFinished,
    ProjectVersion,
    RangeReport,
    StepReport,
    TableComparison,
)
from millstream.deploy.planning.intents import Apply, Update
from millstream.deploy.values import RangeReplaced, SetupStep, TableCompared
from millstream.engine.spark.target_lock import target_lock
from millstream.plan.time_ranges import TimeRange
from millstream.project.values import Target
from millstream.queries.verdict import AcceptedModels

LOCAL = Target("shop", "local", {})
VERSION = ProjectVersion("/shop", "local", b"{}", "digest")
TOTALS = NodeId("model", "totals")
INTENT = Apply(
    {TOTALS: ["user"]},
    accepted=AcceptedModels(stored=frozenset({TOTALS})),
)
RANGES = {TOTALS: TimeRange("at", TIMESTAMP, "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00")}

COMPARED = TableCompared(TOTALS, ("user",), 2)
REPLACED = RangeReplaced(TOTALS, "at", "2026-01-01", "2026-01-02", 2, 1)


def address(root):
    return json.loads((root / ".millstream/local/run.json").read_text())


def test_a_request_arrives_as_it_was_sent_and_its_answers_come_back(tmp_path):
    requests, events = [], []

    def handle(request, caller):
        requests.append(request)
        caller.tell(StepReport("Spark", "4.2", done=True))
        caller.tell(TableComparison(COMPARED))
        return DeployFinished(("totals",), ("odd",))

    with target_lock(tmp_path / ".millstream/local", "local"), listen_for_requests(LOCAL, tmp_path, handle):
        assert request_deploy(run_of(LOCAL, tmp_path), VERSION, INTENT, events.append) == DeployFinished(
            ("totals",), ("odd",)
        )
        assert request_deploy(run_of(LOCAL, tmp_path), VERSION, None, events.append) == DeployFinished(
            ("totals",), ("odd",)
        )
        assert (tmp_path / ".millstream/local/run.json").stat().st_mode & 0o777 == 0o600
    assert requests[0].intent == INTENT
    assert requests[0].version == requests[1].version == VERSION
    assert events == [SetupStep("Spark", "4.2", done=True), COMPARED] * 2
    assert run_of(LOCAL, tmp_path) is None


def test_ranges_are_asked_for_and_what_was_replaced_comes_back(tmp_path):
    events = []

    def handle(request, caller):
        assert request.ranges == RANGES
        caller.tell(RangeReport(REPLACED))
        return DeployFinished()

    with target_lock(tmp_path / ".millstream/local", "local"), listen_for_requests(LOCAL, tmp_path, handle):
        request_ranges(run_of(LOCAL, tmp_path), b"{}", Update(ranges=RANGES), events.append)
    assert events == [REPLACED]


def test_only_one_command_at_a_time_and_its_end_is_noticed(tmp_path):
    began, gone = threading.Event(), threading.Event()

    def handle(_request, caller):
        began.set()
        while caller.waits:
            pass
        gone.set()
        raise MillstreamError(Diagnostic("MS890", "the command has ended", None, ""))

    with target_lock(tmp_path / ".millstream/local", "local"), listen_for_requests(LOCAL, tmp_path, handle):
        first = socket.create_connection(("127.0.0.1", address(tmp_path)["port"]))
        first.sendall(hello(address(tmp_path)["token"]))
        assert began.wait(10)
        with pytest.raises(MillstreamError, match="MS874: another apply"):
            request_deploy(run_of(LOCAL, tmp_path), VERSION, INTENT, lambda _: None)
        first.close()
        assert gone.wait(10)


def test_another_version_and_another_user_are_refused(tmp_path):
    def handle(_request, _caller):
        raise AssertionError

    with target_lock(tmp_path / ".millstream/local", "local"), listen_for_requests(LOCAL, tmp_path, handle):
        assert answered(tmp_path, hello("another")) == b""
        assert answered(tmp_path, b"GET / HTTP/1.1\r\n\r\n") == b""
        assert b"MS898" in answered(tmp_path, hello(address(tmp_path)["token"], "0.0.0"))
        assert json.loads(hello("x"))["millstream"] == __version__


def hello(token, version=__version__):
    version_sent = {"root": "/", "target": "local", "manifest": "", "contents": ""}
    request = {"type": "roll_back", "version": version_sent}
    return json.dumps({"token": token, "millstream": version, "request": request}).encode() + b"\n"


def answered(root, sent):
    with socket.create_connection(("127.0.0.1", address(root)["port"]), 10) as connection:
        connection.sendall(sent)
        return connection.makefile("rb").readline()
