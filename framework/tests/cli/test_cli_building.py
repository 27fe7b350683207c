"""What a build tells a person."""

from millstream.cli.building import Telling
from millstream.cli.output import Look
from millstream.physical.values import Memory, Query, Signature, SinkOutput, ToKafka
from millstream.runner.results import Counts, Outcome
from millstream.runner.values import Ended, Setup, Started

QUERY = Query(
    name="events_topics", kind="stateless", models=("model.plain",), sources=(), reads=(), steps=(), sql="",
    deliver=ToKafka((SinkOutput("model.plain", "plain"),)), output_mode="append", signature=Signature((), ()),
    memory=Memory(None, ""),
)  # fmt: skip


def test_records_that_were_left_out_are_told_below_their_query(capfd):
    told = Telling(Look(color=False, json=False, quiet=False))
    counts = Counts({"source.web.events": 1200, "model.plain": 1}, {"source.web.hits": 2})
    told.tell(Started(QUERY))
    told.tell(Ended(Outcome("events_topics", "success", 5000, 1, 1.5, counts=counts)))
    told.console.file.close()
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].split() == ["✓", "plain", "5,000", "rows", "1.5", "s"]
    assert lines[1:] == [
        "  1,200 records of web.events skipped: not decodable",
        "  1 record of plain skipped: a function failed",
        "  2 records of web.hits sent to dead letters: not decodable",
    ]


def test_a_stage_is_told_when_it_begins_and_when_it_is_done(capfd):
    told = Telling(Look(color=False, json=False, quiet=False))
    told.tell(Setup("topics"))
    for count in (1000, 2000):
        told.tell(Setup("topics", f"{count} records in events"))
    assert [task.description for task in told.progress.tasks] == ["topics: 2000 records in events"]
    told.tell(Setup("topics", "1 created", done=True))
    assert told.progress.tasks == []
    told.console.file.close()
    first, last = capfd.readouterr().err.splitlines()
    assert first.split() == ["·", "topics:", "starting"]
    assert last.split()[:4] == ["✓", "topics:", "1", "created"]
