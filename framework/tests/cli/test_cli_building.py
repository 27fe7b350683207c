"""Progress that a build shows."""

from millstream.cli.build_progress import BuildProgress
from millstream.cli.output import OutputStyle
from millstream.physical.values import Memory, Query, Signature, SinkOutput, ToKafka
from millstream.runner.queries.results import Counts, Outcome
from millstream.runner.values import Ended, Setup, Started

QUERY = Query(
    name="events_topics", kind="stateless", models=("model.plain",), sources=(), reads=(), steps=(), sql="",
    deliver=ToKafka((SinkOutput("model.plain", "plain"),)), output_mode="append", signature=Signature((), ()),
    memory=Memory(None, ""),
)  # fmt: skip


def test_skipped_records_are_shown_below_their_query(capfd):
    progress = BuildProgress(OutputStyle(color=False, json=False, quiet=False))
    counts = Counts({"source.web.events": 1200, "model.plain": 1}, {"source.web.hits": 2})
    progress.handle(Started(QUERY))
    progress.handle(Ended(Outcome("events_topics", "success", 5000, 1.5, counts=counts)))
    progress.console.file.close()
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].split() == ["✓", "plain", "5,000", "rows", "1.5", "s"]
    assert lines[1:] == [
        "  1,200 records of web.events skipped: not decodable",
        "  1 record of plain skipped: a function failed",
        "  2 records of web.hits sent to dead letters: not decodable",
    ]


def test_a_stage_is_shown_when_it_begins_and_when_it_is_done(capfd):
    progress = BuildProgress(OutputStyle(color=False, json=False, quiet=False))
    progress.handle(Setup("topics"))
    for count in (1000, 2000):
        progress.handle(Setup("topics", f"{count} records in events"))
    assert [task.description for task in progress.progress.tasks] == ["topics: 2000 records in events"]
    progress.handle(Setup("topics", "1 created", done=True))
    assert progress.progress.tasks == []
    progress.console.file.close()
    first, last = capfd.readouterr().err.splitlines()
    assert first.split() == ["·", "topics:", "starting"]
    assert last.split()[:4] == ["✓", "topics:", "1", "created"]
