"""Notifications of a run, sent to a real HTTP server and a real program."""

import json
import re
import sys
import textwrap
import time
from pathlib import Path
from typing import get_args

import pytest
from support.receiving import receiving
from support.shops import Shop

from millstream.compile import compile_project
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.values import (
    BatchCompleted,
    DataTested,
    DiagnosticEvent,
    LeftOut,
    QueryFailed,
    QueryIdle,
)
from millstream.engine.queries.batch_result import BatchResult
from millstream.engine.queries.query_results import RecordCounts
from millstream.ops.metrics import RunIdentity
from millstream.ops.notifications import sending
from millstream.ops.notifications.notices import Notices
from millstream.ops.notifications.sending import send_notices
from millstream.project.load import load_project
from millstream.project.secrets import Secret
from millstream.project.target_shapes import NoticeKind
from millstream.project.values import Target

DIAGNOSTIC = Diagnostic("MS868", "1 / 0 <b> & more", None, "guard it")
FAILED = QueryFailed("totals", DIAGNOSTIC, 1, 1.0)
WORKS = BatchCompleted("totals", BatchResult(1, 10, 1.0))
FAILS_TEST = DataTested(NodeId("test", "unique_m"), passed=False, message="3 rows", kind="unique")
NOT_FRESH = DataTested(NodeId("test", "fresh"), passed=False, message="too old", kind="freshness")


def counted(**counts):
    by_id = {
        fate: {NodeId.parse(id_ if "." in id_ else f"model.{id_}"): rows for id_, rows in numbers.items()}
        for fate, numbers in counts.items()
    }
    return BatchCompleted("totals", BatchResult(1, 10, 1.0, counts=RecordCounts(**by_id)))


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([WORKS, QueryIdle("totals"), DataTested(NodeId("test", "m"), passed=True)], []),
        ([FAILED, FAILED, FAILED], ["failed"]),
        ([FAILED, WORKS, WORKS], ["failed", "recovered"]),
        ([FAILED, QueryIdle("totals"), WORKS], ["failed", "recovered"]),
        # Within the interval, neither the same failure nor the end of it is worth another notice.
        ([FAILED, WORKS, FAILED, WORKS], ["failed", "recovered"]),
        ([FAILED, QueryFailed("totals", Diagnostic("MS861", "x"), 2, 2.0)], ["failed", "failed"]),
        ([FAILED, QueryFailed("others", DIAGNOSTIC, 1, 1.0), WORKS], ["failed", "failed", "recovered"]),
        ([LeftOut("totals", NodeId("model", "m"), DIAGNOSTIC), LeftOut("totals", NodeId("model", "m"), DIAGNOSTIC)], ["left_out"]),
        ([counted(dead_letters={"source.web.events": 2}), counted(dead_letters={"m": 1})], ["dead_letters"] * 2),
        ([counted(tests={"test.not_null_m_id": 2})] * 3, ["test_violated"]),
        ([FAILS_TEST, FAILS_TEST, DataTested(NodeId("test", "unique_m"), passed=True)], ["test_violated", "recovered"]),
        ([NOT_FRESH], ["freshness_missed"]),
    ],
)  # fmt: skip
def test_each_cause_has_one_notice(events, text):
    notices = Notices(every=3600.0)
    assert [notice.event for event in events for notice in notices.of(event)] == text


def test_a_cause_is_repeated_after_the_interval_with_all_rows_since():
    notices = Notices(every=0.3)
    letters = counted(dead_letters={"m": 2})
    first, *none = [notice.rows for _ in range(3) for notice in notices.of(letters)]
    assert (first, none) == (2, [])
    time.sleep(0.4)
    assert [notice.rows for notice in notices.of(letters)] == [6]


def test_only_chosen_events_have_notices():
    notices = Notices(every=3600.0, kinds=["recovered"])
    assert [notice.event for event in (FAILED, WORKS) for notice in notices.of(event)] == ["recovered"]
    assert notices.of_end(DIAGNOSTIC) == []


@pytest.fixture
def receiver():
    with receiving() as server:
        yield server


def told_by(events, *notifications):
    target = Target("shop", "production", {"notifications": list(notifications)})
    return send_notices(target, RunIdentity("shop", "production"), events.append)


def webhook(receiver, **more):
    return {"webhook": Secret(receiver.url), **more}


def warnings(events):
    return [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)]


def test_slack_gets_a_text(receiver):
    events = []
    with told_by(events, webhook(receiver)) as tell:
        tell(FAILED)
        assert receiver.next() == {
            "text": "shop (production): query totals failed: MS868: 1 / 0 &lt;b&gt; &amp; more"
        }
    assert events == [FAILED]


def test_a_program_gets_all_fields_as_json(receiver):
    with told_by([], webhook(receiver, format="json", on=["failed"])) as tell:
        tell(FAILED)
        tell(WORKS)
        message = receiver.next()
    assert message.pop("time").startswith("20")
    assert message == {
        "event": "failed", "project": "shop", "target": "production", "query": "totals", "code": "MS868",
        "text": "shop (production): query totals failed: MS868: 1 / 0 <b> & more", "help": "guard it",
    }  # fmt: skip
    assert receiver.received.empty()


def test_a_command_reads_json_from_stdin(tmp_path):
    out = tmp_path / "a b; touch c"
    code = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.stdin.read())"
    events = []
    with told_by(events, {"command": [sys.executable, "-c", code, str(out)], "on": []}) as tell:
        tell(FAILED)
    assert json.loads(out.read_text())["query"] == "totals"
    assert list(tmp_path.iterdir()) == [out]
    assert events == [FAILED]


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(sending, "AGAIN", (0.01, 0.01))


def test_a_failure_is_reported_once_until_one_is_sent_again(receiver, impatient):
    events = []
    receiver.status = 404
    with told_by(events, webhook(receiver, every="1 millisecond")) as tell:
        for expected in (404, 404, 200, 404):
            receiver.status = expected
            time.sleep(0.002)
            tell(FAILED)
            for _ in range(1 if expected == 200 else 3):
                receiver.next()
    diagnostics = warnings(events)
    assert [diagnostic.message for diagnostic in diagnostics] == [
        "a notification was not sent: the webhook: it answered with status 404"
    ] * 2
    assert {(diagnostic.code, diagnostic.severity) for diagnostic in diagnostics} == {("MS850", "warning")}


@pytest.mark.parametrize(
    ("notification", "why"),
    [
        ({"webhook": Secret("http://127.0.0.1:9/services/hidden")}, "the webhook: Connection refused"),
        ({"webhook": Secret("http://127.0.0.1:9/services hidden\n")}, "the webhook: InvalidURL"),
        ({"command": ["/nowhere/at all"]}, "the command /nowhere/at all: No such file or directory"),
        ({"command": [sys.executable, "-c", "exit(3)"]}, f"the command {sys.executable}: it ended with exit code 3"),
    ],
)  # fmt: skip
def test_what_can_go_wrong_is_said_without_the_address(notification, why, impatient):
    events = []
    with told_by(events, notification) as tell:
        tell(FAILED)
    assert [warning.message for warning in warnings(events)] == [f"a notification was not sent: {why}"]
    assert "hidden" not in repr(events)


def test_a_redirect_is_not_followed(receiver, impatient):
    receiver.status = 302
    events = []
    with told_by(events, webhook(receiver)) as tell:
        tell(FAILED)
        assert [receiver.next()["text"][:4] for _ in range(3)] == ["shop"] * 3
    assert receiver.received.empty()
    assert "status 302" in warnings(events)[0].message


def test_a_webhook_that_hangs_does_not_slow_the_run_nor_its_end(receiver, monkeypatch):
    monkeypatch.setattr(sending, "CLOSING", 0.5)
    receiver.may_answer.clear()
    events, began = [], time.monotonic()
    with told_by(events, webhook(receiver)) as tell:
        for number in range(sending.MOST + 50):
            tell(QueryFailed(f"q{number}", DIAGNOSTIC, 1, 1.0))
    assert time.monotonic() - began < 8, "shorter than the 10 seconds that a delivery may take"
    (warning,) = warnings(events)
    assert warning.message.endswith("100 notifications are waiting already")


def test_what_is_queued_is_sent_when_the_run_stops(receiver):
    receiver.may_answer.clear()
    events = []
    with told_by(events, webhook(receiver)) as tell:
        for number in range(5):
            tell(QueryFailed(f"q{number}", DIAGNOSTIC, 1, 1.0))
        receiver.next()
        receiver.may_answer.set()
    rest = [receiver.next()["text"] for _ in range(4)]
    assert [text.split()[3] for text in rest] == ["q1", "q2", "q3", "q4"]
    assert warnings(events) == []


def test_an_error_that_ends_the_run_is_sent(receiver):
    lost = Diagnostic("MS883", f"the JVM died; see {receiver.url}")
    with pytest.raises(MillstreamError), told_by([], webhook(receiver)):
        raise MillstreamError(lost)
    assert receiver.next() == {"text": "shop (production): the run ended: MS883: the JVM died; see ****"}
    with pytest.raises(KeyError), told_by([], webhook(receiver)):
        raise KeyError("x")
    assert receiver.next()["text"].endswith("the run ended: MS900: internal error in Millstream: KeyError")
    with told_by([], webhook(receiver)):
        pass
    assert receiver.received.empty()


PROFILES = """
    shop:
      outputs:
        local:
          master: local[2]
          kafka: embedded
          notifications:
            - {}
"""


@pytest.mark.parametrize(
    ("notification", "message"),
    [
        ("{webhook: \"{{ env_var('HOOK') }}\", format: json, on: [failed, ended], every: 5 minutes}", None),
        ("{command: [page, --team, data]}", None),
        ("{webhook: 'https://hooks.example/T0/hidden'}", "MS113: 'webhook' contains a secret in plain text"),
        ("{format: json}", "MS107: a notification needs either 'webhook' or 'command'"),
        ("{webhook: \"{{ env_var('HOOK') }}\", command: [page]}", "MS107: a notification needs either"),
        ("{command: [page], format: json}", "MS107: 'format' is for webhooks"),
        ("{webhook: \"{{ env_var('WRONG') }}\"}", "MS107: 'webhook' is not an http or https address"),
        ("{command: [curl, \"{{ env_var('HOOK') }}\"]}", "MS113: 'command' can't have values of the environment"),
        ("{command: [page], on: [broke]}", "MS107: "),
        ("{command: \"{{ env_var('HOOK') }}\"}", "MS107: "),
        ("{webhook: \"{{ env_var('HOOK') }}\", on: [\"{{ env_var('HOOK') }}\"]}", "MS107: "),
        ("{slack: x}", "MS106: unknown key 'slack'"),
    ],
)  # fmt: skip
def test_profiles(tmp_path, monkeypatch, notification, message):
    monkeypatch.setenv("HOOK", "https://hooks.example/T0/hidden")
    monkeypatch.setenv("WRONG", "file:///hidden")
    shop = Shop(tmp_path, "")
    shop.write("profiles.yml", PROFILES.format(notification))
    diagnostics = compile_project(tmp_path, use_cache=False).diagnostics
    text = [
        f"{diagnostic.code}: {diagnostic.message}"
        for diagnostic in diagnostics
        if diagnostic.location.path == "profiles.yml"
    ]
    assert [line[: len(message or "")] for line in text[:1]] == ([message] if message else []), text
    assert "hidden" not in repr(diagnostics)
    if message is None:
        assert "hidden" not in repr(load_project(tmp_path, None, None, None))


def test_the_example_of_the_guide_is_accepted_and_lists_all_events(tmp_path, monkeypatch):
    guide = (Path(__file__).parents[3] / "docs/running.md").read_text()
    section = guide.partition("## Notifications")[2].partition("\n## ")[0]
    (example,) = re.findall(r"```yaml\nproduction:\n(.*?)```", section, re.DOTALL)
    monkeypatch.setenv("SLACK_WEBHOOK", "https://hooks.example/T0/hidden")
    shop = Shop(tmp_path, "")
    shop.write("profiles.yml", "\nshop:\n  outputs:\n    local:\n" + textwrap.indent(example, "    "))
    assert compile_project(tmp_path, use_cache=False).diagnostics == ()
    notifications = load_project(tmp_path, None, None, None).target.settings["notifications"]
    assert [notification.get("command") for notification in notifications] == [
        [],
        ["/usr/local/bin/page", "--team", "data"],
    ]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(get_args(NoticeKind))
