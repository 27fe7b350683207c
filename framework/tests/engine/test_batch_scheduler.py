"""Batches of queries that run on take turns."""

import threading
import time

import pytest

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.engine.queries.batch_scheduler import PATIENCE, BatchTurns, QueryTurn
from millstream.engine.queries.deliveries import BatchWriter, in_turn
from millstream.engine.queries.gate import BatchGate, ClosedError


def stores(turn):
    return BatchWriter("q/1", {}, lambda *_, **__: None, turn=turn)


def test_a_batch_waits_until_another_one_has_ended():
    turn, first, go_on = threading.BoundedSemaphore(1), threading.Event(), threading.Event()
    ended = []

    def slow(_rows, number):
        first.set()
        assert go_on.wait(10)
        ended.append(number)

    one = threading.Thread(target=in_turn(slow, stores(turn)), args=(None, 1))
    two = threading.Thread(
        target=in_turn(lambda _, number: ended.append(number), stores(turn)), args=(None, 2)
    )
    one.start()
    assert first.wait(10)
    two.start()
    assert ended == []
    go_on.set()
    one.join()
    two.join()
    assert ended == [1, 2]


def test_a_batch_that_fails_gives_up_its_turn_and_says_why():
    turn, batches = threading.BoundedSemaphore(1), []

    def refuse(_rows, _number):
        raise MillstreamError(Diagnostic("MS886", "no", None, ""))

    writer = stores(turn)
    with pytest.raises(MillstreamError):
        in_turn(refuse, writer)(None, 0)
    assert [str(error) for error in writer.raised] == ["MS886: no"]
    in_turn(lambda _, number: batches.append(number), writer)(None, 1)
    assert batches == [1]


def test_without_turns_nothing_waits():
    batches = []
    in_turn(lambda _, number: batches.append(number), stores(None))(None, 0)
    assert batches == [0]


def test_a_closed_gate_refuses_the_next_batch_after_the_running_one():
    gate, first, go_on, closed, batches = (
        BatchGate(),
        threading.Event(),
        threading.Event(),
        threading.Event(),
        [],
    )

    def slow(_rows, number):
        first.set()
        assert go_on.wait(10)
        batches.append(number)

    def close():
        gate.close()
        closed.set()

    running = threading.Thread(target=in_turn(slow, stores(gate)), args=(None, 1))
    running.start()
    assert first.wait(10)
    closing = threading.Thread(target=close)
    closing.start()
    assert not closed.wait(0.1)
    go_on.set()
    running.join()
    closing.join()
    with pytest.raises(ClosedError):
        in_turn(slow, stores(gate))(None, 2)
    assert batches == [1]


def test_a_batch_waits_at_the_gate_while_another_thread_is_between_batches():
    gate, batches = BatchGate(threading.BoundedSemaphore(1)), []
    with gate.between_batches():
        waiting = threading.Thread(
            target=in_turn(lambda _, number: batches.append(number), stores(gate)), args=(None, 1)
        )
        waiting.start()
        while not gate.waiting:
            pass
        assert batches == []
    waiting.join()
    assert batches == [1]


def test_a_quick_batch_waits_for_quick_ones_alone_and_others_in_order():
    turns, entered = BatchTurns(2), []
    with QueryTurn(turns, quick=True):
        pass  # from now on, one place is for quick batches
    go_on = {name: threading.Event() for name in ("long", "quick", "later", "second")}

    def run(name, quick):
        with QueryTurn(turns, quick=quick):
            entered.append(name)
            assert go_on[name].wait(10)

    threads = []
    for name, quick in (("long", False), ("later", False), ("quick", True), ("second", True)):
        threads.append(threading.Thread(target=run, args=(name, quick)))
        before = len(turns._line) + len(entered)
        threads[-1].start()
        while len(turns._line) + len(entered) == before:
            pass
    assert entered == ["long", "quick"]
    go_on["quick"].set()
    threads[2].join()
    while "second" not in entered:
        pass
    assert entered == ["long", "quick", "second"]
    go_on["second"].set()
    go_on["long"].set()
    threads[0].join()
    go_on["later"].set()
    for thread in threads:
        thread.join()
    assert entered == ["long", "quick", "second", "later"]


class Waiting:
    """Batches that wait for a turn in threads, and those that have one."""

    def __init__(self, permits):
        self.turns, self.entered = BatchTurns(permits), []
        self._threads, self._go_on = {}, {}

    def add(self, name, **how):
        self._go_on[name] = threading.Event()
        self._threads[name] = threading.Thread(target=self._run, args=(name, QueryTurn(self.turns, **how)))
        before = len(self.turns._line) + len(self.entered)
        self._threads[name].start()
        while len(self.turns._line) + len(self.entered) == before:
            pass

    def _run(self, name, turn):
        with turn:
            self.entered.append(name)
            assert self._go_on[name].wait(10)

    def end(self, name):
        """End a batch, and wait until another one has its turn."""
        before, waits = len(self.entered), bool(self.turns._line)
        self._go_on[name].set()
        self._threads[name].join()
        while waits and len(self.entered) == before:
            pass


def test_batches_of_a_higher_priority_go_first_and_equal_ones_in_order():
    batches = Waiting(1)
    batches.add("running", quick=False)
    for name, priority in (("low", 0), ("one", 1), ("high", 2), ("two", 1), ("higher", 2)):
        batches.add(name, quick=False, priority=priority)
    for name in ("running", "high", "higher", "one", "two", "low"):
        batches.end(name)
    assert batches.entered == ["running", "high", "higher", "one", "two", "low"]


def test_a_batch_is_overtaken_a_few_times_only():
    batches = Waiting(1)
    batches.add("h0", quick=False, priority=2)
    batches.add("low", quick=False, priority=0)
    for n in range(PATIENCE + 2):
        batches.add(f"h{n + 1}", quick=False, priority=2)
        batches.end(batches.entered[-1])
    assert batches.entered[PATIENCE + 1] == "low"
    while batches.turns._line:
        batches.end(batches.entered[-1])
    batches.end(batches.entered[-1])


def test_the_time_that_a_batch_waits_is_known():
    turns, waiting = BatchTurns(1), threading.Event()
    first, second = QueryTurn(turns, quick=False), QueryTurn(turns, quick=False)

    def wait():
        waiting.set()
        with second:
            pass

    with first:
        thread = threading.Thread(target=wait)
        thread.start()
        assert waiting.wait(10)
        while not turns._line:
            pass
        began = time.monotonic()
        while time.monotonic() < began + 0.05:
            pass
    thread.join()
    assert second.waited >= 0.05
    assert first.waited < second.waited


def test_without_quick_batches_long_ones_have_all_places():
    batches = Waiting(2)
    batches.add("one", quick=False)
    batches.add("two", quick=False)
    assert batches.entered == ["one", "two"]
    batches.add("quick", quick=True)
    assert batches.entered == ["one", "two", "quick"]
    batches.end("one")
    batches.add("three", quick=False)
    assert batches.turns._line  # one long batch at a time from now on
    batches.end("two")
    assert batches.entered[-1] == "three"
    for name in ("three", "quick"):
        batches.end(name)


def early(turn, given_up=lambda: False):
    """Take a turn early in a thread, and return what tells whether it was given up."""
    taken = []
    thread = threading.Thread(target=lambda: taken.append(turn.take_early(given_up)))
    thread.start()
    return thread, taken


def test_a_turn_is_taken_before_a_batch_is_planned_and_used_by_it():
    turns = BatchTurns(1)
    turn, other = QueryTurn(turns, quick=False), QueryTurn(turns, quick=False)
    assert turn.take_early(lambda: False)
    thread, taken = early(other)
    while not turns._line:
        pass
    with turn:
        assert taken == []
    thread.join()
    assert taken == [True]
    other.put_back()
    other.put_back()  # only once
    assert turns._permits == 1


def test_a_query_that_stops_while_it_waits_leaves_the_line():
    turns = BatchTurns(1)
    turn, other = QueryTurn(turns, quick=False), QueryTurn(turns, quick=False)
    stopped = threading.Event()
    with turn:
        thread, taken = early(other, stopped.is_set)
        while not turns._line:
            pass
        stopped.set()
        other.look_again()
        thread.join()
    assert (taken, turns._line, turns._permits) == ([False], [], 1)


def test_who_has_to_wait_at_a_gate_lets_others_have_the_turn():
    turns, batches = BatchTurns(1), []
    turn, other = QueryTurn(turns, quick=False), QueryTurn(turns, quick=False)
    gate = BatchGate(turn, turn.put_back)
    assert turn.take_early(lambda: False)
    with gate.between_batches():
        waiting = threading.Thread(
            target=in_turn(lambda _, number: batches.append(number), stores(gate)), args=(None, 1)
        )
        waiting.start()
        with other:
            assert batches == []
    waiting.join()
    assert (batches, turns._permits) == ([1], 1)


def test_a_gate_that_refuses_lets_the_running_batch_end_and_none_begin_that_waits_for_its_turn():
    turns, first, go_on, batches, refused = BatchTurns(1), threading.Event(), threading.Event(), [], []
    gates = []
    for _ in range(2):
        turn = QueryTurn(turns, quick=False)
        gates.append((BatchGate(turn, turn.put_back), turn))

    def slow(_rows, number):
        first.set()
        assert go_on.wait(10)
        batches.append(number)

    def wait():
        try:
            in_turn(slow, stores(gates[1][0]))(None, 2)
        except ClosedError:
            refused.append(2)

    running = threading.Thread(target=in_turn(slow, stores(gates[0][0])), args=(None, 1))
    running.start()
    assert first.wait(10)
    waiting = threading.Thread(target=wait)
    waiting.start()
    while not turns._line:
        pass
    executes = [gate.refuse() for gate, _ in gates]
    for _, turn in gates:
        turn.give_up()
    waiting.join(10)
    assert (executes, batches, refused) == ([True, False], [], [2])
    go_on.set()
    running.join()
    assert batches == [1]
    with pytest.raises(ClosedError):
        in_turn(slow, stores(gates[0][0]))(None, 3)
    with QueryTurn(turns, quick=False):
        pass  # nobody holds it


def test_a_batch_is_complete_once_spark_has_recorded_its_end():
    gate = BatchGate()
    in_turn(lambda *_: None, stores(gate))(None, 0)
    assert gate.refuse()
    gate.finish()
    assert not gate.refuse()
