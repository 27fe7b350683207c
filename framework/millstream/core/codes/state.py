"""Codes of state that grows forever, or ends."""

from millstream.core.codes import ErrorCode, read_codes

_ACCEPT = (
    "If the number of keys is small, or the disk is large, accept it: `config(unbounded_state='accept')` for "
    'a model, or `+unbounded_state = "accept"` for a folder.'
)
_GROWING = read_codes("""
MS560 An aggregate keeps a row per group forever
    Without a window, or with one over a column that has no watermark, Spark can't know that a group is
    complete, so its state keeps every group it has ever seen. Also group by a window of the event time: its
    rows are dropped when the watermark passes their end.
MS561 A dedupe remembers every row forever
    DISTINCT, UNION without ALL, and `dedupe` without `within` compare each row with all earlier rows.
    `config(dedupe={'keys': [...], 'within': '1 day'})` forgets a key by event time; so does a DISTINCT over
    rows that include the watermark column.
MS562 A join of streams keeps rows forever
    A row of one stream waits for its match in the other. Spark drops it only if ON compares the event times
    of both, with a lower and an upper bound: `a.at between b.at - interval 1 hour and b.at + interval 1
    hour`. A single bound only drops the rows of one side.
MS563 A Python function keeps the state of each key forever
    A function with keyed state remembers every key it has ever seen. `config(state={'ttl': '7 days'})`
    forgets keys that don't come again.
""")
_ENDING = read_codes("""
MS676 Groups can't end by a time to live
    Spark drops groups only between batches. If `state: {ttl}` dropped them, a late row would find its group
    or begin a new one, depending on which rows a batch reads. A session gives the same rows however they are
    split: `session_window(at, '1 day')` in GROUP BY, with `emit='on_close'`, ends a group one day after its
    last event, and the next event begins a new one. `window(at, '1 day')` also emits rows before it closes.
MS677 A join can't end by a time to live
    `state: {ttl}` of a join of streams lets rows match whose event times are at most that far apart. So each
    side needs one event time: a timestamp with a watermark. If a side has several, as after another join, say
    in ON which of them counts.
MS678 The rows of a join can't expire by processing time
    With `state: {ttl, ttl_by: processing_time}`, two rows would match or not, depending on when they are
    read: a restart, a rebuild or a slow source would change the result. A `ttl` of a join always counts by
    event time.
MS679 State can't expire by event time
    `state: {ttl, ttl_by: event_time}` ends the state of a key once the watermark has passed the event time of
    its last row by the `ttl`. So the rows that a function gets need one event time: a timestamp with a
    watermark, of the source or in FROM.
""")
CODES = {
    **{name: ErrorCode(code.title, f"{code.explanation} {_ACCEPT}") for name, code in _GROWING.items()},
    **_ENDING,
}
