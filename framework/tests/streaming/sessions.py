"""Sessions of the oracle, batch by batch: which rows are late depends on those that have been closed."""

from __future__ import annotations

from typing import Any


def sessions(oracle: Any, table: str, time: str, gap: int, keys: list[str], clock: str, lag: int) -> str:
    """Return the rows of each session that are not late, with its `_start` and `_end`."""
    marks = oracle.duck.execute(f"select b, late - {lag}, evict - {lag} from {clock} order by b").fetchall()
    numbered = oracle.made(f"select *, row_number() over () as _n from {table} where {time} is not null")
    listed = ", ".join([*keys, time, "_b", "_n"])
    rows = oracle.duck.execute(f"select {listed} from {numbered} order by {time}").fetchall()
    open_: dict[tuple[Any, ...], list[tuple[int, int, list[int]]]] = {}
    found: list[tuple[int, int, int]] = []
    for batch, late, evict in marks:
        for *key, at, of, number in rows:
            if of == batch and at + gap > late:
                _add(open_.setdefault(tuple(key), []), at, at + gap, [number])
        for key, own in open_.items():
            found += [(n, start, end) for start, end, numbers in own if end <= evict for n in numbers]
            open_[key] = [each for each in own if each[1] > evict]
    # Those that are still open close nowhere.
    found += [(n, start, end) for own in open_.values() for start, end, numbers in own for n in numbers]
    made = oracle.new()
    oracle.duck.execute(f"create temp table {made} (n bigint, _start bigint, _end bigint)")
    if found:
        oracle.duck.executemany(f"insert into {made} values (?, ?, ?)", found)
    return oracle.made(f"select f.*, s._start, s._end from {numbered} as f join {made} as s on s.n = f._n")


def _add(own: list[tuple[int, int, list[int]]], start: int, end: int, numbers: list[int]) -> None:
    """Add a row to the sessions of its key; those that touch become one."""
    near = [each for each in own if each[0] <= end and start <= each[1]]
    own[:] = [each for each in own if each not in near]
    own.append(
        (
            min([start, *(s for s, _, _ in near)]),
            max([end, *(e for _, e, _ in near)]),
            [*numbers, *(n for _, _, more in near for n in more)],
        )
    )
