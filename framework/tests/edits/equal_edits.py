"""Edits that say the same in other words, and others that only look like it: one line an edit."""

from edits.bases import EVENTS, OTHERS, edits, table
from edits.more_edits import KINDS

MIXED = table(
    "user",
    "select user, sum(value * 2) as twice, count(*) as events, count_if(value > 1) as big,\n"
    "sum(case when kind = 'd' then value end) as of_d, avg(value) as mean, upper(max(kind)) as last\n"
    f"from {EVENTS} where kind <> 'x' and id >= 0 and value between 0 and 100 group by user",
)
SAID_OTHERWISE = edits(
    MIXED,
    ("a product turned round", "same", "value * 2", "2 * value"),
    ("a product in parentheses", "same", "value * 2", "(value) * (2)"),
    ("count(1)", "same", "count(*)", "count(1)"),
    ("count of a text", "same", "count(*)", "count('x')"),
    ("a condition as a CASE", "same", "count_if(value > 1)", "count(case when value > 1 then 1 end)"),
    ("a condition as a FILTER", "same", "count_if(value > 1)", "count(*) filter (where value > 1)"),
    ("a comparison turned round", "same", "value > 1", "1 < value"),
    ("a comparison denied", "same", "value > 1", "not value <= 1"),
    ("a CASE as a FILTER", "same", "sum(case when kind = 'd' then value end)", "sum(value) filter (where kind = 'd')"),
    ("a CASE as an IF", "same", "case when kind = 'd' then value end", "if(kind = 'd', value, null)"),
    ("a CASE of a value", "same", "case when kind = 'd'", "case kind when 'd'"),
    ("a CASE with ELSE NULL", "same", "then value end", "then value else null end"),
    ("an equation turned round", "same", "kind = 'd'", "'d' = kind"),
    ("mean() for avg()", "same", "avg(value)", "mean(value)"),
    ("ucase() for upper()", "same", "upper(", "ucase("),
    ("conditions in another order", "same", "kind <> 'x' and id >= 0", "id >= 0 and kind <> 'x'"),
    ("a condition twice", "same", "kind <> 'x'", "kind <> 'x' and kind <> 'x'"),
    ("a denied equation", "same", "kind <> 'x'", "not (kind = 'x')"),
    ("a list of one", "same", "kind <> 'x'", "kind not in ('x')"),
    ("BETWEEN in two", "same", "value between 0 and 100", "value >= 0 and value <= 100"),
    ("BETWEEN in two, turned round", "same", "value between 0 and 100", "100 >= value and 0 <= value"),
    ("measures in another order", "same", "count(*) as events, count_if(value > 1) as big", "count_if(value > 1) as big, count(*) as events"),
    ("a key at the end", "same", "select user, sum", "select sum", "as last", "as last, user"),
    ("a filter in a CTE", "same", "select user", f"with e as (select * from {EVENTS} where kind <> 'x') select user", f"from {EVENTS} where kind <> 'x' and", "from e where"),
    ("a filter within", "same", f"from {EVENTS} where", f"from (select * from {EVENTS} where id >= 0) where", " and id >= 0", ""),
    ("all in a WHERE of two", "same", f"from {EVENTS} where kind <> 'x' and", f"from (select user, kind, value, id, at from {EVENTS} where 'x' <> kind) as e where"),
    ("GROUP BY a number", "same", "group by user", "group by 1"),
    ("GROUP BY ALL", "same", "group by user", "group by all"),
    ("a column computed within", "same", "sum(value * 2)", "sum(twice)", f"from {EVENTS}", f"from (select *, value * 2 as twice from {EVENTS})"),
    # These only look like it.
    ("a product of another number", "rebuild", "value * 2", "2.5 * value"),
    ("count of a column", "rebuild", "count(*)", "count(value)"),
    ("a comparison that includes", "rebuild", "value > 1", "not value < 1"),
    ("a CASE with ELSE 0", "rebuild", "then value end", "then value else 0 end"),
    ("median() for avg()", "rebuild", "avg(value)", "median(value)"),
    ("OR for AND", "mixed", "kind <> 'x' and", "kind <> 'x' or"),
    ("BETWEEN without its ends", "mixed", "value between 0 and 100", "value > 0 and value < 100"),
    ("names of measures swapped", "stored", "as events, count_if(value > 1) as big", "as big, count_if(value > 1) as events"),
    ("max() for min(), in words alike", "rebuild", "max(kind)", "min(kind)"),
    ("lower() for upper()", "stored", "upper(", "lower("),
    ("a list that denies more", "mixed", "kind <> 'x'", "kind not in ('x', 'e')"),
)  # fmt: skip

WINDOWS = table(
    ["minute", "user"],
    "select window.start as minute, user, count(*) as events\n"
    f"from {EVENTS} group by window(at, '2 minutes', '1 minute'), user",
    emit="on_close",
)
OF_WINDOWS = edits(
    WINDOWS,
    ("a window in seconds", "same", "'2 minutes'", "'120 seconds'"),
    ("a window in words", "same", "'2 minutes'", "'1 minute 60 seconds'"),
    ("an interval before a window", "same", "'2 minutes'", "'interval 2 minutes'"),
    ("a slide in seconds", "same", "'1 minute')", "'60 seconds')"),
    ("a window's key first", "same", "by window(at, '2 minutes', '1 minute'), user", "by user, window(at, '2 minutes', '1 minute')"),
    ("a window in capitals", "same", "window(at", "WINDOW(at"),
    ("no slide at all", "rebuild", "'2 minutes', '1 minute'", "'2 minutes'"),
    ("the end for the start", "stored", "window.start", "window.end"),
)  # fmt: skip

PAIRS = table(
    "id",
    f"select e.id, e.user, o.kind as other from {EVENTS} e join {OTHERS} o\n"
    "on e.user = o.user and o.at >= e.at - interval 1 minute and o.at <= e.at + interval 1 minute",
)
OF_PAIRS = edits(
    PAIRS,
    ("a condition of a join turned round", "same", "e.user = o.user", "o.user = e.user"),
    ("bounds as BETWEEN", "same", "o.at >= e.at - interval 1 minute and o.at <= e.at + interval 1 minute", "o.at between e.at - interval 1 minute and e.at + interval 1 minute"),
    ("bounds turned round", "same", "o.at >= e.at - interval 1 minute", "e.at - interval 1 minute <= o.at"),
    ("conditions of a join in another order", "same", "e.user = o.user and o.at >= e.at - interval 1 minute", "o.at >= e.at - interval 1 minute and e.user = o.user"),
    ("INNER said", "same", " join {{", " inner join {{"),
    ("a column of the other side", "rebuild", "e.id, e.user, o.kind", "o.id, e.user, e.kind"),
    ("bounds on the other side", "rebuild", "o.at >= e.at - interval 1 minute and o.at <= e.at +", "e.at >= o.at - interval 1 minute and e.at <= o.at +"),
)  # fmt: skip

FIRST = table(
    "id",
    f"select id, user, kind, at from {EVENTS} where value > 1",
    dedupe={"keys": ["id"], "within": "3 hours"},
)
OF_FIRST = edits(
    FIRST,
    ("remembered for the same time", "same", "'3 hours'", "'180 minutes'"),
    ("a filter of a dedupe turned round", "same", "value > 1", "1 < value"),
    ("a filter of a dedupe, and one more", "mixed", "value > 1", "value > 1 and value > 2"),
)

BOTH = table(
    "user",
    f"select user, count(*) as events from (select user from {EVENTS} where value > 1"
    f" union all select user from {OTHERS} where value > 2) group by user",
)
OF_BOTH = edits(
    BOTH,
    ("a side of a union turned round", "same", "value > 1", "1 < value"),
    ("filters of the sides of a union swapped", "mixed", "value > 1", "value > 3", "value > 2", "value > 1", "value > 3", "value > 2"),
)  # fmt: skip

COUNTS = table(
    "user",
    "select user, count_if(value > 1) as big, sum(case when kind = 'd' then 1 else 0 end) as of_d, max(value) as most,\n"
    f"coalesce(sum(case when kind = 'e' then 1 end), 0) as of_e from {EVENTS} group by user\n"
    "having sum(value) / count(*) between 1 and 8 and sum(value) not between min(id) and 2",
)
OF_COUNTS = edits(
    COUNTS,
    ("a count as a sum of 1 and 0", "same", "count_if(value > 1)", "sum(case when value > 1 then 1 else 0 end)"),
    ("a count as a sum of IF", "same", "count_if(value > 1)", "sum(if(1 < value, 1, 0))"),
    ("a count as a sum without NULL", "same", "count_if(value > 1)", "coalesce(sum(if(value > 1, 1, 0)), 0)"),
    ("a sum of 1 and 0 as a count", "same", "sum(case when kind = 'd' then 1 else 0 end)", "count_if(kind = 'd')"),
    ("a sum of 1, or 0, as a count", "same", "coalesce(sum(case when kind = 'e' then 1 end), 0)", "count_if(kind = 'e')"),
    ("a count as count of a CASE", "same", "count_if(value > 1)", "coalesce(count(case when value > 1 then 1 end), 0)"),
    ("BETWEEN of a quotient in two", "same", "sum(value) / count(*) between 1 and 8", "sum(value) / count(*) >= 1 and sum(value) / count(*) <= 8"),
    ("NOT BETWEEN in two", "same", "sum(value) not between min(id) and 2", "(sum(value) < min(id) or sum(value) > 2)"),
    ("both denied", "same", "sum(value) not between min(id) and 2", "not (sum(value) >= min(id) and 2 >= sum(value))"),
    # These only look like it.
    ("a sum of 1, or NULL", "rebuild", "count_if(value > 1)", "sum(case when value > 1 then 1 end)"),
    ("a sum of 2 and 0", "rebuild", "count_if(value > 1)", "sum(case when value > 1 then 2 else 0 end)"),
    ("a sum of 1 and 1", "rebuild", "count_if(value > 1)", "sum(case when value > 1 then 1 else 1 end)"),
    ("a sum of 1 and 0 of some", "rebuild", "count_if(value > 1)", "sum(case when value > 1 then 1 else 0 end) filter (where id > 2)"),
    ("a sum of a cast condition", "rebuild", "count_if(value > 1)", "sum(cast(value > 1 as int))"),
    ("a sum of 1.0 and 0", "rebuild", "count_if(value > 1)", "sum(case when value > 1 then 1.0 else 0 end)"),
    ("a sum of 1 or 0, or 1", "rebuild", "count_if(value > 1)", "coalesce(sum(case when value > 1 then 1 end), 1)"),
    ("NOT BETWEEN by AND", "rebuild", "sum(value) not between min(id) and 2", "sum(value) < min(id) and sum(value) > 2"),
)  # fmt: skip

FILTERED_PAIRS = f"{PAIRS} where e.value > 1"
BIG = f"(select * from {EVENTS} where value > 1)"
LOOKED_UP = table(
    "label",
    f"select k.label, count(*) as events from {EVENTS} as e left join {KINDS} as k on k.kind = e.kind\n"
    "where e.value > 1 and e.id > 2 group by k.label",
)
OF_FILTERS = (
    *edits(
        FILTERED_PAIRS,
        ("a filter moved below a join", "same", f"{EVENTS} e", f"{BIG} e", " where e.value > 1", ""),
        ("a filter moved below a join, and changed", "rebuild", f"{EVENTS} e", f"{BIG.replace('> 1', '> 2')} e", " where e.value > 1", ""),
        ("a filter moved below the other side", "rebuild", f"{OTHERS} o", f"{BIG.replace('events', 'others')} o", " where e.value > 1", ""),
    ),
    *edits(
        FILTERED_PAIRS.replace(" join {{", " left join {{"),
        ("a filter moved below a left join", "same", f"{EVENTS} e", f"{BIG} e", " where e.value > 1", ""),
        ("a filter moved into ON of a left join", "rebuild", " where e.value", " and e.value"),
        ("a filter moved below the side that may lack", "rebuild", f"{OTHERS} o", f"{BIG.replace('events', 'others')} o", " where e.value > 1", ""),
    ),
    *edits(
        FILTERED_PAIRS.replace(" join {{", " full join {{").replace("e.id,", "coalesce(e.id, -1) as id,"),
        ("a filter moved below a full join", "rebuild", f"{EVENTS} e", f"{BIG} e", " where e.value > 1", ""),
    ),
    *edits(
        LOOKED_UP,
        ("a filter moved below a lookup", "same", f"{EVENTS} as e", f"{BIG} as e", "e.value > 1 and ", ""),
        ("filters moved below a lookup", "same", f"{EVENTS} as e", f"{BIG.replace('value > 1', 'id > 2 and 1 < value')} as e", "where e.value > 1 and e.id > 2 ", ""),
        ("a filter moved below a lookup, and changed", "mixed", f"{EVENTS} as e", f"{BIG.replace('> 1', '> 2')} as e", "e.value > 1 and ", ""),
    ),
)  # fmt: skip

EQUAL = (*SAID_OTHERWISE, *OF_WINDOWS, *OF_PAIRS, *OF_FIRST, *OF_BOTH, *OF_COUNTS, *OF_FILTERS)
