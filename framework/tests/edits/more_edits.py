"""More edits: statistics, lookups, keyed state, outer joins, windows that refine, duplicates for ever, HAVING."""

from edits.bases import EVENTS, OTHERS, edits, table

KINDS = "{{ ref('kinds') }}"

STATISTICS = edits(
    table(
        "kind",
        "select kind, approx_count_distinct(user) as users, stddev(value) as spread, bool_and(value > 1) as big,\n"
        f"count_if(value > 5) as many, avg(value) as mean, min(at) as first from {EVENTS} group by kind",
    ),
    ("statistics formatted", "same", "select kind,", "select\n  KIND as kind,"),
    ("another precision", "rebuild", "approx_count_distinct(user)", "approx_count_distinct(user, 0.1)"),
    (
        "about how many of something else",
        "rebuild",
        "approx_count_distinct(user)",
        "approx_count_distinct(id)",
    ),
    ("a spread of all instead of a sample", "rebuild", "stddev(value)", "stddev_pop(value)"),
    ("a variance instead of a spread", "rebuild", "stddev(value)", "variance(value)"),
    ("all to any", "rebuild", "bool_and", "bool_or"),
    ("another condition of a count", "rebuild", "value > 5", "value > 6"),
    ("min to max of a time", "rebuild", "min(at)", "max(at)"),
    ("a mean said as a quotient", "rebuild", "avg(value)", "sum(value) / count(value)"),
    ("a mean rounded", "stored", "avg(value)", "round(avg(value), 1)"),
    ("a result with another name", "stored", "as mean", "as average"),
    ("a result left out of several", "rebuild", ", min(at) as first", ""),
)

LOOKUPS = edits(
    table(
        "name",
        f"select k.name, count(*) as events from {EVENTS} as e join {KINDS} as k on k.kind = e.kind group by k.name",
    ),
    ("a lookup formatted", "same", "select k.name", "select\n  k.name"),
    ("other names in a lookup", "same", " as e join", " as ev join", "e.kind group", "ev.kind group"),
    ("looked up by something else", "mixed", "k.kind = e.kind", "k.kind = left(e.user, 1)"),
    (
        "grouped by another column of a lookup",
        "rebuild",
        "k.name",
        "k.label",
        "select k.label",
        "select k.label as name",
    ),
    ("a condition on what is looked up", "mixed", "= e.kind", "= e.kind and k.kind <> 'd'"),
    ("a filter after a lookup", "mixed", " group by", " where e.id > 4 group by"),
    ("a lookup that keeps all rows", "rebuild", " join {{ ref", " left join {{ ref"),
)

KEYED_STATE = edits(
    table(
        "user", f"select t.user, t.total from {EVENTS} as e, lateral totals(e.user) as t", order_by="total"
    ),
    ("keyed state formatted", "same", "select t.user", "select\n  t.user"),
    ("another name of keyed state", "same", " as e,", " as ev,", "(e.user)", "(ev.user)"),
    ("another function of keyed state", "rebuild", "totals(", "counts("),
    ("another key of keyed state", "rebuild", "totals(e.user)", "totals(e.kind)"),
    (
        "a filter before keyed state",
        "rebuild",
        f"from {EVENTS} as e",
        f"from (select * from {EVENTS} where id > 4) as e",
    ),
    ("what is done with results of keyed state", "stored", "t.total", "t.total + 1 as total"),
)

EXPIRING = edits(
    table(
        "user",
        f"select t.user, t.total from {EVENTS} as e, lateral totals(e.user) as t",
        order_by="total",
        state={"ttl": "1 day", "ttl_by": "event_time"},
    ),
    ("state that expires by the clock instead", "rebuild", "'event_time'", "'processing_time'"),
    ("state that expires later", "rebuild", "'1 day'", "'2 days'"),
    ("expiring state formatted", "same", "select t.user", "select\n  t.user"),
)

OUTER = edits(
    table(
        ["id", "other"],
        f"select e.id, coalesce(o.id, -1) as other from {EVENTS} as e left join {OTHERS} as o\n"
        "on e.user = o.user and o.at between e.at - interval 1 minute and e.at + interval 1 minute",
    ),
    ("an outer join formatted", "same", "select e.id", "select\n  e.id"),
    ("narrower bounds of time", "rebuild", "- interval 1 minute", "- interval 30 seconds"),
    ("an inner join", "rebuild", " left join", " join"),
    ("a full join", "rebuild", " left join", " full join", "select e.id", "select coalesce(e.id, -1) as id"),
    ("bounds said in seconds", "rebuild", "+ interval 1 minute", "+ interval 60 seconds"),
    ("what stands for none", "stored", "coalesce(o.id, -1)", "coalesce(o.id, -2)"),
)

REFINED = edits(
    table(
        ["minute", "kind"],
        "select window(at, '1 minute').start as minute, kind, max(value) as most\n"
        f"from {EVENTS} group by window(at, '1 minute'), kind",
    ),
    ("refined windows formatted", "same", "select window", "select\n  window"),
    ("a minute cut instead of a window", "rebuild", "window(at, '1 minute').start", "date_trunc('minute', at)",
     "by window(at, '1 minute')", "by date_trunc('minute', at)"),
    ("the newest instead of the largest", "rebuild", "max(value)", "max_by(value, id)"),
    ("the end of a window", "stored", ".start as minute", ".end as minute"),
    ("a refined window of two", "rebuild", "'1 minute'", "'2 minutes'"),
    ("a filter before refined windows", "mixed", " group by", " where kind <> 'd' group by"),
)  # fmt: skip

FOR_EVER = edits(
    table("user", f"select user, kind, value, at from {EVENTS}", dedupe={"keys": ["user"]}),
    ("duplicates for ever formatted", "same", "select user,", "select\n  user,"),
    ("duplicates for an hour", "rebuild", "['user']", "['user'], 'within': '1 hour'"),
    ("duplicates by one more", "rebuild", "['user']", "['user', 'kind']"),
    ("a column more of the first rows", "stored", "kind, value,", "kind, value, id,"),
    ("a column of the first rows calculated", "stored", "kind, value,", "kind, value * 2 as value,"),
)

FILTERED_UNION = edits(
    table(
        "user",
        f"select user, count(*) as events from (\n  select user from {EVENTS} where kind = 'c'\n"
        f"  union all\n  select user from {OTHERS}\n) as u group by user",
    ),
    ("a union formatted", "same", "select user, count", "select\n  user, count"),
    ("another name of a union", "same", ") as u", ") as both_of_them"),
    ("a filter of one side", "mixed", "kind = 'c'", "kind = 'd'"),
    (
        "another column of one side",
        "rebuild",
        f"select user from {OTHERS}",
        f"select kind as user from {OTHERS}",
    ),
    ("a side more", "rebuild", ") as u", f"  union all\n  select kind as user from {OTHERS}\n) as u"),
)

POINTS = edits(
    table("user", f"select user, sum(points_of(kind)) as points from {EVENTS} group by user"),
    ("a sum of a function formatted", "same", "select user", "select\n  user"),
    ("another function in a sum", "rebuild", "points_of", "length"),
    ("another argument of a function", "rebuild", "points_of(kind)", "points_of(user)"),
    ("a function as a filter", "mixed", " group", " where part_of(user) <> 'a' group"),
    ("a result through a function", "stored", "sum(points_of(kind))", "abs(sum(points_of(kind)))"),
)

HAVING = edits(
    table("user", f"select user, count(*) as events from {EVENTS} group by user having count(*) > 2"),
    ("having formatted", "same", "select user", "select\n  user"),
    ("another bound of having", "stored", "> 2", "> 3"),
    ("no having", "stored", " having count(*) > 2", ""),
)

MORE = (
    *STATISTICS, *LOOKUPS, *KEYED_STATE, *EXPIRING, *OUTER, *REFINED, *FOR_EVER, *FILTERED_UNION, *POINTS, *HAVING,
)  # fmt: skip
KINDS_CSV = "kind,name,label\nc,click,a\nd,drag,b\ne,enter,b\n"
MACROS = """
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass
class Event:
    id: int


@dataclass
class State:
    total: int = 0


@dataclass
class Total:
    user: str
    total: int


def totals(key: str, rows: Iterator[Event], state: State) -> Iterator[Total]:
    state.total += sum(row.id for row in rows)
    yield Total(key, state.total)


def counts(key: str, rows: Iterator[Event], state: State) -> Iterator[Total]:
    state.total += sum(1 for row in rows)
    yield Total(key, state.total)


def points_of(kind: str) -> int:
    return "cde".find(kind) + 1
"""
