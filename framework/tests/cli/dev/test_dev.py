"""`millstream dev`: what a round says of an edit, and that the newest state is what is shown last."""

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli.dev.conftest import FILES, MODEL, replace
from support.warm_sessions import sessions_of

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="needs flock"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
GUIDE = Path(__file__).parents[4] / "docs/dev.md"


def codes(events):
    return [error["code"] for error in events["compiled"]["diagnostics"]]


def test_what_is_wrong_is_told_until_it_is_right(project, start):
    with sessions_of(project) as sessions:
        sessions.start()  # rounds then need not import anything
        _edit(project, start(project, environment=sessions.environment))


def _edit(project, dev):
    clicks = project / "models/clicks.sql"
    assert dev.round()["done"]["exit_code"] == 0

    # An editor that saves in place, one that renames, and several files at once.
    clicks.write_text(MODEL.format(extra=", nothing", least=1))
    broken = dev.round()
    assert (broken["round"]["files"], codes(broken)) == (["models/clicks.sql"], ["MS402"])
    assert broken["compiled"]["diagnostics"][0]["line_text"].startswith(
        "select c.user, c.id, c.price, nothing"
    )
    replace(clicks, FILES["models/clicks.sql"])
    (project / "macros/least.sql").write_text("{% macro least_id() %}3\n")
    broken = dev.round()
    assert broken["done"]["exit_code"] == 2
    assert {error["path"] for error in broken["compiled"]["diagnostics"]} >= {"macros/least.sql"}
    replace(project / "macros/least.sql", FILES["macros/least.sql"])
    assert codes(dev.round()) == []

    # What ends a compile before it begins.
    for file in (project / "pyproject.toml", project / "profiles.yml"):
        text = file.read_text()
        file.write_text("{[")
        assert dev.round()["done"]["exit_code"] == 2
        replace(file, text)
        assert dev.round()["done"]["exit_code"] == 0

    # A rename, whose reader is wrong until it is edited too; and a model that is removed.
    clicks.rename(project / "models/hits.sql")
    assert "MS2" in codes(dev.round())[0]
    (project / "models/hits.sql").rename(clicks)
    assert codes(dev.round()) == []
    (project / "models/expensive.sql").unlink()
    assert dev.round()["reviewed"]["removed"] == ["expensive"]

    # A save in the middle of a round: the last round is that of the newest files.
    for number in range(6):
        clicks.write_text(MODEL.format(extra=f", nothing_{number}", least=1))
        dev.until(lambda event: event["event"] == "round")
    (error,) = dev.round()["compiled"]["diagnostics"]
    assert "nothing_5" in error["message"]
    assert dev.stop() == (0, "")


@pytest.fixture
def one_round(run, project, first_spark):
    """Do a round in the Spark of the tests, and return its events by name; rows by model."""
    from millstream.cli.dev.events import from_line

    def call(*arguments):
        result = run("dev", "--once", "--output", "json", "--project-dir", str(project), *arguments)
        events = [from_line(line) for line in result.out.splitlines()]
        by_name = {type(event).__name__: event for event in events}
        return result.code, by_name, {event.model: event for event in events if hasattr(event, "model")}

    return call


def test_an_edit_has_its_rows_its_tests_and_its_effect_on_queries(one_round, project):
    assert one_round("--first")[0] == 0
    (project / "models/clicks.sql").write_text(MODEL.format(extra=", c.id * 2 as twice", least=2))
    code, events, rows = one_round("--sample", "10", "--limit", "2")
    reviewed, (test,) = events["EditReviewed"], events["TestsEnded"].results
    assert (reviewed.summary, reviewed.rebuilds, reviewed.changed) == (
        "rebuilds 1 query, keeps 0", ("counts",), ("clicks", "expensive", "counts"),
    )  # fmt: skip
    assert (test.status, code) == ("fail", 1)
    clicks, counts, expensive = (rows[name].changes for name in ("clicks", "counts", "expensive"))
    assert (clicks["same"], clicks["removed"], clicks["new_columns"]) == (8, 1, ["twice"])
    assert clicks["rows"] == [
        {"before": {"user": "ann", "id": 1, "price": 1}, "after": None, "columns": []}
    ]  # fmt: skip
    assert (counts["changed"], counts["same"]) == (1, 1)
    assert [change["columns"] for change in counts["rows"]] == [["clicks"]]
    assert (expensive["same"], expensive["removed"], rows["expensive"].total) == (7, 0, 7)
    assert len(rows["clicks"].rows) == 2

    # The failing test runs again until it passes; a comment changes nothing, and its model is shown.
    (project / "models/counts.sql").write_text(FILES["models/counts.sql"] + "-- a comment\n")
    code, events, rows = one_round("--sample", "10")
    assert (events["EditReviewed"].summary, [*rows]) == ("keeps 1 query", ["counts"])
    assert (events["TestsEnded"].results[0].status, rows["counts"].changes["same"], code) == ("fail", 2, 1)
    test = project / "tests/units.yml"
    test.write_text(test.read_text().replace("[{id: 1}, {id: 2}]", "[{id: 2}]"))
    code, events, rows = one_round("--sample", "10")
    assert (events["TestsEnded"].results[0].status, rows, code) == ("pass", {}, 0)


def test_an_edited_function_has_other_rows(one_round, project):
    (project / "macros/shares.py").write_text("def share(value: int) -> int:\n    return value + 1\n")
    (project / "models/clicks.sql").write_text(MODEL.format(extra=", share(c.id) as part", least=1))
    assert one_round("--first")[0] == 0
    (project / "macros/shares.py").write_text("def share(value: int) -> int:\n    return value + value % 2\n")
    _, events, rows = one_round("--sample", "5", "--limit", "1")
    assert (
        events["EditReviewed"].changed == ("clicks", "expensive")
        or "clicks" in events["EditReviewed"].changed
    )
    changes = rows["clicks"].changes
    assert (changes["same"], changes["changed"]) == (2, 2)
    assert changes["rows"][0]["columns"] == ["part"]


def test_the_package_that_hears_of_saved_files_is_missing(project, monkeypatch, run):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    monkeypatch.delitem(sys.modules, "millstream.cli.dev.watch", raising=False)
    done = run("dev", "--project-dir", str(project))
    assert (done.code, "MS714" in done.err, "millstream[dev]" in done.err) == (2, True, True)


@pytest.mark.long
def test_a_terminal_shows_rounds_of_a_new_project(tmp_path):
    root = tmp_path / "bistro"
    millstream = (sys.executable, "-m", "millstream")
    subprocess.run([*millstream, "init", str(root)], check=True, capture_output=True)
    master, slave = pty.openpty()
    with sessions_of(root) as sessions:
        command = subprocess.Popen(
            [*millstream, "dev", "--limit", "2"], cwd=root, stdin=slave, stdout=slave, stderr=slave,
            env=sessions.environment | {"COLUMNS": "80", "NO_COLOR": "1"}, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        try:
            _read_rounds(root, master)
        finally:
            os.killpg(command.pid, signal.SIGINT)
            assert command.wait(60) == 0
            os.close(master)
    assert not (root / ".millstream/broker").exists()


def _read_rounds(root, terminal):
    shown = ""

    def until(text):
        nonlocal shown
        while text not in shown:
            shown += os.read(terminal, 65536).decode()
        before, _, shown = shown.partition(text)
        return before

    until("Watching bistro: save a file to see what changes. Ctrl-C ends.")
    model = root / "models/staging/stg_orders.sql"
    replace(model, model.read_text().replace("quantity > 0", "quantity > 1"))
    until("this edit rebuilds 2 queries, keeps 1 (before the edit)")
    # The lines of docs/dev.md, except for times.
    for line in re.findall(r"^✓ (\w+: .+?)  +[\d.]+ s$", GUIDE.read_text(), re.MULTILINE):
        assert max(map(len, until(line).splitlines()), default=0) <= 80
