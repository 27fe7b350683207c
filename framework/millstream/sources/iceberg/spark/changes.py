"""Which rows changed between two states of a table with a key, in Arrow.

Spark's Python workers run this, without Millstream.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

_WAS, _NOW = "_millstream_was", "_millstream_now"


def changed_rows(was: pa.Table, now: pa.Table, keys: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """Return the rows whose keys are gone, and those that are new or have other values.

    Files are written again as a whole, with many rows that are the same.
    """
    paired = _numbered(was, keys, _WAS).join(_numbered(now, keys, _NOW), list(keys), join_type="full outer")
    gone = paired.filter(pc.is_null(paired[_NOW]))[_WAS]
    new = paired.filter(pc.is_null(paired[_WAS]))[_NOW]
    both = paired.filter(pc.and_(pc.is_valid(paired[_WAS]), pc.is_valid(paired[_NOW])))
    differs = _differs(was.take(both[_WAS]), now.take(both[_NOW]))
    changed = both.filter(differs)[_NOW]
    return was.take(gone), now.take(pa.chunked_array([*new.chunks, *changed.chunks], pa.int64()))


def _numbered(rows: pa.Table, keys: Sequence[str], number: str) -> pa.Table:
    return rows.select(keys).append_column(number, pa.array(range(rows.num_rows), pa.int64()))


def _differs(was: pa.Table, now: pa.Table) -> pa.Array:
    """Return which rows of two tables differ, or may do so."""
    differs = pa.repeat(pa.scalar(False), was.num_rows)
    for old, new in zip(was.columns, now.columns, strict=True):
        differs = pc.or_(differs, _column_differs(old, new))
    return differs


def _column_differs(old: pa.ChunkedArray, new: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_nested(old.type):
        return pa.array([a != b for a, b in zip(old.to_pylist(), new.to_pylist(), strict=True)], pa.bool_())
    same = pc.or_(pc.fill_null(pc.equal(old, new), False), pc.and_(pc.is_null(old), pc.is_null(new)))
    return pc.invert(same)
