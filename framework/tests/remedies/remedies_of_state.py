"""Remedies for keys, windows and state, each with rows in several micro-batches."""

from __future__ import annotations

from remedy import ACCEPT, EVENTS, HITS, LATER, OK, PLAIN, START, A, B, Case

OR_TESTED = "; or add the data test not_null to k, so that no row without a key is stored"
NULL_KEY = (
    "{{ config(materialized='sink', key='k') }} select user_id, window.start as start, "
    f"concat(user_id, '@', unix_millis(window.start)) as k, count(*) as n from {EVENTS} group by user_id, window(at, '1 day')"
)
CASES = {
    "aggregate of an aggregate": Case(
        "MS510",
        "count(*)",
        "read events instead of the result of another aggregate or a topic with `table: true`",
        f"{{{{ config({OK}) }}}} select n, count(*) as c from "
        f"(select user_id as n, type, count(*) as m from {EVENTS} group by user_id, type) group by n",
        {f"(select user_id as n, type, count(*) as m from {EVENTS} group by user_id, type)": EVENTS, "select n,": "select user_id,", "by n": "by user_id"},
        [({"events": [A, B]}, [{"user_id": "a", "c": 1}, {"user_id": "b", "c": 1}]), ({"events": [A]}, [{"user_id": "a", "c": 2}])],
    ),
    "an aggregate of windows that are refined": Case(
        "MS510",
        "max(n)",
        "move the windows to a separate model with config(emit='on_close'): its rows are final",
        f"{{{{ config({OK}) }}}} select type, max(n) as most from (select type, window, count(*) as n from {EVENTS} "
        "group by type, window(at, '1 hour')) group by type",
        {f"(select type, window, count(*) as n from {EVENTS} group by type, window(at, '1 hour'))": "{{ ref('w') }}"},
        [
            ({"events": [A, A, B]}, []),
            ({"events": [A]}, []),
            ({"events": [LATER]}, [{"type": "x", "most": 3}, {"type": "y", "most": 1}]),
            ({"events": [LATER]}, []),
        ],
        added={
            "w": f"{{{{ config(emit='on_close') }}}} select type, window.start as start, count(*) as n from {EVENTS} "
            "group by type, window(at, '1 hour')\n"
        },
        is_split=True,
    ),
    "a key that is not selected": Case(
        "MS511",
        "select",
        "also select user_id: a changed row replaces the one with the same key",
        f"{{{{ config({OK}) }}}} select count(*) as n from {EVENTS} group by user_id",
        {"select count": "select user_id, count"},
        [({"events": [A, B]}, [{"user_id": "a", "n": 1}, {"user_id": "b", "n": 1}]), ({"events": [A]}, [{"user_id": "a", "n": 2}])],
    ),
    "a key that is calculated and not selected": Case(
        "MS511",
        "select",
        "also select upper(user_id): a changed row replaces the one with the same key",
        f"{{{{ config({OK}) }}}} select count(*) as n from {EVENTS} group by upper(user_id)",
        {"select count": "select upper(user_id) as u, count"},
        [({"events": [A, B]}, [{"u": "A", "n": 1}, {"u": "B", "n": 1}]), ({"events": [A]}, [{"u": "A", "n": 2}])],
    ),
    "a key that texts run together in": Case(
        "MS511",
        "select",
        "also select type, product_id: a changed row replaces the one with the same key",
        f"{{{{ config({OK}) }}}} select concat(type, product_id) as k, count(*) as n from {EVENTS} "
        "where type is not null and product_id is not null group by type, product_id",
        {"select concat": "select type, product_id, concat"},
        [
            ({"events": [A | {"type": "a", "product_id": "bc"}]}, [{"k": "abc", "type": "a", "n": 1}]),
            ({"events": [A | {"type": "ab", "product_id": "c"}]}, [{"k": "abc", "type": "ab", "n": 1}]),
        ],
        message="k does not determine it, because concat() gives the same text for ('a', 'bc') and ('ab', 'c')",
    ),
    "a key of a topic that texts run together in": Case(
        "MS518",
        "key",
        "use these columns: config(key=['type', 'product_id'])",
        f"{{{{ config(materialized='sink', key='k', {OK}) }}}} select type, product_id, concat(type, '-', product_id) as k, "
        f"count(*) as n from {EVENTS} where type is not null and product_id is not null group by type, product_id",
        {"key='k'": "key=['type', 'product_id']"},
        [
            ({"events": [A | {"type": "a", "product_id": "b-c"}]}, [{"k": "a-b-c", "type": "a", "n": 1}]),
            ({"events": [A | {"type": "a-b", "product_id": "c"}]}, [{"k": "a-b-c", "type": "a-b", "n": 1}]),
        ],
        message="concat() gives the same text for ('a', 'bc') and ('ab', 'c')",
    ),
    "a key of a topic that is NULL": Case(
        "MS518",
        "key",
        f"use these columns: config(key=['user_id', 'start']){OR_TESTED}",
        NULL_KEY,
        {"key='k'": "key=['user_id', 'start']"},
        [
            ({"events": [A | {"user_id": None}]}, [{"user_id": None, "start": START, "n": 1}]),
            ({"events": [LATER | {"user_id": None}]}, [{"user_id": None, "start": LATER["at"], "n": 1}]),
        ],
        message="concat() is NULL if user_id is NULL",
    ),
    "a key of a topic that a test requires": Case(
        "MS518",
        "key",
        f"use these columns: config(key=['user_id', 'start']){OR_TESTED}",
        NULL_KEY,
        {},
        files={"models/m.yml": "models: [{name: m}]\n"},
        edited={"models/m.yml": "models: [{name: m, columns: [{name: k, tests: [{not_null: {severity: drop}}]}]}]\n"},
    ),
    "a topic without a key": Case(
        "MS518",
        "materialized",
        "set config(key=['user_id', 'type']): a reader keeps the newest row per key",
        f"{{{{ config(materialized='sink', {OK}) }}}} select user_id, type, count(*) as n from {EVENTS} group by user_id, type",
        {"'sink'": "'sink', key=['user_id', 'type']"},
        [({"events": [A, B]}, [{"user_id": "a", "n": 1}, {"user_id": "b", "n": 1}]), ({"events": [A]}, [{"user_id": "a", "n": 2}])],
    ),
    "on_close without a window": Case(
        "MS512",
        "count(*)",
        "add window(at, '1 hour') to GROUP BY, or remove emit='on_close'",
        f"{{{{ config(emit='on_close') }}}} select user_id, count(*) as n from {EVENTS} group by user_id",
        {"by user_id": "by user_id, window(at, '1 hour')"},
        [({"events": [A, A]}, []), ({"events": [LATER]}, [{"user_id": "a", "n": 2}])],
    ),
    "on_close over another column": Case(
        "MS512",
        "window(other, '1 hour')",
        "write window(at, '1 hour')",
        "{{ config(emit='on_close') }} select user_id, count(*) as n from "
        f"(select *, timestamp_millis(amount) as other from {EVENTS}) group by user_id, window(other, '1 hour')",
        {"window(other": "window(at"},
        [({"events": [A, A]}, []), ({"events": [LATER]}, [{"user_id": "a", "n": 2}])],
        message="a window over `at`, the column with the watermark, not over other",
    ),
    "on_close over an expression": Case(
        "MS512",
        "window(at + interval 1 hour, '1 hour')",
        "write window(at, '1 hour')",
        f"{{{{ config(emit='on_close') }}}} select user_id, count(*) as n from {EVENTS} "
        "group by user_id, window(at + interval 1 hour, '1 hour')",
        {"at + interval 1 hour": "at"},
        [({"events": [A, A]}, []), ({"events": [LATER]}, [{"user_id": "a", "n": 2}])],
        message="not over an expression",
    ),
    "on_close without a watermark": Case(
        "MS512",
        "window(at, '1 hour')",
        "write WATERMARK at DELAY OF INTERVAL 10 SECONDS after the relation in FROM, or add a `watermark` to its source",
        f"{{{{ config(emit='on_close') }}}} select user_id, count(*) as n from {PLAIN} group by user_id, window(at, '1 hour')",
        {PLAIN: f"{PLAIN} WATERMARK at DELAY OF INTERVAL 10 SECONDS"},
        [({"plain": [A, A]}, []), ({"plain": [LATER]}, [{"user_id": "a", "n": 2}])],
    ),
    "on_close over a window that is selected before": Case(
        "MS512",
        "count(*)",
        "write window(at, '1 hour') in GROUP BY, and select `window`",
        "{{ config(emit='on_close') }} select user_id, w, count(*) as n from "
        f"(select user_id, window(at, '1 hour') as w from {EVENTS}) as e group by user_id, w",
        {"window(at, '1 hour') as w": "at", "user_id, w,": "user_id,", "by user_id, w": "by user_id, window(at, '1 hour')"},
        [({"events": [A, A]}, []), ({"events": [LATER]}, [{"user_id": "a", "n": 2}])],
    ),
    "a session on change": Case(
        "MS512",
        "session_window(at, '1 hour')",
        "set config(emit='on_close')",
        f"select user_id, count(*) as n from {EVENTS} group by user_id, session_window(at, '1 hour')",
        {"select user_id": "{{ config(emit='on_close') }} select user_id"},
        [({"events": [A, A]}, []), ({"events": [LATER]}, [{"user_id": "a", "n": 2}])],
    ),
    "an outer join without a bound": Case(
        "MS515",
        HITS[3:-3],
        "add to ON: e.at between h.seen - interval 1 hour and h.seen + interval 1 hour",
        f"select e.user_id, h.path from {EVENTS} as e left join {HITS} as h on e.user_id = h.visitor",
        {"= h.visitor": "= h.visitor and e.at between h.seen - interval 1 hour and h.seen + interval 1 hour"},
        [
            ({"events": [A], "hits": []}, []),
            ({"events": [], "hits": [{"visitor": "a", "path": "/", "seen": A["at"]}]}, [{"user_id": "a", "path": "/"}]),
        ],
    ),
    "an aggregate that grows": Case(
        "MS560",
        "user_id",
        "add window(at, '1 day') to GROUP BY" + ACCEPT,
        f"select user_id, count(*) as n from {EVENTS} group by user_id",
        {"select": "select window.start as start,", "by user_id": "by user_id, window(at, '1 day')"},
        [({"events": [A, A]}, [{"user_id": "a", "start": START, "n": 2}]), ({"events": [LATER]}, [{"user_id": "a", "n": 1}])],
    ),
    "a table that grows": Case(
        "MS560",
        "user_id",
        "add window(at, '1 day') to GROUP BY, and window.start to the columns and the key" + ACCEPT,
        f"{{{{ config(materialized='table', unique_key='user_id') }}}} select user_id, count(*) as n from {EVENTS} group by user_id",
        {"='user_id'": "=['user_id', 'start']", "select": "select window.start as start,", "by user_id": "by user_id, window(at, '1 day')"},
        [({"events": [A, A]}, [{"user_id": "a", "start": START, "n": 2}]), ({"events": [LATER]}, [{"user_id": "a", "start": LATER["at"], "n": 1}])],
    ),
    "an aggregate that is accepted": Case(
        "MS560",
        "user_id",
        "add window(at, '1 day') to GROUP BY" + ACCEPT,
        f"select user_id, count(*) as n from {EVENTS} group by user_id",
        {"select": f"{{{{ config({OK}) }}}} select"},
        [({"events": [A, A]}, [{"user_id": "a", "n": 2}]), ({"events": [LATER]}, [{"user_id": "a", "n": 3}])],
    ),
    "windows without a watermark": Case(
        "MS560",
        "user_id, window(at, '1 day')",
        "write WATERMARK at DELAY OF INTERVAL 10 SECONDS after the relation in FROM" + ACCEPT,
        f"select user_id, window.start as start, count(*) as n from {PLAIN} group by user_id, window(at, '1 day')",
        {PLAIN: f"{PLAIN} WATERMARK at DELAY OF INTERVAL 10 SECONDS"},
        [({"plain": [A, A]}, [{"user_id": "a", "start": START, "n": 2}]), ({"plain": [LATER]}, [{"user_id": "a", "n": 1}])],
    ),
    "a DISTINCT that grows": Case(
        "MS561",
        "select",
        "use config(dedupe={'keys': ['user_id'], 'within': '1 day'}) instead of DISTINCT, and also select at" + ACCEPT,
        f"select distinct user_id from {EVENTS}",
        {"select distinct user_id": "{{ config(dedupe={'keys': ['user_id'], 'within': '1 day'}) }} select user_id, at"},
        [({"events": [A, A, B]}, [{"user_id": "a"}, {"user_id": "b"}]), ({"events": [A]}, [])],
    ),
    "a dedupe that grows": Case(
        "MS561",
        "dedupe",
        "set config(dedupe={'keys': ['user_id'], 'within': '1 day'})" + ACCEPT,
        f"{{{{ config(dedupe={{'keys': 'user_id'}}) }}}} select user_id, at from {EVENTS}",
        {"'keys': 'user_id'": "'keys': ['user_id'], 'within': '1 day'"},
        [({"events": [A, A, B]}, [{"user_id": "a"}, {"user_id": "b"}]), ({"events": [A]}, [])],
    ),
    "a UNION that grows": Case(
        "MS561",
        "select",
        "use config(dedupe={'keys': ['u'], 'within': '1 day'}) instead of DISTINCT, and also select an event time with a watermark" + ACCEPT,
        f"select user_id as u from {EVENTS} union select visitor from {HITS}",
        {"select user_id as u": "{{ config(dedupe={'keys': ['u'], 'within': '1 day'}) }} select user_id as u, at",
         "union select visitor": "union all select visitor, seen as at"},
        [
            ({"events": [A, A], "hits": []}, [{"u": "a"}]),
            ({"events": [B], "hits": [{"visitor": "a", "seen": A["at"]}]}, [{"u": "b"}]),
        ],
    ),
    "a join that grows": Case(
        "MS562",
        HITS[3:-3],
        "add to ON: e.at between h.seen - interval 1 hour and h.seen + interval 1 hour" + ACCEPT,
        f"select e.user_id, h.path from {EVENTS} as e join {HITS} as h on e.user_id = h.visitor and e.at >= h.seen",
        {"e.at >= h.seen": "e.at between h.seen - interval 1 hour and h.seen + interval 1 hour"},
        [
            ({"events": [A], "hits": []}, []),
            ({"events": [], "hits": [{"visitor": "a", "path": "/", "seen": A["at"]}]}, [{"user_id": "a", "path": "/"}]),
        ],
        message="keeps each row of the right side forever",
    ),
    "distinct values of an aggregate": Case(
        "MS524",
        "count(distinct type)",
        "use size(collect_set(type)) for an exact count, or approx_count_distinct(type), which needs little memory",
        f"{{{{ config({OK}) }}}} select user_id, count(distinct type) as n from {EVENTS} group by user_id",
        {"count(distinct type)": "size(collect_set(type))"},
        [({"events": [A, A]}, [{"user_id": "a", "n": 1}]), ({"events": [A | {"type": "z"}]}, [{"user_id": "a", "n": 2}])],
    ),
    "a dedupe without a time": Case(
        "MS523",
        "dedupe",
        "select the column with the source's watermark, or set `watermark` of the model",
        f"{{{{ config(dedupe={{'keys': 'user_id', 'within': '1 day'}}) }}}} select user_id from {EVENTS}",
        {"select user_id": "select user_id, at"},
        [({"events": [A, A, B]}, [{"user_id": "a"}, {"user_id": "b"}]), ({"events": [A]}, [])],
    ),
    "a second watermark": Case(
        "MS526",
        EVENTS[3:-3],
        "change that one, or remove this one",
        f"select user_id, at from {EVENTS} watermark at delay of interval 1 hour",
        {" watermark at delay of interval 1 hour": ""},
        [({"events": [A]}, [{"user_id": "a"}]), ({"events": [B]}, [{"user_id": "b"}])],
    ),
}  # fmt: skip
