"""SQL by groups: in each, one is an edit of the other that changes what is read above a state."""

from itertools import product

E, H = "{{ source('shop', 'events') }}", "{{ source('shop', 'hits') }}"
ON = "on e.user_id = h.visitor and h.seen between e.at and e.at + interval 1 hour"
GROUPED = "select user_id, count(*) as n, sum(value) as s, max(type) as t"
WINDOWS = f"select window(at, '10 seconds') as w, user_id, count(*) as n, sum(value) as s, max(type) as t from {E} group by window(at, '10 seconds'), user_id"
SESSIONS = WINDOWS.replace("window(at", "session_window(at")
STRUCTS = f"(select user_id, at, from_json(type, 'a string, b string, c double') as s from {E})"
ARRAYS = f"(select user_id, at, from_json(type, 'array<struct<a:string,b:string,c:int>>') as s, from_json(type, 'map<string, struct<a:string,b:string>>') as m from {E})"
KINDS = ("", "left", "full")
SINK = "{{ config(materialized='sink') }}\n"
CLOSED = "{{ config(materialized='sink', emit='on_close') }}\n"


def table(key):
    return f"{{{{ config(materialized='table', unique_key='{key}') }}}}\n"


def join(columns, where="", kind="", on=ON, left=E):
    return f"{SINK}select {columns} from {left} e {kind} join {H} h {on} {where}"


def joins(columns, where="", **options):
    return [join(selected, where, **options) for selected in columns]


def grouped(columns, where="", inner=f"{GROUPED} from {E} group by user_id"):
    return [f"{table('user_id')}select {selected} from ({inner}) {where}" for selected in columns]


def closed(columns, inner, where=""):
    return [f"{CLOSED}select {selected} from ({inner}) {where}" for selected in columns]


SHORT = {
    "a join": joins(("e.user_id, h.path", "e.user_id, e.value, h.path", "e.value, e.user_id, e.at, h.path")),
    "a left join of those with a match": joins(("e.user_id", "e.user_id, h.path"), "where h.path is not null", kind="left"),
    "a semi join": joins(("e.user_id", "e.user_id, upper(e.type) as t"), kind="left semi"),
    "a condition above a window": [*closed(("w.start as b, user_id, s, n",), f"select * from ({WINDOWS})"), *closed(("w.start as b, user_id, s, n",), f"select * from ({WINDOWS})", "where n > 1")],
    "a condition on one side": joins(("e.user_id", "e.user_id, e.value"), "where e.value > 1", kind="full"),
    "a condition in ON that stays": joins(("e.user_id", "e.user_id, e.value"), kind="left", on=f"{ON} and e.value > 1"),
    "fields of a struct": joins(("e.user_id, e.s.a as x", "e.user_id, e.s.b as x"), left=STRUCTS),
    "an aggregate in a subquery": grouped(("user_id, n, s", "user_id, s, n", "user_id, n, s, s / n as r")),
    "HAVING of a subquery": grouped(("user_id, n", "user_id, s, n"), "where t > 'a'"),
    "a window in a subquery": closed(("w.start as b, user_id, n", "w.start as b, user_id, s, n"), WINDOWS),
    "a join of a join": [f"{SINK}select {columns} from {E} e join {H} h {ON} join {E} g on g.user_id = e.user_id and g.at between e.at and e.at + interval 1 hour" for columns in ("e.user_id, h.path", "e.user_id, h.path, g.value as v")],
}  # fmt: skip
BY_SPARK = ("a join", "a left join of those with a match", "an aggregate in a subquery")
"""Those whose first two are compared with Spark's states in each run of the tests."""
GOES_ON = {
    "a join": {(1, 2)},
    "a condition in ON that stays": {(0, 1)},
    "an aggregate in a subquery": {(0, 2)},
}
"""The pairs whose state stays, besides each with itself."""


def _of_kind(kind):
    return {
        "columns": joins(("e.user_id, h.path", "e.user_id, e.value, h.path", "e.user_id, e.value, e.type, h.path", "e.user_id, e.at, h.path", "e.user_id, h.seen, h.path", "e.value, e.user_id, h.path", "e.user_id, upper(e.type) as t, h.path", "e.user_id, upper(e.product_id) as t, h.path", "e.user_id, concat(e.type, h.path) as t"), kind=kind),
        "left condition": joins(("e.user_id, h.path", "e.user_id, e.value, h.path", "e.user_id, h.path, e.type", "e.user_id, h.path, e.type, e.value, h.seen"), "where e.value > 1", kind=kind),
        "right condition": joins(("e.user_id", "e.user_id, h.path", "e.user_id, h.path, e.value"), "where h.path is not null", kind=kind),
        "condition on both": joins(("e.user_id, h.seen", "e.user_id, h.seen, h.path", "e.user_id, h.seen, h.path, e.type", "e.user_id, h.seen, e.value"), "where h.path > e.type", kind=kind),
        "condition in ON": joins(("e.user_id, h.path", "e.user_id, e.value, h.path", "e.user_id, e.type, h.path"), kind=kind, on=f"{ON} and e.value > 1"),
        "condition that can fail": joins(("e.user_id, h.path", "e.user_id, e.type, h.path", "e.user_id, e.value, h.path"), "where cast(e.type as int) > 1", kind=kind),
        "condition that calls Python": joins(("e.user_id, h.path", "e.user_id, e.type, h.path", "e.user_id, e.value, h.path"), "where score(e.type, e.value) > 1", kind=kind),
        "call of Python": joins(("e.user_id, score(e.type, 1.0) as x, h.path", "e.user_id, score(e.type, e.value) as x, h.path", "e.user_id, score(h.path, e.value) as x", "e.user_id, e.type, score(e.type, e.value) as x, h.path"), kind=kind),
        "chance": joins(("e.user_id, h.path", "e.user_id, e.value, h.path"), "where e.value > rand()", kind=kind),
        "calculated below": joins(("e.user_id, e.v2, h.path", "e.user_id, h.path", "e.user_id, e.v2, e.value, h.path"), kind=kind, left=f"(select *, value * 2 as v2 from {E})"),
        "constant below": joins(("e.user_id, h.path", "e.user_id, e.k, h.path"), kind=kind, left=f"(select *, 'x' as k from {E})"),
        "outer select": [f"{SINK}select {c} from (select e.*, h.path, h.seen as s from {E} e {kind} join {H} h {ON})" for c in ("user_id, path", "user_id, value, path", "user_id, path, s", "user_id, at, path")],
        "outer condition": [f"{SINK}select {c} from (select e.user_id, e.value + 1 as v, e.type as t, h.path as p from {E} e {kind} join {H} h {ON}) where {w}" for c, w in product(("user_id, p", "user_id, v", "user_id, v, t"), ("v > 2", "t = p", "length(p) > 1", "v > length(p)"))],
    }  # fmt: skip


LONG = {
    **SHORT,
    **{f"{kind} join: {name}": queries for kind in KINDS for name, queries in _of_kind(kind).items()},
    "semi join": joins(("e.user_id", "e.user_id, e.value", "e.user_id, e.value, e.type", "e.user_id, e.at", "e.user_id, upper(e.type) as t"), kind="left semi"),
    "semi join: condition": joins(("e.user_id", "e.user_id, e.value", "e.user_id, e.value, e.type"), "where e.value > 1", kind="left semi"),
    "semi join: condition in ON": joins(("e.user_id", "e.user_id, e.value"), kind="left semi", on=f"{ON} and h.path > 'a'"),
    "structs": joins(("e.user_id, e.s.a as x, h.path", "e.user_id, e.s.b as x, h.path", "e.user_id, e.s.a as x, e.s.b as y, h.path", "e.user_id, e.s, h.path"), left=STRUCTS),
    "structs by another name": [f"{SINK}select {c} from (select e.user_id, e.s as t, h.path from {STRUCTS} e join {H} h {ON})" for c in ("user_id, t.a as x, path", "user_id, t.b as x, path", "user_id, t.a as x, t.b as y, path")],
    "structs in arrays": joins([f"e.user_id, {x}" for x in ("e.s[0].a as x", "e.s[0].b as x", "e.s.a as x", "e.m['k'].a as x", "e.m['k'].b as x", "size(e.s) as x", "map_values(e.m).a as x", "map_values(e.m).b as x", "transform(e.s, i -> i.a) as x", "transform(e.s, i -> i.b) as x", "e.s[0].a as x, e.s[0].b as y")], left=ARRAYS),
    "explode": [f"{SINK}select {c} from {ARRAYS} e join {H} h {ON} lateral view explode(e.s) t as i" for c in ("e.user_id, t.i.a as x", "e.user_id, t.i.b as x", "e.user_id, t.i.a as x, h.path", "e.user_id, t.i as x")],
    "inline": [f"{SINK}select {c} from {ARRAYS} e join {H} h {ON} lateral view inline(e.s) t as a, b, c" for c in ("e.user_id, t.a as x", "e.user_id, t.b as x", "e.user_id, t.c as x, h.path")],
    "windows of rows": joins(("e.user_id", "e.user_id, e.w.start as b", "e.user_id, e.w.end as b"), on="on e.user_id = h.visitor and h.seen between e.w.start and e.w.end", left=f"(select user_id, value, cast(at as string) as at, window(at, '10 seconds') as w from {E})"),
    "a join below a dedupe": [f"{{{{ config(materialized='sink', dedupe={{'keys': ['user_id', 'path'], 'within': '1 hour'}}) }}}}\nselect {c} from {E} e join {H} h {ON}" for c in ("e.user_id, h.path, e.at", "e.user_id, h.path, e.at, e.value", "e.user_id, h.path, e.at, e.value, e.type")],
    "a join below a window": [f"{CLOSED}select window(e.at, '10 seconds').start as w, {c} from {E} e join {H} h {ON} group by window(e.at, '10 seconds')" for c in ("count(*) as n", "count(*) as n, sum(e.value) as v", "count(*) as n, sum(e.value) as v, max(h.path) as p", "max(h.path) as p, count(*) as n")],
    "a join below a union": [f"{SINK}select {c} from (select e.user_id, e.value, e.type, h.path from {E} e join {H} h {ON} union all select user_id, value, type, product_id from {E})" for c in ("user_id, path", "user_id, path, value", "user_id, path, value, type")],
    "aggregates": grouped(("user_id, n", "user_id, n, s", "user_id, s, n", "user_id, n, s, t", "user_id, t, n, s", "user_id, s / n as r, t", "user_id, n / s as r, t", "user_id, s, n, n * 2 as d", "user_id, n * 2 as d, s, n", "user_id, score(t, s) as x, n", "user_id, n, score(t, s) as x, s", "user_id, rand() * s as r, n")),
    "aggregates of a star": grouped(("user_id, n", "user_id, n, s", "user_id, s, n", "user_id, t, n", "*"), inner=f"select * from ({GROUPED} from {E} group by user_id)"),
    "aggregates, calculated": [sql for x in ("s + n", "n + s", "score(t, s)", "rand() * s") for sql in grouped(("user_id, x, x * 2 as y", "user_id, n, x, x * 2 as y", "user_id, t, x, n", "user_id, transform(array(1), i -> i + n) as z, s"), inner=f"select user_id, n, s, t, {x} as x from ({GROUPED} from {E} group by user_id)")],
    "having": [f"{table('user_id')}select user_id, {c} from {E} group by user_id {h}" for c, h in product(("count(*) as n", "sum(value) as s, count(*) as n", "count(*) as n, sum(value) as s"), ("", "having sum(value) > 1", "having count(*) > 1", "having max(type) > 'a'"))],
    "having, outside": [sql for w in ("n > 1", "s > 1", "n > 1 and t > 'a'", "t > 'a' and n > 1") for sql in grouped(("user_id, n", "user_id, s", "user_id, s, n", "user_id, t, s, n"), f"where {w}")],
    "having, twice": [sql for w, v in product(("n > 1", "s > 1"), ("t > 'a'", "n > 2", "s > 2 and t > 'b'")) for sql in grouped(("user_id, n", "user_id, s, n"), f"where {v}", inner=f"select * from ({GROUPED} from {E} group by user_id) where {w}")],
    "a lookup above": [f"{table('user_id')}select {c} from ({GROUPED} from {E} group by user_id) a left join {{{{ source('shop', 'users') }}}} u on u.user_id = a.user_id {w}" for c, w in product(("a.user_id, n", "a.user_id, s, n, u.segment", "a.user_id, n, s"), ("", "where n > 1"))],
    "conditions that exclude NULL": [f"{table('type')}select type, max_by(type, value) as b, sum(amount) as s from {E} {w} group by type" for w in ("", "where type is not null", "where type > 'a' and amount > 1", "where value > 1")],
    "distinct": [f"{table('type')}select distinct type from {E} {w}" for w in ("", "where type is not null")],
    "dedupes": [f"{{{{ config(materialized='sink', dedupe={{'keys': ['user_id', 'type']{m}}}) }}}}\nselect {c} from {E} {w}" for m, c, w in product(("", ", 'within': '1 hour'"), ("user_id, type, at", "user_id, type, at, value"), ("", "where type is not null", "where value > 1"))],
    "windows": [sql for w in ("", "where n > 1", "where user_id > 'a'", "where s > 1") for sql in closed(("w.start as b, user_id, n", "w.start as b, user_id, s, n", "w.start as b, user_id, n, s, t", "user_id, n, w.end as b"), f"select * from ({WINDOWS})", w)],
    "sessions": closed(("w.start as b, user_id, n", "w.start as b, user_id, s, n", "w.start as b, user_id, n, s, t"), SESSIONS),
}  # fmt: skip
