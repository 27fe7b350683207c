"""Sessions of the oracle, batch by batch: which rows are late depends on those that have been closed."""

from __future__ import annotations

from typing import Any


def sessions(oracle: Any, table: str, time: str, gap: int, keys: list[str], clock: str, lag: int) -> str:
    """Return the rows of each session that are not late, with its `_start` and `_end`."""
    marks = oracle.duck.execute(f"select b, late - {lag}, evict - {lag} from {clock} order by b").fetchall()
    numbered = oracle.create_table(
        f"select *, row_number() over () as _n from {table} where {time} is not null"
    )
    selected = ", ".join([*keys, time, "_b", "_n"])
    rows = oracle.duck.execute(f"select {selected} from {numbered} order by {time}").fetchall()
    open_: dict[tuple[Any, ...], list[tuple[int, int, list[int]]]] = {}
    bounds: list[tuple[int, int, int]] = []
    for batch, late, evict in marks:
        for *key, event_time, of, number in rows:
            if of == batch and event_time + gap > late:
                _add(open_.setdefault(tuple(key), []), event_time, event_time + gap, [number])
        for key, open_sessions in open_.items():
            bounds += [
                (n, start, end) for start, end, numbers in open_sessions if end <= evict for n in numbers
            ]
            open_[key] = [session for session in open_sessions if session[1] > evict]
    # Those that are still open close nowhere.
    bounds += [
        (n, start, end)
        for open_sessions in open_.values()
        for start, end, numbers in open_sessions
        for n in numbers
    ]
    bounds_table = oracle.new()
    oracle.duck.execute(f"create temp table {bounds_table} (n bigint, _start bigint, _end bigint)")
    if bounds:
        oracle.duck.executemany(f"insert into {bounds_table} values (?, ?, ?)", bounds)
    return oracle.create_table(
        f"select f.*, s._start, s._end from {numbered} as f join {bounds_table} as s on s.n = f._n"
    )


def _add(open_sessions: list[tuple[int, int, list[int]]], start: int, end: int, numbers: list[int]) -> None:
    """Add a row to the sessions of its key; those that touch become one."""
    near = [session for session in open_sessions if session[0] <= end and start <= session[1]]
    open_sessions[:] = [session for session in open_sessions if session not in near]
    open_sessions.append(
        (
            min([start, *(s for s, _, _ in near)]),
            max([end, *(e for _, e, _ in near)]),
            [*numbers, *(n for _, _, more in near for n in more)],
        )
    )
