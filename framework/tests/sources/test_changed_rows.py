"""Which rows differ between two states of a table, against Python's own dictionaries."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.sources.iceberg.spark.changes import changed_rows

TYPES = pa.schema([
    ("key", pa.int64()), ("was", pa.string()), ("value", pa.float64()), ("tags", pa.list_(pa.int64()))
])  # fmt: skip
STATES = st.dictionaries(
    st.tuples(st.integers(0, 5), st.sampled_from("ab")),
    st.tuples(st.sampled_from([None, 0.5, 2.0]), st.sampled_from([None, [], [1], [None]])),
)


def table_of(state):
    rows = [dict(zip(TYPES.names, (*key, *values), strict=True)) for key, values in state.items()]
    return pa.Table.from_pylist(rows, TYPES)


def state_of(rows):
    state = {(row["key"], row["was"]): (row["value"], row["tags"]) for row in rows.to_pylist()}
    assert len(state) == rows.num_rows
    return state


@given(STATES, STATES)
def test_gone_and_changed_rows(was, now):
    gone, changed = changed_rows(table_of(was), table_of(now), ["key", "was"])
    assert state_of(gone) == {key: was[key] for key in was if key not in now}
    assert state_of(changed) == {key: now[key] for key in now if key not in was or was[key] != now[key]}
