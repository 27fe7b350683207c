"""Batches of queries that run on take turns."""

import threading

import pytest

from millstream.errors import Diagnostic, MillstreamError
from millstream.runner.queries.deliveries import Stores, in_turn


def stores(turn):
    return Stores("q/1", {}, {}, lambda *_, **__: None, turn=turn)


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
    turn, made = threading.BoundedSemaphore(1), []

    def refuse(_rows, _number):
        raise MillstreamError(Diagnostic("MS886", "no", None, ""))

    own = stores(turn)
    with pytest.raises(MillstreamError):
        in_turn(refuse, own)(None, 0)
    assert [str(each) for each in own.raised] == ["MS886: no"]
    in_turn(lambda _, number: made.append(number), own)(None, 1)
    assert made == [1]


def test_without_turns_nothing_waits():
    made = []
    in_turn(lambda _, number: made.append(number), stores(None))(None, 0)
    assert made == [0]
