"""Progress that a build shows."""

import pytest
from msgspec.structs import replace
from rich.text import Text

from millstream.cli.build_progress import BuildProgress
from millstream.cli.build_summary import format_build_summary, phase_seconds
from millstream.cli.output import OutputStyle
from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.deploy.values import QueryStarted, RunEnded, SetupStep
from millstream.engine.queries.query_results import (
    QueryResult,
    RecordCounts,
    StateRows,
    rows_of_states,
    sum_of_states,
)
from millstream.outputs.kinds import Sink
from millstream.queries.values import (
    DeadLetters,
    MemoryEstimate,
    Query,
    QuerySignature,
    SinkOutput,
    StatefulOperator,
    ToKafka,
    TopicRead,
)
from millstream.results.run_results import ModelResult, RunResults, TableChanges
from millstream.results.test_results import TestResult
from millstream.testing.build_tests import EndedTests
from millstream.testing.outcomes import TestOutcome
from millstream.testing.styled_text import styled_line

QUERY = Query(
    name="events_topics", kind="stateless", models=(NodeId("model", "plain"),), sources=(), reads=(), steps=(), sql="",
    deliver=ToKafka((SinkOutput(NodeId("model", "plain"), Sink("plain")),)), output_mode="append", signature=QuerySignature((), ()),
    memory=MemoryEstimate(None, ""),
)  # fmt: skip


def test_skipped_records_are_shown_below_their_query(capfd):
    progress = BuildProgress(OutputStyle(color=False, json=False, quiet=False))
    counts = RecordCounts(
        {NodeId("source", "web.events"): 1200, NodeId("model", "plain"): 1}, {NodeId("source", "web.hits"): 2}
    )
    progress.handle(QueryStarted(QUERY))
    progress.handle(RunEnded(QueryResult("events_topics", "success", 5000, 1.5, counts=counts)))
    progress.console.file.close()
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].split() == ["✓", "plain", "5,000", "rows", "read", "1.5", "s"]
    assert lines[1:] == [
        "  1,200 records of web.events skipped: not decodable",
        "  1 record of plain skipped: a function failed",
        "  2 records of web.hits sent to dead letters: not decodable",
    ]


def lines_of(capfd, query, result):
    progress = BuildProgress(OutputStyle(color=False, json=False, quiet=False))
    progress.handle(QueryStarted(query))
    progress.handle(RunEnded(result))
    progress.console.file.close()
    return capfd.readouterr().err.splitlines()


def test_a_query_that_only_sends_dead_letters_shows_how_many(capfd):
    query = replace(
        QUERY, name="orders_dead_letters", deliver=ToKafka((DeadLetters(NodeId("source", "orders"), "bad"),))
    )
    counts = RecordCounts(dead_letters={NodeId("source", "orders"): 12})
    line, *more = lines_of(
        capfd, query, QueryResult("orders_dead_letters", "success", 10_000, 2.0, counts=counts)
    )
    assert line.split() == ["✓", "orders", "dead", "letters", "12", "dead", "letters", "2.0", "s"]
    assert more == ["  12 records of orders sent to dead letters: not decodable"]


def test_one_row_is_no_rows(capfd):
    (line,) = lines_of(capfd, QUERY, QueryResult("events_topics", "success", 1, 2.0))
    assert line.split() == ["✓", "plain", "1", "row", "read", "2.0", "s"]


def test_what_expired_is_shown_by_state(capfd):
    totals = StatefulOperator(
        "totals", "aggregate", (), models=(NodeId("model", "totals"), NodeId("model", "plain")), number=1
    )
    operators = (totals, replace(totals, kind="join", number=0))
    query = replace(QUERY, output_mode="update", signature=QuerySignature((), operators))
    assert rows_of_states(query, (0, 0)) == ()
    expired = rows_of_states(query, (1, 1204))
    assert [state.operator for state in expired] == ["join", "aggregate"]
    result = QueryResult("events_topics", "success", 5000, 1.5, expired=sum_of_states((*expired, *expired)))
    _, *lines = lines_of(capfd, query, result)
    assert lines == [
        "  2 rows of state expired: totals, plain",
        "  2,408 groups of state expired: totals, plain",
    ]
    # Which one the third is, is unknown.
    assert rows_of_states(query, (1, 2, 3)) == (
        StateRows("", (NodeId("model", "totals"), NodeId("model", "plain")), 6),
    )


def test_late_rows_and_closed_windows_are_shown(capfd):
    windows = StatefulOperator("minutes", "aggregate", (), models=(NodeId("model", "minutes"),))
    source = TopicRead("events", NodeId("source", "web.events"), ("events",))
    query = replace(
        QUERY,
        sources=(source,),
        signature=QuerySignature((), (windows,)),
        delays=((NodeId("source", "web.events"), "1 minute"),),
    )
    result = QueryResult(
        "events_topics",
        "success",
        9,
        1.5,
        expired=rows_of_states(query, (37,)),
        late=rows_of_states(query, (1,)),
    )
    _, *lines = lines_of(capfd, query, result)
    assert lines == [
        "  at least 1 row dropped as late (counted once per group and batch): older than the watermark: minutes",
        "  to keep such rows, set a longer `delay` in the watermark of web.events (now 1 minute)",
        "  37 windows closed: minutes",
    ]


def test_a_table_over_tables_shows_how_many_of_its_rows_changed(capfd):
    changes = TableChanges(inserted=1, updated=2)
    (line,) = lines_of(capfd, QUERY, QueryResult("events_topics", "success", 0, 1.0, changes=changes))
    assert line.split() == ["✓", "plain", "3", "rows", "changed", "1.0", "s"]


def test_lines_fit_on_a_narrow_terminal(monkeypatch, capfd):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "70")
    many = tuple(
        SinkOutput(NodeId("model", f"events_of_{number}"), Sink(f"topic{number}")) for number in range(9)
    )
    query = replace(QUERY, deliver=ToKafka(many))
    (line,) = lines_of(capfd, query, QueryResult("events_topics", "success", 5000, 1.5))
    assert len(Text.from_ansi(line).plain) == 70
    assert "…" in line


def test_a_stage_is_shown_when_it_begins_and_when_it_is_done(capfd):
    progress = BuildProgress(OutputStyle(color=False, json=False, quiet=False))
    progress.handle(SetupStep("topics"))
    for count in (1000, 2000):
        progress.handle(SetupStep("topics", f"{count} records in events"))
    assert [task.description for task in progress.progress.tasks] == ["topics: 2000 records in events"]
    progress.handle(SetupStep("topics", "1 created", done=True))
    assert progress.progress.tasks == []
    progress.console.file.close()
    first, last = capfd.readouterr().err.splitlines()
    assert first.split() == ["·", "topics:", "starting"]
    assert last.split()[:4] == ["✓", "topics:", "1", "created"]


def progress_lines(capfd, do):
    progress = BuildProgress(OutputStyle(color=False, json=False, quiet=False))
    do(progress)
    progress.console.file.close()
    return capfd.readouterr().err.splitlines()


def test_tests_are_shown_below_one_another_with_what_failed(capfd):
    diagnostic = Diagnostic(
        "MS660", "data test 'unique_totals_user': 1 row fails", Location("m.yml", 3, 5, 9)
    )
    failed = TestOutcome((diagnostic,), (styled_line("    user: a, rows: 2"),))
    warned = TestOutcome((replace(diagnostic, severity="warning"),))

    def do(progress):
        progress.show_unchanged("data test", 3)
        with progress.testing("data test", 4) as show:
            show(EndedTests("totals", "test", (TestOutcome(), failed), 0.5))
            show(EndedTests("tests/big.sql", "test", (warned,), 0.1))
            show(EndedTests("kinds", "test", (TestOutcome(skipped="'kinds' has not been built"),), 0.0))
        assert progress.diagnostics == []  # those of tests are with their results
        assert progress.progress.tasks == []

    lines = progress_lines(capfd, do)
    assert [line.split() for line in lines if line[0] in "✓✗○"] == [
        ["✓", "3", "data", "tests", "passed", "before,", "and", "nothing", "they", "read", "has", "changed"],
        ["✗", "totals", "2", "data", "tests:", "1", "failed", "0.5", "s"],
        ["○", "tests/big.sql", "1", "data", "test:", "1", "warned", "0.1", "s"],
        ["○", "kinds", "1", "data", "test:", "1", "skipped", "0.0", "s"],
    ]
    assert "    user: a, rows: 2" in lines
    assert sum("MS660" in line for line in lines) == 2


def test_data_tests_are_shown_below_the_line_of_their_query(capfd):
    failed = TestOutcome(
        (Diagnostic("MS660", "data test 'unique_plain_id': 1 row fails", Location("m.yml", 3, 5, 9)),)
    )

    def do(progress):
        progress.handle(QueryStarted(QUERY))
        progress.test_query("events_topics")
        progress.hold("events_topics", EndedTests("plain", "test", (TestOutcome(), failed), 0.5))
        progress.hold_unchanged("events_topics", "data test", 1)
        progress.handle(RunEnded(QueryResult("events_topics", "success", 9, 1.5)))

    lines = [line for line in progress_lines(capfd, do) if line.lstrip()[:1] in {"✓", "✗", "e"}]
    assert [line.split() for line in lines[:2]] == [
        ["✓", "plain", "9", "rows", "read", "1.5", "s"],
        ["✗", "plain", "2", "data", "tests:", "1", "failed", "0.5", "s"],
    ]
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 0, 2]
    assert "MS660" in lines[2]
    assert lines[3].split() == ["✓", "1", "data", "test", "passed", "before"]


@pytest.mark.parametrize("seconds", [10.04, 10.05, 33.349])
def test_the_times_of_phases_add_up(seconds):
    durations = phase_seconds(5.0, (8.14, 9.26, 14.11), seconds)
    assert sum(durations.values()) == pytest.approx(round(seconds, 1))
    text, _ = format_build_summary(
        RunResults("build", "shop", "local", "", 1.0, ()), (), seconds, phases=durations
    )
    assert text.startswith(
        f"0 models built; {seconds:.1f} s (start 3.1 s, unit tests 1.2 s, models and data tests 4.8 s, end "
    )


def test_one_summary_counts_models_and_tests():
    def line(models, tests, unchanged=0, **options):
        models_run = tuple(
            ModelResult(NodeId("model", f"m{n}"), status, "q") for n, status in enumerate(models)
        )
        results = RunResults("build", "shop", "local", "", 1.0, models_run)
        ended = [TestResult(f"test.t{n}", "test", status, 0.1, "m.yml", 1) for n, status in enumerate(tests)]
        ended = [replace(test, unchanged=n < unchanged) for n, test in enumerate(ended)]
        return format_build_summary(results, ended, 9.04, **options)

    assert line(["success"] * 2, ["pass"] * 3) == ("2 models built; 3 tests passed; 9.0 s", "bold green")
    assert line(["success"], []) == ("1 model built; 9.0 s", "bold green")
    assert line(["success"], ["pass"] * 3, 2)[0] == "1 model built; 1 test passed, 2 passed before; 9.0 s"
    assert (
        line(["success"], ["pass"], 1, up_to_date=True)[0]
        == "1 model up to date; 1 test passed before; 9.0 s"
    )
    assert line(["success", "error", "skipped"], ["pass", "fail", "warn", "skipped", "error"]) == (
        "1 model built, 1 failed, 1 skipped; 1 test passed, 2 failed, 1 warned, 1 skipped; 9.0 s",
        "bold red",
    )
    assert line(["skipped"], ["fail"])[0] == "0 models built, 1 skipped; 1 test failed; 9.0 s"
