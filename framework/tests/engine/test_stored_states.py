"""States of keyed functions as bytes."""

import os
import pickle
import subprocess
import sys
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core.user_code import SourceFile
from millstream.engine.python.keyed import KeyedProcessor
from millstream.engine.python.stored_states import state_bytes, state_in

ZONES = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
KEYS = st.one_of(
    st.text(),
    st.integers(),
    st.booleans(),
    st.none(),
    st.floats(allow_nan=False),
    st.binary(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.datetimes(timezones=ZONES).map(
        lambda moment: moment.replace(fold=0)
    ),  # which means nothing in these zones
    st.times(timezones=ZONES | st.none()).map(lambda moment: moment.replace(fold=0)),
    st.timedeltas(),
    st.tuples(st.integers(), st.text()),
)
VALUES = st.recursive(
    KEYS | st.binary().map(bytearray) | st.sets(KEYS) | st.frozensets(KEYS),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner) | st.dictionaries(st.text("$a"), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES))
def test_a_state_is_the_same_when_it_is_read(state):
    restored = state_in(state_bytes(state))
    assert repr_of(restored) == repr_of(state)
    assert state_bytes(restored) == state_bytes(state)


def repr_of(value):
    """Return a text in which 1, 1.0 and True differ, and the order of sets doesn't matter."""
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__} {sorted(map(repr_of, value))}"
    if isinstance(value, dict):
        return f"dict {[(repr_of(name), repr_of(member)) for name, member in value.items()]}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__} {[*map(repr_of, value)]}"
    return repr(value)


@pytest.mark.parametrize("text", ["\ud800", "\0", "é", '"$"'])
def test_texts_are_kept(text):
    assert state_in(state_bytes({"a": text, text: 1})) == {"a": text, text: 1}


def test_numbers_without_a_value_are_kept():
    assert (
        repr(state_in(state_bytes({"a": [float("nan"), float("-inf"), -0.0]}))) == "{'a': [nan, -inf, -0.0]}"
    )


def test_equal_states_have_equal_bytes_in_each_process():
    """Else a state would be stored again although the function did not change it."""
    program = (
        "from millstream.engine.python.stored_states import state_bytes\n"
        "print(state_bytes({'a': {'x', 'y', 'z', 1, 2.5, (1, 'b')}}).decode())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in "123"
    }  # fmt: skip
    assert len(printed) == 1


FILE = """
from dataclasses import dataclass, field
from datetime import datetime
from typing import Iterator, NamedTuple

class Click(NamedTuple):
    id: int

@dataclass
class State:
    count: int = 0
    seen: set = field(default_factory=set)
    last: datetime | None = None

def counted(key: str, rows: Iterator[Click], state: State) -> Iterator[int]:
    for row in rows:
        state.count += 1
        state.seen.add(row.id)
        yield state.count

def spoiled(key: str, rows: Iterator[Click], state: State) -> Iterator[int]:
    for row in rows:
        state.last = 1 + 2j
        yield 1
"""


def called(name, before):
    """Call a function with a row, as the worker does; return what it yields and its state after it."""
    yielded = pa.struct([("value", pa.int64())])
    keyed = KeyedProcessor(
        SourceFile("macros/f.py", FILE, "stored states"), name, {"id": 0}, {"value": "value"}, yielded
    )
    keyed.converted_function = None
    values, calls = [], keyed._call(("a",), iter([(7,)]), before)
    while True:
        try:
            values += next(calls).values()
        except StopIteration as stop:
            return values, stop.value


MOMENT = datetime(2026, 1, 1, tzinfo=timezone.utc)


def test_a_state_of_an_older_version_is_read_once_and_then_stored_without_pickle():
    before = pickle.dumps({"count": 2, "seen": {5}, "last": MOMENT}, 4)
    values, after = called("counted", before)
    assert values == [3]
    assert after.startswith(b"{")
    assert state_in(after) == {"count": 3, "seen": {5, 7}, "last": MOMENT}
    assert called("counted", after)[0] == [4]


def test_no_state_can_run_code():
    class Evil:
        def __reduce__(self):
            return os.system, ("true",)

    error = r"a function failed: counted\(\): UnpicklingError: a state can't have a value of posix\.system"
    with pytest.raises(RuntimeError, match=error):
        called("counted", pickle.dumps({"a": Evil()}, 4))
    with pytest.raises(RuntimeError, match=r"a function failed: counted\(\): KeyError: 'posix\.system'"):
        called("counted", b'{"count": {"$": ["posix.system", "true"]}}')
    state = {
        "a": [MOMENT, date(2026, 1, 1), Decimal("1.5"), {1, 2}, b"x", None, 2**70],
        "b": (time(1, 2), MOMENT - MOMENT),
    }
    assert state_in(pickle.dumps(state, 4)) == state


def test_a_value_that_no_state_can_have_fails_where_it_is_written():
    error = r"a function failed: spoiled\(\): TypeError: a state can't have a value of builtins\.complex"
    with pytest.raises(RuntimeError, match=error):
        called("spoiled", None)
