"""Codes of state that grows for ever."""

from millstream.codes import Code

_ACCEPT = (
    " Where the number of keys is small, or the disk is large, say so: `config(unbounded_state='accept')` for a "
    'model, or `+unbounded_state = "accept"` for a folder.'
)

CODES = {
    "MS560": Code(
        "An aggregate keeps a row per group for ever",
        "Without a window, or with one over a column that has no watermark, Spark can't know that a group is "
        "complete, so its state keeps every group that has ever been seen. Group by a window of the event time as "
        "well: its rows are dropped when the watermark passes their end." + _ACCEPT,
    ),
    "MS561": Code(
        "A dedupe remembers every row for ever",
        "DISTINCT, UNION without ALL, and `dedupe` without `within` compare each row with all before it. "
        "`config(dedupe={'keys': [...], 'within': '1 day'})` forgets a key by event time; a DISTINCT over rows "
        "that include the column of the watermark forgets them, too." + _ACCEPT,
    ),
    "MS562": Code(
        "A join of streams keeps rows for ever",
        "A row of one stream waits for its match in the other. Spark drops it only if the event times of both are "
        "compared in ON, from below and from above: `a.at between b.at - interval 1 hour and b.at + interval 1 "
        "hour`. A bound on one side alone keeps the rows of the other." + _ACCEPT,
    ),
    "MS563": Code(
        "A Python function keeps the state of each key for ever",
        "A function with keyed state remembers each key that it has ever seen. `config(state={'ttl': '7 days'})` "
        "forgets those that don't come again." + _ACCEPT,
    ),
}
