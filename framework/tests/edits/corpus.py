"""Edits of models that keep state, and what may happen to the state: one line an edit.

`same`: the state goes on, and so do the rows. `stored`: the state could, but stored rows would stay as they are.
`mixed`: it could, but would count by both versions.
`rebuild`: it can't, or nobody has proven that it can. Spark itself refuses some of these edits, and takes many
that give wrong rows from then on.
"""

from edits.bases import EVENTS, OTHERS, edits, table
from edits.equal_edits import EQUAL
from edits.more_edits import MORE

SUMS = table(
    "user",
    f"select user, sum(value) as total, sum(value * 2) as twice, sum(id) as ids, count(*) as events\n"
    f"from {EVENTS} where kind <> 'd' group by user",
)
AGGREGATES = edits(
    SUMS,
    ("formatting", "same", "select user, sum", "SELECT\n    user,\n    SUM", " group by", "\nGROUP   BY"),
    ("a comment", "same", "select user", "-- who\nselect /* and */ user"),
    ("alias in capitals", "same", "as total", "as TOTAL"),
    ("a CTE", "same", f"from {EVENTS} where", f"from (select * from {EVENTS}) e where"),
    (
        "a named CTE",
        "same",
        "select user",
        f"with e as (select * from {EVENTS} where kind <> 'd') select user",
        f"from {EVENTS} where kind <> 'd' group",
        "from e group",
    ),
    ("a condition said otherwise", "same", "where kind <> 'd'", "where kind != 'd'"),
    ("parentheses", "same", "sum(value * 2)", "sum((value * 2))"),
    (
        "two sums swapped",
        "rebuild",
        "sum(value) as total, sum(value * 2) as twice",
        "sum(value * 2) as total, sum(value) as twice",
    ),
    ("sum to max", "rebuild", "sum(value) as total", "max(value) as total"),
    ("sum to min", "rebuild", "sum(value) as total", "min(value) as total"),
    ("sum to avg", "rebuild", "sum(value) as total", "avg(value) as total"),
    ("sum to count", "rebuild", "sum(id) as ids", "count(id) as ids"),
    ("sum of another column", "rebuild", "sum(value) as total", "sum(cast(id as double)) as total"),
    ("factor out of a sum", "rebuild", "sum(value * 2)", "2 * sum(value)"),
    ("another factor", "rebuild", "value * 2", "value * 3"),
    ("another type of a sum", "rebuild", "sum(id)", "sum(cast(id as decimal(20, 0)))"),
    ("count of a column", "rebuild", "count(*)", "count(kind)"),
    ("count with a condition", "rebuild", "count(*)", "count_if(value > 1)"),
    ("a filter clause", "rebuild", "sum(value) as total", "sum(value) filter (where id > 5) as total"),
    ("a NULL taken for 0", "rebuild", "sum(value) as total", "sum(coalesce(value, 0)) as total"),
    (
        "a key changed by upper()",
        "rebuild",
        "select user,",
        "select upper(user) as user,",
        "by user",
        "by upper(user)",
    ),
    ("another key", "rebuild", "select user,", "select kind as user,", "by user", "by kind"),
    ("a measure more", "rebuild", "count(*) as events", "count(*) as events, max(id) as last"),
    ("a measure less", "rebuild", ", sum(id) as ids", ""),
    ("another filter before", "mixed", "kind <> 'd'", "kind <> 'c'"),
    ("a filter less", "mixed", " where kind <> 'd'", ""),
    ("a filter more", "mixed", "kind <> 'd'", "kind <> 'd' and id > 3"),
    ("what is done with a result", "stored", "sum(id) as ids", "sum(id) + 1 as ids"),
    (
        "a column of results more",
        "stored",
        "count(*) as events",
        "count(*) as events, count(*) * 2 as doubled",
    ),
)

LAST = table(
    "user",
    f"select user, max_by(kind, id) as kind, min_by(value, id) as first, collect_set(kind) as kinds\n"
    f"from {EVENTS} group by user",
)
ORDERED = edits(
    LAST,
    ("max_by by another column", "rebuild", "max_by(kind, id)", "max_by(kind, value)"),
    ("max_by to min_by", "rebuild", "max_by(kind, id)", "min_by(kind, id)"),
    ("set of something else", "rebuild", "collect_set(kind)", "collect_set(user)"),
    ("set to list", "rebuild", "collect_set(kind)", "collect_list(kind)"),
    ("set of longer numbers", "rebuild", "collect_set(kind)", "collect_set(cast(id as bigint))"),
    ("a result sorted", "stored", "collect_set(kind) as", "sort_array(collect_set(kind)) as"),
)

WINDOWS = table(
    "minute",
    "select window(at, '1 minute').start as minute, count(*) as events, sum(value) as total\n"
    f"from {EVENTS} group by window(at, '1 minute')",
    emit="on_close",
)
SLIDING = table(
    "minute",
    "select window(at, '2 minutes', '1 minute').start as minute, count(*) as events\n"
    f"from {EVENTS} group by window(at, '2 minutes', '1 minute')",
)
KEYED = table(
    ["minute", "user"],
    "select window(at, '1 minute').start as minute, user, count(*) as events\n"
    f"from {EVENTS} group by window(at, '1 minute'), user",
    emit="on_close",
)
SESSIONS = table(
    ["user", "began"],
    "select user, session_window(at, '30 seconds').start as began, count(*) as events\n"
    f"from {EVENTS} group by user, session_window(at, '30 seconds')",
    emit="on_close",
)
TIMES = (
    *edits(
        WINDOWS,
        ("a window said in seconds", "same", "'1 minute'", "'60 seconds'"),
        ("a longer window", "rebuild", "'1 minute'", "'2 minutes'"),
        ("a sliding window", "rebuild", "'1 minute')", "'1 minute', '30 seconds')"),
        (
            "a window that begins elsewhere",
            "rebuild",
            "'1 minute')",
            "'1 minute', '1 minute', '5 seconds')",
        ),
        ("windows told before they close", "rebuild", ", emit='on_close'", ""),
        ("a measure of a window", "rebuild", "sum(value)", "max(value)"),
        ("windows formatted", "same", "select window", "select\n  window"),
    ),
    *edits(
        SLIDING,
        ("another slide", "rebuild", "'2 minutes', '1 minute'", "'2 minutes', '30 seconds'"),
        ("no slide", "rebuild", "'2 minutes', '1 minute'", "'2 minutes'"),
        ("an offset", "rebuild", "'2 minutes', '1 minute'", "'2 minutes', '1 minute', '10 seconds'"),
    ),
    *edits(
        KEYED,
        ("another key beside a window", "rebuild", "user", "kind"),
        (
            "keys of a window swapped",
            "same",
            "by window(at, '1 minute'), user",
            "by user, window(at, '1 minute')",
        ),
        (
            "a filter on a window's key",
            "rebuild",
            "by window(at, '1 minute'), user",
            "by window(at, '1 minute'), user having user <> 'b'",
        ),
        ("a filter before a window", "mixed", " group by", " where id > 2 group by"),
    ),
    *edits(
        SESSIONS,
        ("a longer gap", "rebuild", "'30 seconds'", "'40 seconds'"),
        ("sessions of something else", "rebuild", "user", "kind"),
        ("a comment on sessions", "same", "select user", "select /* of whom */ user"),
    ),
)

# Longer than all records take: of rows that are further apart, one batch drops more than two do.
DEDUPE = table(
    "id", f"select id, user, kind, at from {EVENTS}", dedupe={"keys": ["user", "kind"], "within": "3 hours"}
)
DEDUPES = edits(
    DEDUPE,
    ("keys of a dedupe swapped", "same", "['user', 'kind']", "['kind', 'user']"),
    ("another key of a dedupe", "rebuild", "['user', 'kind']", "['user', 'id']"),
    ("a key of a dedupe less", "rebuild", "['user', 'kind']", "['user']"),
    ("remembered longer", "rebuild", "'3 hours'", "'4 hours'"),
    ("remembered exactly", "rebuild", "'3 hours'", "'3 hours', 'exact': True"),
    ("a filter before a dedupe", "mixed", f"from {EVENTS}", f"from {EVENTS} where id > 4"),
    ("a dedupe formatted", "same", "select id, user", "select id,\n  user"),
)

EXACT = edits(
    table(
        "id",
        f"select id, user, kind, at from {EVENTS}",
        dedupe={"keys": ["user", "kind"], "within": "3 minutes", "exact": True},
    ),
    ("an exact dedupe formatted", "same", "select id, user", "select id,\n  user"),
    ("keys of an exact dedupe swapped", "same", "['user', 'kind']", "['kind', 'user']"),
    ("remembered longer exactly", "rebuild", "'3 minutes'", "'4 minutes'"),
    ("no longer exact", "rebuild", "'exact': True", "'exact': False"),
    ("another key of an exact dedupe", "rebuild", "['user', 'kind']", "['user']"),
    ("a filter before an exact dedupe", "mixed", f"from {EVENTS}", f"from {EVENTS} where id > 4"),
    ("a column more of an exact dedupe", "stored", "kind, at", "kind, value, at"),
)

JOIN = table(
    "id",
    f"select e.id, e.user, o.kind as other from {EVENTS} e join {OTHERS} o\n"
    "on e.user = o.user and o.at between e.at - interval 1 minute and e.at + interval 1 minute",
)
JOINS = edits(
    JOIN,
    ("wider bounds of time", "rebuild", "+ interval 1 minute", "+ interval 2 minutes"),
    ("joined by something else", "rebuild", "e.user = o.user", "e.kind = o.kind"),
    ("an outer join", "rebuild", " join {{", " left join {{"),
    ("a condition on one side", "rebuild", "and o.at", "and o.value > 1 and o.at"),
    ("sides swapped", "rebuild", f"{EVENTS} e join {OTHERS} o", f"{OTHERS} o join {EVENTS} e"),
    ("a column more of a side", "rebuild", "o.kind as other", "o.kind as other, o.value as much"),
    (
        "a filter before a join",
        "rebuild",
        "e join",
        "e join",
        f"from {EVENTS} e",
        f"from (select * from {EVENTS} where id > 2) e",
    ),
    ("other names in a join", "same", " e join", " a join", "e.", "a."),
)

UNION = table(
    "user",
    f"select user, count(*) as events from (select user from {EVENTS} union all select user from {OTHERS}) u group by user",
)
UNIONS = edits(
    UNION,
    (
        "sides of a union swapped",
        "same",
        f"select user from {EVENTS} union all select user from {OTHERS}",
        f"select user from {OTHERS} union all select user from {EVENTS}",
    ),
    ("a side of a union less", "rebuild", f" union all select user from {OTHERS}", ""),
)

FUNCTION = table(
    "part", f"select part_of(user) as part, count(*) as events from {EVENTS} group by part_of(user)"
)
FUNCTIONS = edits(
    FUNCTION,
    ("another function of a key", "rebuild", "part_of", "letter_of"),
    ("a function of a key in capitals", "same", "select part_of", "SELECT part_of"),
)

STATELESS = table("user", f"select user, id, value * 2 as twice from {EVENTS}", order_by="id")
STORED = edits(
    STATELESS,
    ("a stored column's expression", "stored", "value * 2", "value * 3"),
    ("which rows are stored", "stored", f"from {EVENTS}", f"from {EVENTS} where id > 3"),
    ("another key of a table", "rebuild", "unique_key='user'", "unique_key='id'"),
    ("another order of a table", "stored", "order_by='id'", "order_by='twice'"),
    ("a table formatted", "same", "select user, id", "select user,\n       id"),
)

EDITS = (*AGGREGATES, *ORDERED, *TIMES, *DEDUPES, *EXACT, *JOINS, *UNIONS, *FUNCTIONS, *STORED, *MORE, *EQUAL)
UNSEEN = frozenset(("a mean said as a quotient", "sides swapped"))
"""Edits that change nothing, which nobody has proven yet."""

MACROS = """
def part_of(user: str) -> str:
    return user[:1]


def letter_of(user: str) -> str:
    return user[-1:]
"""
