"""Tables over tables whose SQL gives other rows as time passes, or by chance: refused, unless they are computed again."""

import pytest
from support.long import every_second_long
from support.runs import job_of
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.deploy.engine import service_of

ORDERS = "{{ config(materialized='table', unique_key='user_id') }} select user_id, amount, type, at from {{ source('shop', 'events') }}"
ORDER, USER, SEED = "{{ ref('orders') }}", "{{ source('shop', 'users') }}", "{{ ref('products') }}"
KEY = "user_id"
FULL = ", refresh='full', every='1 minute'"
REMEDY = "set config(refresh='full', every='1 minute'), or compute"
POSITIONS = {
    "where": f"select user_id, type from {ORDER} where at > now() - interval 1 day",
    "the list": f"select user_id, current_date() as today from {ORDER}",
    "a nested call": f"select user_id, datediff(current_date(), to_date(at)) as days from {ORDER}",
    "without parentheses": f"select user_id, current_timestamp as seen from {ORDER}",
    "chance": f"select user_id, rand() as r from {ORDER}",
    "chance in a condition": f"select user_id from {ORDER} where random() < 0.5",
    "an identifier": f"select user_id, uuid() as u from {ORDER}",
    "CASE": f"select user_id, case when at > localtimestamp() then 1 else 0 end as late from {ORDER}",
    "seconds": f"select user_id, unix_timestamp() as s from {ORDER}",
    "a CTE": f"with recent as (select * from {ORDER} where at > now() - interval 1 day) select user_id from recent",
    "a CTE of a CTE": f"with t as (select now() as n), u as (select user_id, type from {ORDER} as o cross join t where o.at > t.n) select user_id from u",
    "a derived table": f"select user_id from (select user_id, at from {ORDER} where at < now()) as t",
    "a subquery": f"select user_id from {ORDER} where at > (select now() - interval 1 day)",
    "HAVING": f"select user_id, max(at) as at from {ORDER} group by user_id having max(at) > now() - interval 1 day",
    "an aggregate": f"select user_id, count(*) as n from {ORDER} where at > now() - interval 1 day group by user_id",
    "a join": f"select o.user_id from {ORDER} as o join {USER} as u on o.user_id = u.user_id where o.at > now() - interval 1 day",
    "a union": f"select user_id from {ORDER} where at > now() union select user_id from {ORDER} where type = 'a'",
    "a window": f"select user_id, rank() over (partition by type order by at) as place from {ORDER} where at > now()",
    "a reference topic": f"select user_id, segment from {USER} where now() > timestamp '2026-01-01 00:00:00'",
    "a lookup of a seed": f"select o.user_id from {ORDER} as o join {SEED} as p on p.product_id = o.type where o.at > now()",
    "a macro": f"select user_id from {ORDER} where {{{{ recent('at') }}}}",
    "a special timestamp": f"select user_id from {ORDER} where at > timestamp 'now'",
    "a special date": f"select user_id from {ORDER} where at > date'today'",
    "a special text that is cast": f"select user_id from {ORDER} where at > cast('yesterday' as timestamp)",
    "a special text with colons": f"select user_id from {ORDER} where at > 'now UTC'::timestamp",
    "a function that casts": f"select user_id from {ORDER} where at > date('tomorrow')",
    "a shuffled array": f"select user_id, shuffle(array(1, 2)) as a from {ORDER}",
}  # fmt: skip


def compiled(root, sql, options=""):
    config = f"{{{{ config(materialized='table', unique_key='{KEY}'{options}) }}}} "
    project(root, {"orders": ORDERS, "m": config + sql})
    (root / "macros/recent.sql").write_text(
        "{% macro recent(column) %}{{ column }} > now() - interval 1 day{% endmacro %}\n"
    )
    return root


@pytest.mark.parametrize("position", every_second_long(POSITIONS))
def test_a_changing_value_is_refused_unless_the_table_is_computed_again(tmp_path, position):
    root = compiled(tmp_path / "refused", POSITIONS[position])
    (diagnostic,) = compile_project(root).diagnostics
    assert diagnostic.code == "MS546"
    assert diagnostic.location.path == "models/m.sql"
    assert diagnostic.help.startswith(REMEDY)
    job = job_of(compiled(tmp_path / "again", POSITIONS[position], FULL))
    (query,) = (query for query in job.physical.queries if query.maintaining is not None)
    assert query.maintaining.maintenance.changing
    assert service_of(query, job.catalog, job.project.target).every == "1 minute"


def test_every_is_part_of_the_remedy(tmp_path):
    (diagnostic,) = compile_project(compiled(tmp_path, POSITIONS["where"], ", refresh='full'")).diagnostics
    assert (diagnostic.code, diagnostic.help) == (
        "MS546",
        "set config(every='1 minute'), or compute now in the model that first stores the row",
    )


UNCHANGING = {
    "a stream": "select user_id, max(at) as at, max(now()) as n from {{ source('shop', 'events') }} where at > now() group by user_id",
    "an argument": f"select user_id, unix_timestamp(at) as s from {ORDER}",
    "a text": f"select user_id, 'now() rand()' as t from {ORDER}",
    "another text": f"select user_id, 'now' as t, cast('epoch' as timestamp) as e from {ORDER}",
    "a name": f"select user_id, amount as `now()` from {ORDER}",
    "a time": f"select user_id from {ORDER} where at > timestamp '2026-01-01 00:00:00'",
}  # fmt: skip


@pytest.mark.parametrize("name", UNCHANGING)
def test_other_sql_still_runs_row_by_row(tmp_path, name):
    diagnostics = compile_project(compiled(tmp_path, UNCHANGING[name])).diagnostics
    assert "MS546" not in [diagnostic.code for diagnostic in diagnostics]


VIEW = "{{ ref('v') }}"
BEHIND_VIEWS = {
    "the list of a view": {"v": f"select *, now() as t from {ORDER}", "m": f"select * from {VIEW}"},
    "the filter of a view": {
        "v": f"select * from {ORDER} where at > now() - interval 1 day",
        "m": f"select user_id, type from {VIEW}",
    },
    "a view of a view": {
        "w": f"select * from {ORDER} where rand() < 0.5",
        "v": "select user_id, amount from {{ ref('w') }}",
        "m": f"select user_id, amount from {VIEW}",
    },
    "a CTE of a view": {
        "v": f"with o as (select *, current_date as d from {ORDER}) select user_id, d from o",
        "m": f"select user_id, d from {VIEW}",
    },
    "a view with a special timestamp": {
        "v": f"select * from {ORDER} where at > timestamp 'now'",
        "m": f"select user_id, type from {VIEW}",
    },
    "a view with a special date that is cast": {
        "v": f"select * from {ORDER} where at > cast('yesterday' as timestamp)",
        "m": f"select user_id, type from {VIEW}",
    },
    "a view of a reference topic": {
        "v": f"select *, uuid() as u from {USER}",
        "m": f"select user_id, u from {VIEW}",
    },
    "a view that looks up a seed": {
        "v": f"select o.user_id, current_date() as today from {ORDER} as o left join {SEED} as p on p.product_id = o.type",
        "m": f"select user_id, today from {VIEW}",
    },
    "a view with an implicit cast": {
        "v": f"select * from {ORDER} where at > 'now'",
        "m": f"select user_id, type from {VIEW}",
    },
    "a view with a Python function": {
        "v": f"select user_id, stamped(user_id) as s from {ORDER}",
        "m": f"select user_id, s from {VIEW}",
    },
    "a table that reads a view": {
        "v": f"select * from {ORDER} where amount > 1",
        "m": f"select user_id from {VIEW} where at > now() - interval 1 day",
    },
    "a table with a column over a view": {
        "v": f"select * from {ORDER} where amount > 1",
        "m": f"select user_id, current_date() as today from {VIEW}",
    },
    "a subquery of a view": {
        "v": f"select * from {ORDER} where at > (select now() - interval 1 day)",
        "m": f"select user_id from {VIEW}",
    },
}  # fmt: skip


AS_TABLE = "a table with config(materialized='table', unique_key='user_id'"


def as_table(sql, options=""):
    return f"{{{{ config(materialized='table', unique_key='{KEY}'{options}) }}}} {sql}"


def behind(root, models):
    folder = project(root, {"orders": ORDERS, **models, "m": as_table(models["m"])})
    (root / "macros/times.py").write_text(STAMPED)
    return folder


@pytest.mark.parametrize("name", BEHIND_VIEWS)
def test_a_changing_value_of_a_view_is_refused_in_the_table_that_reads_it(tmp_path, name):
    """And its remedy works: the view becomes a table that is computed again, as well as the tables over it."""
    root, models = tmp_path, BEHIND_VIEWS[name]
    (diagnostic,) = compile_project(behind(root, models)).diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS546", "models/m.sql")
    if "calls it" in diagnostic.message:
        calls = next(name for name in ("w", "v") if f"'{name}' calls it" in diagnostic.message)
        assert diagnostic.help == f"make '{calls}' {AS_TABLE}{FULL})"
        (root / f"models/{calls}.sql").write_text(as_table(models[calls], FULL))
    else:
        calls = "m"
        assert diagnostic.help == f"all of this is needed: make 'v' {AS_TABLE}); set config({FULL[2:]}) here"
        (root / "models/v.sql").write_text(as_table(models["v"]))
        (root / "models/m.sql").write_text(as_table(models["m"], FULL))
    queries = [query for query in job_of(root).physical.queries if query.maintaining is not None]
    assert [f"model.{calls}"] == [
        query.maintaining.target.model for query in queries if query.maintaining.maintenance.changing
    ]


STREAMED = {
    "a view of a stream": "select *, now() as t from {{ source('shop', 'events') }} where at > now() - interval 1 day",
    "an aggregate of a stream": "select user_id, max(at) as t from {{ source('shop', 'events') }} where rand() < 0.5 group by user_id",
    "a stream that looks up a seed": f"select e.*, now() as t from {{{{ source('shop', 'events') }}}} as e left join {SEED} as p on p.product_id = e.type",
    "a stream with a Python function": "select user_id, stamped(user_id) as t, at from {{ source('shop', 'events') }}",
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMED)
def test_rows_of_a_stream_keep_the_value_that_they_got(tmp_path, name):
    models = {"v": STREAMED[name], "m": f"select user_id, t from {VIEW}"}
    assert [
        diagnostic.code
        for diagnostic in compile_project(behind(tmp_path, models)).diagnostics
        if diagnostic.severity == "error"
    ] == []


STAMPED = """
import time

def stamped(user_id: str | None) -> float:
    return time.time()
"""
SAME_TIMES = {
    "an implicit cast": "at > 'now'",
    "an implicit cast in BETWEEN": "at between 'yesterday' and 'tomorrow'",
    "an implicit cast in IN": "to_date(at) in ('today', '2026-01-01')",
    "an implicit cast in CASE": "case when amount > 1 then at else 'now' end > at",
    "an implicit cast of an argument": "datediff('today', at) > 1",
    "double quotes": 'at > timestamp "now"',
    "TRY_CAST": "at > try_cast('now' as timestamp)",
    "to_date": "to_date(at) = to_date('today')",
    "to_timestamp": "at > to_timestamp('now')",
    "try_to_timestamp": "at > try_to_timestamp('now')",
    "a part of a date": "year('today') = year(at)",
    "upper case": "at > 'NOW'",
    "coalesce": "coalesce(at, 'now') > timestamp '2026-01-01'",
}  # fmt: skip


@pytest.mark.parametrize("aggregate", [False, True], ids=("row by row", "touched keys"))
@pytest.mark.parametrize("name", SAME_TIMES)
def test_a_text_that_spark_casts_to_the_current_time_is_refused(tmp_path, name, aggregate):
    sql = f"select user_id from {ORDER} where {SAME_TIMES[name]}"
    more = " group by user_id" if aggregate else ""
    (diagnostic,) = compile_project(compiled(tmp_path, sql + more)).diagnostics
    assert (diagnostic.code, diagnostic.help[: len(REMEDY)]) == ("MS546", REMEDY)


TEXTS = (
    "type = 'now'",
    "concat(type, 'today') = 'x'",
    "type in ('today', 'yesterday')",
    "case when amount > 1 then 'now' else 'x' end = type",
    "type = 'nowhere' and at > '2026-01-01'",
)


@pytest.mark.parametrize("condition", TEXTS)
def test_the_same_words_as_texts_are_allowed(tmp_path, condition):
    sql = f"select user_id from {ORDER} where {condition}"
    assert compile_project(compiled(tmp_path, sql)).diagnostics == ()


def test_a_sample_is_refused_unless_it_is_taken_again(tmp_path):
    sql = f"select user_id, type from {ORDER} tablesample (10 percent)"
    (diagnostic,) = compile_project(compiled(tmp_path / "refused", sql)).diagnostics
    assert (diagnostic.code, diagnostic.help[: len(REMEDY)]) == ("MS546", REMEDY)
    assert compile_project(compiled(tmp_path / "again", sql, FULL)).diagnostics == ()


CALLS = {
    "time.time()": "import time",
    "int(clock())": "from time import time_ns as clock",
    "datetime.now().timestamp()": "from datetime import datetime",
    "dt.datetime.now(dt.timezone.utc).timestamp()": "import datetime as dt",
    "float(date.today().day)": "from datetime import date",
    "float(time.localtime().tm_sec)": "import time",
    "random.random()": "import random",
    "r()": "from random import random as r",
    "random.Random().random()": "import random",
    "random.SystemRandom().random()": "import random",
    "float(uuid.uuid4().int)": "import uuid",
    "float(os.urandom(1)[0])": "import os",
    "float(secrets.randbelow(9))": "import secrets",
    "STARTED": "import time\nSTARTED = time.time()",
    "_inner()": "import time\ndef _inner():\n    return time.time()",
    "_Now().value": "import time\nclass _Now:\n    def __init__(self):\n        self.value = time.time()",
    "_from().timestamp()": "def _from():\n    from datetime import datetime\n    return datetime.now()",
    "stamp()": "from lib.times import stamp",
    "lib.times.stamp()": "import lib.times",
    "indirect()": "from lib.times import indirect",
}
UNCHANGING_CALLS = {
    "random.Random(7).random()": "import random",
    "_seeded()": "import random\ndef _seeded():\n    random.seed(7)\n    return random.random()",
    "time.mktime(time.gmtime(3))": "import time",
    "datetime(2026, 1, 1).timestamp()": "from datetime import datetime",
    "_log()": "import time\ndef _log():\n    began = time.perf_counter()\n    return 1.0",
    "float(uuid.uuid5(uuid.NAMESPACE_DNS, 'x').int)": "import uuid",
    "pure()": "from lib.times import pure",
}


def with_function(root, call, imports):
    files = {
        "macros/f.py": f"{imports}\ndef f(user_id: str | None) -> float:\n    return {call}\n",
        "lib/__init__.py": "",
        "lib/times.py": "import time\ndef stamp():\n    return time.time()\ndef indirect():\n    return stamp()\ndef pure():\n    return 1.0\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.mark.parametrize("call", every_second_long(CALLS))
def test_python_that_reads_the_clock_or_chance_is_refused_unless_it_is_called_again(tmp_path, call):
    for sql in (
        f"select user_id, f(user_id) as v from {ORDER}",
        f"select user_id, max(f(user_id)) as v from {ORDER} group by user_id",
    ):
        root = with_function(compiled(tmp_path, sql), call, CALLS[call])
        (diagnostic,) = compile_project(root).diagnostics
        assert (diagnostic.code, diagnostic.help[: len(REMEDY)]) == ("MS546", REMEDY)
        assert diagnostic.message.startswith("f(), which calls ")
        compiled(tmp_path, sql, FULL)
        assert compile_project(root).diagnostics == ()


@pytest.mark.parametrize("call", UNCHANGING_CALLS)
def test_python_that_gives_the_same_value_each_time_is_allowed(tmp_path, call):
    root = compiled(tmp_path, f"select user_id, f(user_id) as v from {ORDER}")
    assert compile_project(with_function(root, call, UNCHANGING_CALLS[call])).diagnostics == ()


def test_rows_of_a_view_with_a_python_function_that_reads_the_clock_are_refused(tmp_path):
    root = behind(
        tmp_path,
        {
            "v": f"select o.*, stamped(o.user_id) as s from {ORDER} as o",
            "m": f"select user_id from {VIEW} where s > 1",
        },
    )
    (diagnostic,) = compile_project(root).diagnostics
    assert (diagnostic.code, diagnostic.message.partition(" gives")[0]) == ("MS546", "stamped()")
