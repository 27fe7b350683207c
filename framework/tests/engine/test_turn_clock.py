"""Running queries of Spark that wait for their turns before Spark plans a batch."""

import shutil
import threading
import time
from itertools import chain

import pytest

from millstream.deploy.live.turn_trigger import attach_trigger
from millstream.engine.queries.batch_scheduler import BatchTurns, QueryTurn
from millstream.engine.queries.deliveries import BatchWriter, in_turn

PATIENCE = 60


class Running:
    """A query that reads files, each with one row, with a turn for each batch."""

    def __init__(self, spark, folder, turn):
        self.folder = folder / "in"
        self.folder.mkdir()
        self.batches, self.stored = [], threading.Condition()
        self.add(0)
        rows = spark.readStream.schema("a int").json(str(self.folder))
        stores = BatchWriter("q/1", {}, lambda *_, **__: None, turn=turn)
        writer = rows.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        self.streaming = (
            writer.foreachBatch(in_turn(self._store, stores))
            .trigger(processingTime="10 milliseconds")
            .start()
        )
        self.turnstile = attach_trigger(spark, self.streaming, turn)

    def _store(self, rows, _number):
        values = sorted(row.a for row in rows.collect())
        with self.stored:
            self.batches.append(values)
            self.stored.notify_all()

    def add(self, number):
        (self.folder / f".{number}").write_text(f'{{"a": {number}}}')
        (self.folder / f".{number}").rename(self.folder / f"{number}.json")

    def until(self, rows):
        with self.stored:
            assert self.stored.wait_for(lambda: [*chain(*self.batches)] == rows, PATIENCE), self.batches

    def stop(self):
        self.turnstile.close()
        self.streaming.stop()
        self.turnstile.leave()


def until(is_so):
    limit = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < limit


@pytest.fixture
def turns():
    return BatchTurns(1)


@pytest.fixture
def running(spark, tmp_path, turns):
    query = Running(spark, tmp_path, QueryTurn(turns, quick=False))
    yield query
    query.stop()


def test_records_that_arrive_while_a_query_waits_are_in_its_next_batch(running, turns):
    running.until([0])
    with QueryTurn(turns, quick=False):
        until(lambda: turns._line)  # it waits, and nothing is planned
        for number in (1, 2, 3):
            running.add(number)
    running.until([0, 1, 2, 3])
    assert running.batches == [[0], [1, 2, 3]]


def test_a_query_without_new_records_lets_others_have_the_turn(running, turns):
    running.until([0])
    for _ in range(20):
        with QueryTurn(turns, quick=False):
            pass
    running.add(1)
    running.until([0, 1])


def test_a_query_that_waits_stops_at_once_and_leaves_the_line(running, turns):
    running.until([0])
    with QueryTurn(turns, quick=False):
        until(lambda: turns._line)
        running.add(1)
        running.stop()
        assert (running.streaming.exception(), turns._line) == (None, [])
    assert running.batches == [[0]]
    assert turns._permits == 1


def test_a_query_that_fails_gives_back_its_turn(running, turns):
    running.until([0])
    offsets = running.folder.with_name("checkpoint") / "offsets"
    shutil.rmtree(offsets)
    offsets.write_text("no folder to plan the next batch in")
    running.add(1)
    until(lambda: not running.streaming.isActive)
    running.turnstile.leave()
    with QueryTurn(turns, quick=False):
        assert turns._permits == 0
    assert turns._permits == 1
