"""Remedies for what a stream can't do, and for options and topics."""

from __future__ import annotations

from remedy import EVENTS, HITS, LATER, OK, PLAIN, PRODUCTS, START, A, B, Case

E, H = f"from {EVENTS} as e", f"from {HITS} as h"
ACCEPTED = f"{{{{ config({OK}) }}}} "
COUNTS = f"{ACCEPTED}select user_id, count(*) as n from {EVENTS} group by user_id"
VISITS = f"{{{{ config(materialized='table', unique_key='visitor') }}}} select visitor, path from {HITS}"
TABLE = f"{{{{ config(materialized='table', unique_key='user_id', {OK}) }}}} select user_id, count(*) as n from {EVENTS} group by user_id"
PER_COUNT = "{{ config(materialized='table', unique_key='n') }} select n, count(*) as users from {{ ref('c') }} group by n"
COUNTED = [
    ({"c": [{"user_id": "a", "n": 1}, {"user_id": "b", "n": 1}]}, [{"n": 1, "users": 2}]),
    ({"c": [{"user_id": "a", "n": 2}]}, [{"n": 1, "users": 1}, {"n": 2, "users": 1}]),
]
DELETING = f"{{{{ config(materialized='table', order_by='at', delete_when='amount < 0', delete_by='user_id') }}}} select user_id, amount, at {E}"
WINDOWS = f"select user_id, window(at, '1 day') as w, count(*) as n from {EVENTS} group by user_id, window(at, '1 day')"
ON_CLOSE, ONCE = "; or set emit='on_close'", "each window gives its row once, when no more rows can come"
STORED_ROWS = "read what it reads; or select the rows in a view, and let both read that; or make this model a table over what is stored: config(materialized='table', unique_key='…', refresh='incremental')"
SINK = "{{ config(materialized='sink') }} "
NEAR = "e.at between h.seen - interval 1 hour and h.seen + interval 1 hour"
HIT = {"visitor": "a", "path": "/", "seen": A["at"]}
BY_EVENT_TIME = "{'ttl': '1 day', 'ttl_by': 'event_time'}"
KEYED = """
from dataclasses import dataclass
from typing import Iterator
@dataclass
class Event:
    amount: int
@dataclass
class State:
    total: int = 0
def growing(key: str, rows: Iterator[Event], state: State) -> Iterator[int]:
    for row in rows:
        state.total += row.amount
        yield state.total
"""
PILING = KEYED.replace("growing", "piling")
YIELDS_KEY = PILING.replace("-> Iterator[int]", "-> Iterator[Piled]").replace("yield state.total", "yield Piled(key, state.total)").replace(
    "def piling", "@dataclass\nclass Piled:\n    user_id: str\n    total: int\ndef piling"
)  # fmt: skip
RAW = """sources:
  - name: other
    topics: [{{name: raw, topic: {}, on_bad_record: dead_letter, columns: [{{name: a, type: string}}]}}]
"""
PLANS = "{{ source('shop', 'plans') }}"
AS_OF = f"join {PLANS} for system_time as of"
FREE = {"user": "a", "plan": "free", "since": START}


def joined(*events, name="events"):
    """Return the steps of a row that waits for its plan until a later one comes."""
    return [
        ({name: list(events), "plans": [FREE]}, []),
        ({name: [LATER], "plans": []}, [{"user_id": "a", "plan": "free"}]),
    ]


def case(code, under, remedy, sql, edits, steps=(), **more):
    return Case(code, under, remedy, sql, edits, steps, **more)


CASES = {
    # -- rows that change later
    "a dedupe of an aggregate": case("MS510", "dedupe", "dedupe before the aggregate, where rows are only appended", "{{ config(dedupe={'keys': ['n']}, unbounded_state='accept') }} select user_id, n from {{ ref('c') }}",
        {"dedupe={'keys': ['n']}, ": "", "select user_id, n from {{ ref('c') }}": "select user_id, count(*) as n from {{ ref('d') }} group by user_id"},
        [({"events": [A, A, B]}, [{"user_id": "a", "n": 1}, {"user_id": "b", "n": 1}]), ({"events": [A | {"type": "z"}]}, [{"user_id": "a", "n": 2}])],
        models={"c": COUNTS}, added={"d": "{{ config(dedupe={'keys': ['user_id', 'type'], 'within': '1 day'}) }} " + f"select user_id, type, at from {EVENTS}"}),
    "a DISTINCT of an aggregate": case("MS510", "select", "dedupe before the aggregate, where rows are only appended", ACCEPTED + "select distinct user_id, n from {{ ref('c') }}",
        {"select distinct user_id, n from {{ ref('c') }}": f"select user_id, count(*) as n from (select distinct user_id, type from {EVENTS}) group by user_id"},
        [({"events": [A, A, B]}, [{"user_id": "a", "n": 1}, {"user_id": "b", "n": 1}]), ({"events": [A | {"type": "z"}]}, [{"user_id": "a", "n": 2}])],
        models={"c": COUNTS}),
    "a UNION of an aggregate": case("MS510", "select", "union the events before they are aggregated", ACCEPTED + "select user_id, n from {{ ref('c') }} union all select visitor, 1 as n " + H,
        {"select user_id, n from {{ ref('c') }} union all select visitor, 1 as n " + H: f"select user_id, sum(n) as n from (select user_id, 1 as n {E} union all select visitor, 1 as n {H}) group by user_id"},
        [({"events": [A, A], "hits": [HIT]}, [{"user_id": "a", "n": 3}]), ({"events": [A], "hits": []}, [{"user_id": "a", "n": 4}])],
        models={"c": COUNTS}),
    "an explode of an aggregate": case("MS510", "explode(xs)", "expand the events before they are aggregated", ACCEPTED + f"select user_id, x from (select user_id, collect_list(type) as xs {E} group by user_id) lateral view explode(xs) t as x",
        {f"select user_id, x from (select user_id, collect_list(type) as xs {E} group by user_id) lateral view explode(xs) t as x": f"select user_id, x, count(*) as n {E} lateral view explode(tags) t as x group by user_id, x"},
        [({"events": [A | {"tags": ["p", "q"]}]}, [{"user_id": "a", "x": "p", "n": 1}, {"user_id": "a", "x": "q", "n": 1}]), ({"events": [A | {"tags": ["p"]}]}, [{"user_id": "a", "x": "p", "n": 2}])]),
    "a keyed function of an aggregate": case("MS510", "growing(user_id)", "pass events to it, not the results of an aggregate", ACCEPTED + f"select total from (select user_id, count(*) as amount {E} group by user_id), lateral growing(user_id) as g(total)",
        {f"(select user_id, count(*) as amount {E} group by user_id)": EVENTS},
        [({"events": [A, A]}, [{"total": 1}, {"total": 2}]), ({"events": [B]}, [{"total": 5}])], files={"macros/growing.py": KEYED}),
    "a key lost by a join": case("MS513", "(select visitor, count(*) as n from ", "store that side as a table (materialized='table'), and join the table as a lookup", ACCEPTED + f"select e.user_id, e.type, c.n {E} join (select visitor, count(*) as n {H} group by visitor) as c on c.visitor = e.user_id",
        {f"(select visitor, count(*) as n {H} group by visitor)": "{{ ref('c') }}"},
        [({"c": [{"visitor": "a", "n": 2}], "events": [A]}, [{"user_id": "a", "type": "x", "n": 2}]), ({"events": [B]}, [])],
        added={"c": f"{{{{ config(materialized='table', unique_key='visitor', {OK}) }}}} select visitor, count(*) as n {H} group by visitor"}),
    "an outer join that keeps what is at rest": case("MS513", "source('shop', 'events')", "write a left join from the stream to the table", f"select p.category, e.user_id from {PRODUCTS} as p left join {EVENTS} as e on e.product_id = p.product_id",
        {f"from {PRODUCTS} as p left join {EVENTS} as e": f"from {EVENTS} as e left join {PRODUCTS} as p"},
        [({"events": [A]}, [{"category": "books", "user_id": "a"}]), ({"events": [B | {"product_id": "none"}]}, [{"category": None, "user_id": "b"}])]),
    "an anti join of streams": case("MS513", "source('shop', 'hits')", "store the right side as a table, and join the table", f"select e.user_id {E} anti join {HITS} as h on e.user_id = h.visitor",
        {HITS: "{{ ref('t') }}"},
        [({"t": [{"visitor": "a", "path": "/"}], "events": [A, B]}, [{"user_id": "b"}]), ({"events": [B]}, [{"user_id": "b"}])],
        added={"t": VISITS}),
    "a join of streams without an equality": case("MS513", "source('shop', 'hits')", "compare a column of each side by = in ON, such as e.user_id = h.visitor", f"select e.user_id, h.path {E} join {HITS} as h on {NEAR}",
        {f"on {NEAR}": f"on {NEAR} and e.user_id = h.visitor"},
        [({"events": [A, B], "hits": []}, []), ({"events": [], "hits": [HIT]}, [{"user_id": "a", "path": "/"}])]),
    "SQL that is not understood over rows that change": case("MS514", "select", "move the opaque part to a seed, or to a model over events: VALUES as a relation", "select c.user_id, c.n, v.k from {{ ref('c') }} as c join (values ('a', 1)) as v(u, k) on v.u = c.user_id",
        {"(values ('a', 1)) as v(u, k)": "{{ ref('v') }} as v"},
        [({"events": [A, B]}, [{"user_id": "a", "n": 1, "k": 1}, {"user_id": "b", "_deleted": True}]), ({"events": [A]}, [{"user_id": "a", "n": 2, "k": 1}])],
        models={"c": COUNTS}, edited={"seeds/v.csv": "u,k\na,1\n"}),
    "a semi join by more than equal columns": case("MS516", "ref('products')", "compare columns of both sides by =, such as c.user_id = p.product_id, and other columns with those of their own side", "select c.user_id, c.n from {{ ref('c') }} as c semi join " + PRODUCTS + " as p on p.product_id > c.user_id",
        {f"semi join {PRODUCTS} as p on p.product_id > c.user_id": f"semi join {PRODUCTS} as p on p.product_id = c.user_id and p.category > 'a'"},
        [({"events": [A | {"user_id": "p1"}, B]}, [{"user_id": "p1", "n": 1}, {"user_id": "b", "_deleted": True}]), ({"events": [A | {"user_id": "p1"}]}, [{"user_id": "p1", "n": 2}])],
        models={"c": COUNTS}),
    "a subquery over a stream": case("MS517", "select", "read a table, a seed or a reference topic there, or join the stream", f"select user_id {E} where user_id in (select visitor from {HITS})",
        {HITS: "{{ ref('t') }}"},
        [({"t": [{"visitor": "a", "path": "/"}], "events": [A, B]}, [{"user_id": "a"}]), ({"events": [B]}, [])],
        added={"t": VISITS}),
    "a table without a key": case("MS518", "order_by", "set the columns that identify a row: config(unique_key='…'); or remove 'order_by': then each row is appended", f"{{{{ config(materialized='table', order_by='at') }}}} select user_id, type, at {E}",
        {"'table'": "'table', unique_key='user_id'"},
        [({"events": [A, B]}, [{"user_id": "a", "type": "x"}, {"user_id": "b", "type": "y"}]), ({"events": [A | {"type": "z"}]}, [{"user_id": "a", "type": "z"}])]),
    "groups in a table without a key": case("MS518", "materialized", "set config(unique_key='user_id'): it keeps the newest row per key", f"{{{{ config(materialized='table', {OK}) }}}} select user_id, count(*) as n {E} group by user_id",
        {"'table'": "'table', unique_key='user_id'"},
        [({"events": [A, B]}, [{"user_id": "a", "n": 1}, {"user_id": "b", "n": 1}]), ({"events": [A]}, [{"user_id": "a", "n": 2}])]),
    "windows in a table without a key": case("MS518", "materialized", f"set config(unique_key=['user_id', 'w']): it keeps the newest row per key{ON_CLOSE}: {ONCE}", f"{{{{ config(materialized='table') }}}} {WINDOWS}",
        {"'table'": "'table', emit='on_close'"},
        [({"events": [A, A]}, []), ({"events": [LATER]}, [{"user_id": "a", "n": 2}])]),
    "windows in a topic without a key": case("MS518", "materialized", f"set config(key=['user_id', 'w']): a reader keeps the newest row per key{ON_CLOSE}: {ONCE}", f"{{{{ config(materialized='sink') }}}} {WINDOWS}",
        {"'sink'": "'sink', emit='on_close'"}),
    "windows without a watermark in a table without a key": case("MS518", "materialized", "set config(unique_key=['user_id', 'w']): it keeps the newest row per key", f"{{{{ config(materialized='table', {OK}) }}}} {WINDOWS}".replace(EVENTS, PLAIN),
        {"'table'": "'table', unique_key=['user_id', 'w']"}),
    "one row without a key": case("MS518", "materialized", "select a constant as its key: select 'all' as id, … and config(key='id'): a reader keeps the newest row per key", f"{{{{ config(materialized='sink', {OK}) }}}} select count(*) as n {E}",
        {"materialized='sink'": "materialized='sink', key='id'", "select count": "select 'all' as id, count"},
        [({"events": [A, B]}, [{"id": "all", "n": 2}]), ({"events": [A]}, [{"id": "all", "n": 3}])]),
    # -- options
    "an unknown column in an option": case("MS519", "key", "did you mean 'user_id'?", f"{{{{ config(materialized='sink', key='usr_id') }}}} select user_id, type {E}", {"usr_id": "user_id"}),
    "a far column in an option": case("MS519", "key", "name one of its columns: user_id, type", f"{{{{ config(materialized='sink', key='zzz') }}}} select user_id, type {E}", {"zzz": "user_id"}),
    "an unknown rule": case("MS520", "optimize", "did you mean 'push_filters'?", f"{{{{ config(optimize=['push_filter']) }}}} select user_id {E}", {"push_filter": "push_filters"}),
    "a retention without an order": case("MS521", "retention", "set order_by='at'", f"{{{{ config(materialized='table', unique_key='user_id', retention='1 day') }}}} select user_id, at {E}", {"retention='1 day'": "retention='1 day', order_by='at'"}),
    "a retention by a number": case("MS521", "retention", "select timestamp_millis(amount) as amount_time, and set order_by='amount_time'", f"{{{{ config(materialized='table', unique_key='user_id', retention='1 day', order_by='amount') }}}} select user_id, amount {E}", {"order_by='amount'": "order_by='amount_time'", "amount from": "amount, timestamp_millis(amount) as amount_time from"}),
    "a deletion without a time": case("MS521", "delete_by", "set order_by='at'", DELETING.replace("order_by='at', ", ""), {"delete_by=": "order_by='at', delete_by="}),
    "a deletion without a request": case("MS558", "delete_by", "set delete_when='…', a condition over the columns of this model; or remove 'delete_by'", DELETING.replace("delete_when='amount < 0', ", ""), {"delete_by=": "delete_when='amount < 0', delete_by="}),
    "a deletion by a list": case("MS558", "delete_by", "name a column with a number, a text, a date or a time", DELETING.replace("select user_id", "select array(user_id) as users, user_id").replace("'user_id'", "'users'"), {"'users'": "'user_id'"}),
    "a deletion by a column next to a key": case("MS121", "delete_by", "remove it: delete_when deletes the row of a key", DELETING.replace("'table'", "'table', unique_key='user_id'"), {", delete_by='user_id'": ""}),
    "a request in a table without a key": case("MS518", "delete_when", "set the columns that identify a row: config(unique_key='…'); or remove 'delete_when': then each row is appended; or set delete_by to the columns whose rows it deletes, and order_by to a time", DELETING.replace(", delete_by='user_id'", "").replace("order_by='at', ", ""), {"'amount < 0'": "'amount < 0', delete_by='user_id', order_by='at'"},
        [({"events": [A, B]}, [{"user_id": "a", "amount": 1}, {"user_id": "b", "amount": 5}]), ({"events": [A | {"amount": -1}, A, LATER]}, [{"user_id": "a", "_deleted": True}, {"user_id": "a", "at": LATER["at"]}])]),
    "a table over rows that are deleted": case("MS214", "d", STORED_ROWS, "select user_id from {{ ref('d') }}", {"select user_id": "{{ config(materialized='table', unique_key='user_id', refresh='incremental') }} select user_id, count(*) as n", "ref('d') }}": "ref('d') }} group by user_id"}, models={"d": DELETING}, message="model 'd' deletes rows"),
    "a model over rows that are deleted": case("MS214", "d", STORED_ROWS, "select user_id from {{ ref('d') }}", {"ref('d')": "ref('v')"}, models={"d": DELETING}, added={"v": f"select user_id, amount, at {E}", "d": DELETING.replace(E, "from {{ ref('v') }}")}, message="model 'd' deletes rows"),
    "versions of events without a time": case("MS681", "versions", "set order_by='at'", f"{{{{ config(materialized='table', unique_key='user_id', versions='30 days') }}}} select user_id, type, at {E}", {"versions=": "order_by='at', versions="},
        [({"events": [LATER, A, B]}, [{"user_id": "a", "valid_from": A["at"], "valid_to": LATER["at"]}, {"user_id": "a", "valid_from": LATER["at"], "valid_to": None}, {"user_id": "b", "valid_to": None}])]),
    "versions by a number": case("MS681", "order_by", "select timestamp_millis(amount) as amount_time, and set order_by='amount_time'", f"{{{{ config(materialized='table', unique_key='user_id', versions='all', order_by='amount') }}}} select user_id, amount {E}", {"order_by='amount'": "order_by='amount_time'", "amount from": "amount, timestamp_millis(amount) as amount_time from"}),
    "versions with a column that they add": case("MS682", "versions", "give its column another name, such as valid_from_1", f"{{{{ config(materialized='table', unique_key='user_id', versions='all', order_by='at') }}}} select user_id, at, at as valid_from {E}", {"as valid_from": "as valid_from_1"}),
    "versions with a retention": case("MS683", "retention", "remove it: 'versions' says how long a version is kept", f"{{{{ config(materialized='table', unique_key='user_id', versions='30 days', order_by='at', retention='1 day') }}}} select user_id, at {E}", {", retention='1 day'": ""}),
    "versions of a table over tables": case("MS685", "versions", "remove 'versions', and select * from this table in another one that has it", "{{ config(materialized='table', unique_key='n', versions='all') }} select n, count(*) as users from {{ ref('a') }} group by n",
        {"{{ config(materialized='table', unique_key='n', versions='all') }} select n, count(*) as users from {{ ref('a') }} group by n": "{{ config(materialized='table', unique_key='n', versions='all') }} select * from {{ ref('groups') }}"},
        [({"groups": [{"n": 1, "users": 1}]}, [{"n": 1, "users": 1, "valid_to": None}]), ({"groups": [{"n": 1, "users": 2}]}, [{"n": 1, "users": 2, "valid_to": None}, {"n": 1, "users": 1}])],
        models={"a": TABLE}, added={"groups": "{{ config(materialized='table', unique_key='n') }} select n, count(*) as users from {{ ref('a') }} group by n"}),
    "versions as of the time of a stream": case("MS686", "e.at", "store the stream in a table, and make this model a table that joins it with the versions", f"{SINK}select e.user_id, h.segment {E} join {{{{ ref('h') }}}} for system_time as of e.at as h on h.user_id = e.user_id",
        {SINK: "{{ config(materialized='table', unique_key='user_id') }} ", E: "from {{ ref('stored') }} as e"},
        [({"stored": [{"user_id": "a", "type": "x", "at": A["at"]}], "h": [{"user_id": "a", "segment": "x", "valid_from": START}]}, [{"user_id": "a", "segment": "x"}]), ({"stored": [], "h": [{"user_id": "a", "segment": "x", "valid_from": START, "valid_to": A["at"]}, {"user_id": "a", "segment": "y", "valid_from": A["at"]}]}, [{"user_id": "a", "segment": "y"}])],
        models={"h": f"{{{{ config(materialized='table', unique_key='user_id', versions='30 days', order_by='at') }}}} select user_id, type as segment, at {E}"},
        added={"stored": f"{{{{ config(materialized='table', unique_key='user_id') }}}} select user_id, type, at {E}"}),
    "versions for a stream without an event time": case("MS690", "e.at", "write WATERMARK at DELAY OF INTERVAL 10 SECONDS after the relation in FROM, or add a `watermark` to its source", f"{SINK}select e.user_id, p.plan from {PLAIN} as e {AS_OF} e.at as p on p.user = e.user_id",
        {f"{PLAIN} as e": f"{PLAIN} watermark at delay of interval 10 seconds as e"}, joined(A, name="plain")),
    "versions as of another time": case("MS691", "e.earlier", "write FOR SYSTEM_TIME AS OF e.at", f"{SINK}select e.user_id, p.plan from (select user_id, at, at - interval 1 hour as earlier from {EVENTS}) as e {AS_OF} e.earlier as p on p.user = e.user_id",
        {"as of e.earlier": "as of e.at"}, joined(A)),
    "versions of no key": case("MS692", "source('shop', 'plans')", "add to ON: p.`user` = e.user_id", f"{SINK}select e.user_id, p.plan {E} {AS_OF} e.at as p on p.plan > e.type",
        {"on p.plan > e.type": "on p.plan < e.type and p.user = e.user_id"}, joined(A)),
    "versions of a key with another type": case("MS692", "source('shop', 'plans')", "compare a column that a subquery in FROM computes: cast(amount as string)", f"{SINK}select e.user_id, p.plan {E} {AS_OF} e.at as p on p.user = e.amount",
        {E: f"from (select user_id, at, cast(amount as string) as paid from {EVENTS}) as e", "e.amount": "e.paid"},
        [({"events": [A], "plans": [FREE | {"user": "1"}]}, []), ({"events": [LATER], "plans": []}, [{"user_id": "a", "plan": "free"}])]),
    "until when a version is valid": case("MS693", "p.valid_to", "leave out valid_to: select the other columns", f"{SINK}select e.user_id, p.plan, p.valid_to {E} {AS_OF} e.at as p on p.user = e.user_id",
        {", p.valid_to": ""}, joined(A)),
    "a join of all versions": case("MS684", "ref('h')", "add to ON: h.valid_to is null, for the newest version", f"{SINK}select e.user_id, h.segment {E} join {{{{ ref('h') }}}} as h on h.user_id = e.user_id", {"h.user_id = e.user_id": "h.user_id = e.user_id and h.valid_to is null"},
        [({"h": [{"user_id": "a", "segment": "x", "valid_from": START, "valid_to": A["at"]}, {"user_id": "a", "segment": "y", "valid_from": A["at"]}], "events": [A]}, [{"user_id": "a", "segment": "y"}])],
        models={"h": f"{{{{ config(materialized='table', unique_key='user_id', versions='30 days', order_by='at') }}}} select user_id, type as segment, at {E}"}),
    "a ttl without a state": case("MS522", "state", "remove it: a dedupe's 'within', a watermark's delay or a table's 'retention' bounds other state", f"{{{{ config(state={{'ttl': '1 day'}}, {OK}) }}}} select user_id, window, count(*) as n {E} group by user_id, window(at, '1 day')", {"state={'ttl': '1 day'}, ": ""}),
    "a ttl of groups": case("MS676", "state", "remove it, add session_window(at, '1 day') to GROUP BY, which ends groups by event time, and set emit='on_close'", f"{{{{ config(state={{'ttl': '1 day'}}, {OK}) }}}} select user_id, count(*) as n {E} group by user_id", {"state={'ttl': '1 day'}, ": "emit='on_close', ", "by user_id": "by user_id, session_window(at, '1 day')"},
        [({"events": [A, A, B]}, []), ({"events": [LATER]}, [{"user_id": "a", "n": 2}, {"user_id": "b", "n": 1}])]),
    "a ttl of a join without a time": case("MS677", "state", "select the columns with the sources' watermarks on both sides", f"{{{{ config(state={{'ttl': '1 hour'}}, {OK}) }}}} select e.user_id, h.path {E} join (select visitor, path from {HITS}) as h on e.user_id = h.visitor", {"select visitor, path": "select visitor, path, seen"},
        [({"events": [A], "hits": []}, []), ({"events": [], "hits": [HIT]}, [{"user_id": "a", "path": "/"}])]),
    "a ttl of a join of several times": case("MS677", "state", "remove it, and add to ON: e.at between l.seen - interval 1 hour and l.seen + interval 1 hour", f"{{{{ config(state={{'ttl': '1 day'}}, {OK}) }}}} select e.user_id, l.seen {E} join {HITS} as h on e.user_id = h.visitor and {NEAR} join (select visitor, seen from {HITS}) as l on e.user_id = l.visitor", {"state={'ttl': '1 day'}, ": "", "= l.visitor": "= l.visitor and e.at between l.seen - interval 1 hour and l.seen + interval 1 hour"}),
    "a retention of state": case("MS522", "state", "remove it: a watermark's delay bounds windows, and 'retention' of a table bounds its rows", f"{{{{ config(state={{'retention': '1 day'}}, {OK}) }}}} select user_id, count(*) as n {E} group by user_id", {"state={'retention': '1 day'}, ": ""}),
    "a memory of memory": case("MS522", "state", "remove one of them", f"{{{{ config(state={{'store': 'memory', 'memory': '1 GB'}}, {OK}) }}}} select user_id, count(*) as n {E} group by user_id", {", 'memory': '1 GB'": ""}),
    "a ttl_by without a ttl": case("MS522", "state", "remove it, or set ttl as well", f"{{{{ config(state={{'ttl_by': 'event_time'}}, {OK}) }}}} select total {E}, lateral growing(user_id) as g(total)", {"'ttl_by'": "'ttl': '1 day', 'ttl_by'"}, files={"macros/growing.py": KEYED}),
    "a join by the clock": case("MS678", "state", "remove ttl_by: a ttl of a join counts by event time", f"{{{{ config(state={{'ttl': '1 hour', 'ttl_by': 'processing_time'}}, {OK}) }}}} select e.user_id, h.path {E} join {HITS} as h on e.user_id = h.visitor", {", 'ttl_by': 'processing_time'": ""},
        [({"events": [A], "hits": []}, []), ({"events": [], "hits": [HIT]}, [{"user_id": "a", "path": "/"}])]),
    "a function's state by no event time": case("MS679", "state", "write WATERMARK at DELAY OF INTERVAL 10 SECONDS after the relation in FROM", f"{{{{ config(state={BY_EVENT_TIME}) }}}} select total from {PLAIN} as e, lateral growing(e.user_id) as g(total)", {f"{PLAIN} as e": f"{PLAIN} WATERMARK at DELAY OF INTERVAL 10 SECONDS as e"},
        [({"plain": [A, A]}, [{"total": 1}, {"total": 2}]), ({"plain": [LATER]}, [{"total": 1}])], files={"macros/growing.py": KEYED}),
    "a function's state by a time that it does not get": case("MS679", "state", "select the column with the source's watermark for its rows", f"{{{{ config(state={BY_EVENT_TIME}) }}}} select total from (select user_id, amount {E}) as s, lateral growing(s.user_id) as g(total)", {"user_id, amount": "user_id, amount, at"},
        [({"events": [A, A]}, [{"total": 1}, {"total": 2}]), ({"events": [LATER]}, [{"total": 1}])], files={"macros/growing.py": KEYED}),
    "a function's state by two event times": case("MS679", "state", "select only one of them in a subquery in FROM", f"{{{{ config(state={BY_EVENT_TIME}) }}}} select total from (select e.user_id, e.amount, e.at, h.seen {E} join {HITS} as h on e.user_id = h.visitor and {NEAR}) as s, lateral growing(s.user_id) as g(total)", {", h.seen": ""}, files={"macros/growing.py": KEYED}),
    "a function's state by a window": case("MS679", "state", "remove ttl_by, which makes it expire by the clock", f"{{{{ config(state={BY_EVENT_TIME}) }}}} select total from {{{{ ref('w') }}}} as w, lateral growing(w.user_id) as g(total)", {", 'ttl_by': 'event_time'": ""}, files={"macros/growing.py": KEYED},
        models={"w": f"{{{{ config(materialized='view', emit='on_close') }}}} select user_id, window(at, '1 minute') as minute, count(*) as amount {E} group by user_id, window(at, '1 minute')"}),
    "a function in memory": case("MS522", "state", "remove store='memory'", f"{{{{ config(state={{'store': 'memory', 'ttl': '1 day'}}) }}}} select total {E}, lateral growing(user_id) as g(total)", {"'store': 'memory', ": ""}, files={"macros/growing.py": KEYED}),
    "a dedupe of two times": case("MS523", "dedupe", "select only one of them, or cast the other one: cast(... as string)", f"{{{{ config(dedupe={{'keys': ['user_id'], 'within': '1 day'}}) }}}} select e.user_id, e.at, h.seen {E} join {HITS} as h on e.user_id = h.visitor and {NEAR}",
        {", h.seen": ", cast(h.seen as string) as seen"},
        [({"events": [A], "hits": []}, []), ({"events": [], "hits": [HIT]}, [{"user_id": "a"}])]),
    "an exact dedupe in memory": case("MS522", "state", "remove store='memory'", f"{{{{ config(state={{'store': 'memory'}}, dedupe={{'keys': ['user_id'], 'within': '1 day', 'exact': true}}) }}}} select user_id, at {E}", {"state={'store': 'memory'}, ": ""},
        [({"events": [A, A]}, [{"user_id": "a"}]), ({"events": [LATER]}, [{"user_id": "a"}])]),
    "an exact dedupe for ever": case("MS523", "dedupe", "add `within`, or remove `exact`", f"{{{{ config(dedupe={{'keys': ['user_id'], 'exact': true}}) }}}} select user_id, at {E}", {"'exact'": "'within': '1 day', 'exact'"},
        [({"events": [A, A, LATER]}, [{"user_id": "a"}, {"user_id": "a"}]), ({"events": [LATER]}, [])]),
    "a test that drops rows of a view": case("MS525", "not_null", "use severity: warn or error, or test not_null or accepted_values or expression on a sink or table", f"select user_id {E}", {}, files={"models/m.yml": "models:\n  - {name: m, columns: [{name: user_id, tests: [{not_null: {severity: drop}}]}]}\n"}, edited={"models/m.yml": "models:\n  - {name: m, columns: [{name: user_id, tests: [{not_null: {severity: warn}}]}]}\n"}),
    "a test of several rows that drops": case("MS525", "unique", "use severity: warn or error, or test not_null or accepted_values or expression on a sink or table", f"{SINK}select user_id {E}", {}, files={"models/m.yml": "models:\n  - {name: m, columns: [{name: user_id, tests: [{unique: {severity: drop}}]}]}\n"}, edited={"models/m.yml": "models:\n  - {name: m, columns: [{name: user_id, tests: [{not_null: {severity: drop}}]}]}\n"}),
    "a join of two tables": case("MS527", "ref('t')", "make this model a table, which a sink can read, with config(materialized='table', unique_key='user_id')", "select a.user_id, a.n, t.path from {{ ref('a') }} as a join {{ ref('t') }} as t on t.visitor = a.user_id",
        {"select a.user_id": "{{ config(materialized='table', unique_key='user_id') }} select a.user_id"},
        [({"a": [{"user_id": "a", "n": 1}], "t": [{"visitor": "a", "path": "/"}]}, [{"user_id": "a", "n": 1, "path": "/"}]), ({"a": [], "t": [{"visitor": "a", "path": "/2"}]}, [{"user_id": "a", "n": 1, "path": "/2"}])],
        models={"a": TABLE, "t": VISITS}),
    "a table over a view that changes": case("MS510", "count(*)", "make 'c' a table with config(materialized='table', unique_key='user_id')", PER_COUNT, {}, COUNTED, models={"c": COUNTS}, added={"c": TABLE}),
    "a table over a topic that changes": case("MS510", "count(*)", "make 'c' a table with config(materialized='table', unique_key='user_id'), and send its rows with a sink that selects from it", PER_COUNT, {}, COUNTED,
        models={"c": TABLE.replace("table", "sink").replace("unique_key", "key")}, added={"c": TABLE, "sent": "{{ config(materialized='sink', key='user_id') }} select * from {{ ref('c') }}"}),
    "an outer join of a view that changes": case("MS513", "ref('c')", "make 'c' a table with config(materialized='table', unique_key='user_id')", "{{ config(materialized='table', unique_key='visitor') }} select t.visitor, t.path, c.n from {{ ref('t') }} as t left join {{ ref('c') }} as c on c.user_id = t.visitor", {},
        [({"t": [{"visitor": "a", "path": "/"}], "c": []}, [{"visitor": "a", "n": None}]), ({"t": [], "c": [{"user_id": "a", "n": 1}]}, [{"visitor": "a", "n": 1}])],
        models={"c": COUNTS, "t": VISITS}, added={"c": TABLE}),
    "a full refresh of a view that changes": case("MS548", "refresh", "make 'c' a table with config(materialized='table', unique_key='user_id')", PER_COUNT.replace("'n')", "'n', refresh='full')"), {}, COUNTED, models={"c": COUNTS}, added={"c": TABLE}),
    "a window function over a table": case("MS543", "row_number", "set config(refresh='full'): each change computes all rows, and stores the differences", "{{ config(materialized='table', unique_key='user_id') }} select user_id, n from {{ ref('a') }} qualify row_number() over (order by n desc, user_id) = 1",
        {"unique_key='user_id'": "unique_key='user_id', refresh='full'"},
        [({"a": [{"user_id": "a", "n": 2}, {"user_id": "b", "n": 1}]}, [{"user_id": "a", "n": 2}]), ({"a": [{"user_id": "b", "n": 3}]}, [{"user_id": "a", "_deleted": True}, {"user_id": "b", "n": 3}])],
        models={"a": TABLE}),
    "an option for rows one by one": case("MS544", "order_by", "remove 'order_by', and write what it does in the SQL", "{{ config(materialized='table', unique_key='n', order_by='users') }} select n, max(user_id) as users from {{ ref('a') }} group by n", {", order_by='users'": ""}, models={"a": TABLE}),
    "a full refresh of a table of events": case("MS548", "refresh", "remove 'refresh'", TABLE.replace("', ", "', refresh='full', ", 1), {", refresh='full'": ""},
        [({"events": [A]}, [{"user_id": "a", "n": 1}])]),
    "how often without a full refresh": case("MS548", "every", "set refresh='full', or remove 'every'", "{{ config(materialized='table', unique_key='n', every='1 minute') }} select n, max(user_id) as users from {{ ref('a') }} group by n", {"every=": "refresh='full', every="}, models={"a": TABLE}),
    "a value that differs each time": case("MS546", "materialized", "set config(refresh='full', every='1 minute'), or compute uuid in the model that first stores the row", "{{ config(materialized='table', unique_key='user_id') }} select a.user_id, a.n, uuid() as any from {{ ref('a') }} as a join {{ ref('t') }} as t on t.visitor = a.user_id", {", uuid() as any": ""}, models={"a": TABLE, "t": VISITS}),
    "windows over a join without bounds": case("MS528", "window(at, '1 hour')", "add to ON of the join: e.at between h.seen - interval 1 hour and h.seen + interval 1 hour", f"{{{{ config(emit='on_close', {OK}) }}}} select user_id, count(*) as n from (select e.user_id, e.at {E} join {HITS} as h on e.user_id = h.visitor) group by user_id, window(at, '1 hour')",
        {"e.user_id = h.visitor": f"e.user_id = h.visitor and {NEAR}"},
        [({"events": [A, A], "hits": [HIT]}, []), ({"events": [LATER], "hits": [HIT | {"seen": LATER["at"]}]}, [{"user_id": "a", "n": 2}])]),
    "an aggregate over an outer join": case("MS529", "count(path)", "move the inner step to a separate model: a topic then connects the two", f"{{{{ config({OK}) }}}} select user_id, count(path) as n from (select e.user_id, h.path {E} left join {HITS} as h on e.user_id = h.visitor and {NEAR}) group by user_id",
        {f"(select e.user_id, h.path {E} left join {HITS} as h on e.user_id = h.visitor and {NEAR})": "{{ ref('j') }}"},
        [({"events": [A], "hits": [HIT]}, [{"user_id": "a", "n": 1}]), ({"events": [A], "hits": []}, [{"user_id": "a", "n": 2}])],
        added={"j": f"select e.user_id, h.path {E} left join {HITS} as h on e.user_id = h.visitor and {NEAR}"}, is_split=True),
    # -- what a stream can't do
    "a window function": case("MS530", "row_number", "for the newest row per key, write a table with unique_key and order_by, or max_by(struct(…), time) with GROUP BY", f"select user_id, type, row_number() over (partition by user_id order by at desc) as n {E}",
        {f"select user_id, type, row_number() over (partition by user_id order by at desc) as n {E}": f"{{{{ config(materialized='table', unique_key='user_id', order_by='at') }}}} select user_id, type, at {E}"},
        [({"events": [A, B]}, [{"user_id": "a", "type": "x"}, {"user_id": "b", "type": "y"}]), ({"events": [LATER | {"type": "z"}]}, [{"user_id": "a", "type": "z"}])]),
    "a window function for the newest": case("MS530", "row_number", "for the newest row per key, write a table with unique_key and order_by, or max_by(struct(…), time) with GROUP BY", f"select user_id, type {E} qualify row_number() over (partition by user_id order by at desc) = 1",
        {f"select user_id, type {E} qualify row_number() over (partition by user_id order by at desc) = 1": f"{ACCEPTED}select user_id, max_by(struct(type), at).type as type {E} group by user_id"},
        [({"events": [A, B]}, [{"user_id": "a", "type": "x"}, {"user_id": "b", "type": "y"}]), ({"events": [LATER | {"type": "z"}]}, [{"user_id": "a", "type": "z"}])]),
    "an order": case("MS531", "order by", "remove it: sort the stored rows with `millstream query`, or keep the best of each group with max_by, min_by or slice(array_sort(collect_list(…)), 1, 10)", f"select user_id {E} order by at", {" order by at": ""}),
    "a limit": case("MS531", "limit", "remove it: sort the stored rows with `millstream query`, or keep the best of each group with max_by, min_by or slice(array_sort(collect_list(…)), 1, 10)", f"select user_id, amount {E} limit 10", {f"select user_id, amount {E} limit 10": f"{ACCEPTED}select user_id, slice(array_sort(collect_list(amount)), 1, 10) as best {E} group by user_id"},
        [({"events": [B, A | {"amount": 3}, A]}, [{"user_id": "a", "best": [1, 3]}, {"user_id": "b", "best": [5]}]), ({"events": [A]}, [{"user_id": "a", "best": [1, 1, 3]}])]),
    "an INTERSECT": case("MS532", "intersect", "write SELECT DISTINCT … LEFT SEMI JOIN for INTERSECT, LEFT ANTI JOIN for EXCEPT, with a table, a seed or a reference topic on the right", f"{ACCEPTED}select product_id {E} intersect select product_id from {PRODUCTS}", {"select product_id from {{ source": "select distinct product_id from {{ source", f"intersect select product_id from {PRODUCTS}": f"left semi join {PRODUCTS} as p on p.product_id = e.product_id"},
        [({"events": [A, A, B | {"product_id": "p9"}]}, [{"product_id": "p1"}]), ({"events": [A]}, [])]),
    "an EXCEPT": case("MS532", "except", "write SELECT DISTINCT … LEFT SEMI JOIN for INTERSECT, LEFT ANTI JOIN for EXCEPT, with a table, a seed or a reference topic on the right", f"{ACCEPTED}select product_id {E} except select product_id from {PRODUCTS}", {"select product_id from {{ source": "select distinct product_id from {{ source", f"except select product_id from {PRODUCTS}": f"left anti join {PRODUCTS} as p on p.product_id = e.product_id"},
        [({"events": [A, A | {"product_id": "p8"}, B | {"product_id": "p9"}]}, [{"product_id": "p8"}, {"product_id": "p9"}]), ({"events": [A | {"product_id": "p8"}]}, [])]),
    "a ROLLUP": case("MS533", "user_id, type", "write one model for each grouping, each with its own GROUP BY", f"{ACCEPTED}select user_id, type, count(*) as n {E} group by rollup(user_id, type)", {"rollup(user_id, type)": "user_id, type"},
        [({"events": [A, B]}, [{"user_id": "a", "type": "x", "n": 1}, {"user_id": "b", "type": "y", "n": 1}]), ({"events": [A]}, [{"user_id": "a", "type": "x", "n": 2}])],
        added={"whole": f"{ACCEPTED}select user_id, count(*) as n {E} group by user_id"}),
    "a sample": case("MS534", "source('shop', 'events')", "write a condition on a hash of the key: where pmod(xxhash64(id), 100) < 5", f"select user_id from {EVENTS} tablesample (5 percent)", {" tablesample (5 percent)": " where pmod(xxhash64(user_id), 100) < 5"}),
    "a PIVOT": case("MS535", "user_id, type, amount from ", "write one aggregate for each value: sum(amount) filter (where kind = 'a') as a", f"{ACCEPTED}select * from (select user_id, type, amount {E}) pivot (sum(amount) for type in ('x', 'y'))", {f"select * from (select user_id, type, amount {E}) pivot (sum(amount) for type in ('x', 'y'))": f"select user_id, sum(amount) filter (where type = 'x') as x, sum(amount) filter (where type = 'y') as y {E} group by user_id"},
        [({"events": [A, B]}, [{"user_id": "a", "x": 1, "y": None}, {"user_id": "b", "x": None, "y": 5}]), ({"events": [A]}, [{"user_id": "a", "x": 2, "y": None}])]),
    "a recursion": case("MS536", "r", "write one join for each level, or list all ancestors in a seed", f"with recursive r as (select user_id, amount as n {E} union all select user_id, n + 1 from r where n < 2) select user_id, n from r",
        {f"with recursive r as (select user_id, amount as n {E} union all select user_id, n + 1 from r where n < 2) select user_id, n from r": f"select e.user_id, s.n {E} join {{{{ ref('steps') }}}} as s on s.first = e.amount"},
        [({"events": [A]}, [{"user_id": "a", "n": 1}, {"user_id": "a", "n": 2}]), ({"events": [B]}, [])], edited={"seeds/steps.csv": "first,n\n1,1\n1,2\n2,2\n"}),
    "a session of all rows": case("MS537", "session_window", "group by a key as well: group by session_window(at, '5 minutes'), user_id", f"{{{{ config(emit='on_close') }}}} select count(*) as n {E} group by session_window(at, '5 minutes')", {"session_window(at, '5 minutes')": "session_window(at, '5 minutes'), user_id"},
        [({"events": [A, A]}, []), ({"events": [LATER]}, [{"n": 2}])]),
    "a row number": case("MS538", "monotonically_increasing_id", "use concat_ws('-', _topic, _partition, _offset), which identifies the record of a topic, or uuid()", f"select user_id, monotonically_increasing_id() as id {E}", {"monotonically_increasing_id()": "concat_ws('-', _topic, _partition, _offset)"}),
    "a state next to SQL that is not understood": case("MS539", "group by", "move the opaque part to a separate model, and read it with ref()", f"{ACCEPTED}select e.type, count(*) as n {E} join (values ('x')) as v(t) on v.t = e.type group by e.type",
        {f"select e.type, count(*) as n {E} join (values ('x')) as v(t) on v.t = e.type group by e.type": "select type, count(*) as n from {{ ref('part') }} group by type"},
        [({"events": [A, B]}, [{"type": "x", "n": 1}]), ({"events": [A]}, [{"type": "x", "n": 2}])],
        added={"part": f"select e.type {E} join (values ('x')) as v(t) on v.t = e.type"}),
    "an outer join of rows at rest in SQL that is not understood": case("MS539", "v", "write a left join from the stream to the table", f"select e.type {E} right join (values ('x')) as v(t) on v.t = e.type", {"right join": "left join"}),
    "a UNION with rows at rest": case("MS540", "union", "send the rows at rest to a topic, and read that topic in the UNION", f"select type {E} union all select category from {PRODUCTS}", {f"select category from {PRODUCTS}": f"select path {H}"},
        [({"events": [A], "hits": []}, [{"type": "x"}]), ({"events": [], "hits": [HIT]}, [{"type": "/"}])]),
    "a state by two times": case("MS541", "window(at, '1 hour')", "remove one of them, or use it as an aggregate (max(…)) or as text (cast(… as string))", f"{ACCEPTED}select at, window(at, '1 hour') as w, count(*) as n {E} group by at, window(at, '1 hour')", {"select at": "select cast(at as string) as at_text", "by at": "by cast(at as string)"},
        [({"events": [A, A]}, [{"n": 2}]), ({"events": [LATER]}, [{"n": 1}])]),
    # -- topics
    "a sink that reads what it writes": case("MS550", "topic", "write to another topic: topic='m'", "{{ config(materialized='sink', topic='events') }} select type " + E, {", topic='events'": ", topic='m'"}),
    "a sink on a source's topic": case("MS551", "topic", "write to another topic: topic='m'; or, if the topic belongs to the model, remove the source and read {{ ref('m') }}", "{{ config(materialized='sink', topic='hits') }} select type " + E, {"topic='hits'": "topic='m'"}),
    "two sinks on one topic": case("MS552", "topic", "write to another topic: topic='m'; or combine both in one sink", "{{ config(materialized='sink', topic='out') }} select type " + E, {"topic='out'": "topic='m'"}, models={"a": "{{ config(materialized='sink', topic='out') }} select type " + E}),
    "a sink on dead letters": case("MS553", "topic", "write to another topic: topic='m'", "{{ config(materialized='sink', topic='raw.dead_letter') }} select type " + E, {"topic='raw.dead_letter'": "topic='m'"}, files={"models/raw.yml": RAW.format("raw")}),
    "a sink on an internal topic": case("MS554", "topic", "write to another topic: topic='m'", "{{ config(materialized='sink', topic='__out') }} select type " + E, {"topic='__out'": "topic='m'"}),
    "a sink on a topic of Millstream": case("MS554", "topic", "write to another topic: topic='m'", "{{ config(materialized='sink', topic='_millstream.x') }} select type " + E, {"topic='_millstream.x'": "topic='m'"}),
    "a topic of dead letters with a long name": case("MS555", "raw", "shorten the name of the main topic to 237 characters", "{{ config(materialized='sink', topic='out') }} select type " + E, {}, files={"models/raw.yml": RAW.format("o" * 240)}, edited={"models/raw.yml": RAW.format("o" * 237)}),
    "a header of Millstream's own": case("MS557", "headers", "rename it: Millstream's own headers start with 'millstream.'", "{{ config(materialized='sink', headers={'millstream.position': 'type'}) }} select type " + E, {"millstream.position": "position"}),
    "a sink on handled dead letters": case("MS553", "topic", "write to another topic: topic='m'", "{{ config(materialized='sink', topic='raw.dead_letter.handled') }} select type " + E, {"topic='raw.dead_letter.handled'": "topic='m'"}, files={"models/raw.yml": RAW.format("raw")}),
    "topics that collide": case("MS556", "topic", "rename one of them", "{{ config(materialized='sink', topic='o_ut') }} select type " + E, {"o_ut": "another"}, models={"a": "{{ config(materialized='sink', topic='o.ut') }} select type " + E}),
    "a column next to a function with state": case("MS542", "user_id", "also yield 'user_id' in piling(), and select g.user_id", ACCEPTED + f"select user_id, g.total {E}, lateral piling(user_id) as g(total)",
        {"select user_id, g.total": "select g.user_id, g.total", "g(total)": "g(user_id, total)"},
        [({"events": [A, A]}, [{"user_id": "a", "total": 1}, {"user_id": "a", "total": 2}])],
        files={"macros/piling.py": PILING}, edited={"macros/piling.py": YIELDS_KEY}),
    "a function that remembers for ever": case("MS563", "growing(user_id)", "set config(state={'ttl': '7 days'}), which forgets keys that don't come again; or accept it: config(unbounded_state='accept')", f"select total {E}, lateral growing(user_id) as g(total)", {"select total": "{{ config(state={'ttl': '7 days'}) }} select total"},
        [({"events": [A, A]}, [{"total": 1}, {"total": 2}]), ({"events": [B]}, [{"total": 5}])], files={"macros/growing.py": KEYED}),
}  # fmt: skip
