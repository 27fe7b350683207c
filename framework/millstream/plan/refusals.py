"""The constructs that Spark can't run over a stream: what the compiler rejects, why, and the remedy.

`framework/tests/plan/test_refusals.py` runs each row's SQL as a streaming query.
"""

from __future__ import annotations

from millstream.core.errors import UnlocatedDiagnostic
from millstream.sql.query import FormKind


class Refusal(UnlocatedDiagnostic, frozen=True):
    only_opaque: bool = False
    """Only rejected within opaque SQL."""


_NEWEST = (
    "for the newest row per key, write a table with unique_key and order_by, "
    "or max_by(struct(…), time) with GROUP BY"
)
_BEST = (
    "remove it: sort the stored rows with `millstream query`, or keep the best of each group "
    "with max_by, min_by or slice(array_sort(collect_list(…)), 1, 10)"
)
_SEPARATE = "move the opaque part to a separate model, and read it with ref()"

REFUSALS: dict[FormKind, Refusal] = {
    "window function": Refusal("MS530", "a window function can't run over a stream", _NEWEST),
    "sort": Refusal("MS531", "a stream can't be sorted: it has no end", _BEST),
    "limit": Refusal(
        "MS531", "a stream can't be limited: its first rows depend on when they are read", _BEST
    ),
    "set operation": Refusal(
        "MS532",
        "INTERSECT and EXCEPT can't read a stream",
        "write SELECT DISTINCT … LEFT SEMI JOIN for INTERSECT, LEFT ANTI JOIN for EXCEPT, "
        "with a table, a seed or a reference topic on the right",
    ),
    "grouping sets": Refusal(
        "MS533",
        "ROLLUP, CUBE and GROUPING SETS can't read a stream",
        "write one model for each grouping, each with its own GROUP BY",
    ),
    "sample": Refusal(
        "MS534",
        "TABLESAMPLE can't read a stream",
        "write a condition on a hash of the key: where pmod(xxhash64(id), 100) < 5",
    ),
    "pivot": Refusal(
        "MS535",
        "PIVOT can't read a stream",
        "write one aggregate for each value: sum(amount) filter (where kind = 'a') as a",
    ),
    "recursion": Refusal(
        "MS536",
        "a recursive CTE can't read a stream",
        "write one join for each level, or list all ancestors in a seed",
    ),
    "subquery": Refusal(
        "MS517",
        "a subquery can't read {name}, which is {kind}",
        "read a table, a seed or a reference topic there, or join the stream",
    ),
    "session of all rows": Refusal(
        "MS537",
        "a session over all rows of a stream is not supported",
        "group by a key as well: group by session_window(at, '5 minutes'), user_id",
    ),
    "row number": Refusal(
        "MS538",
        "monotonically_increasing_id() can't run over a stream: it would start again in each batch",
        "use concat_ws('-', _topic, _partition, _offset), which identifies the record of a topic, or uuid()",
    ),
    "union": Refusal(
        "MS540",
        "a UNION can't add rows at rest to a stream",
        "send the rows at rest to a topic, and read that topic in the UNION",
    ),
    "grouping": Refusal("MS539", "an aggregate can't be combined with {reason}", _SEPARATE, only_opaque=True),
    "distinct": Refusal("MS539", "DISTINCT can't be combined with {reason}", _SEPARATE, only_opaque=True),
    "join": Refusal(
        "MS539", "a join of streams can't be combined with {reason}", _SEPARATE, only_opaque=True
    ),
    "outer join": Refusal(
        "MS539",
        "an outer join can't return the unmatched rows of the side at rest",
        "write a left join from the stream to the table",
        only_opaque=True,
    ),
}
