"""What a stream can't do is refused by the compiler, at its place; and Spark still refuses it."""

from __future__ import annotations

import re

import pytest
from pyspark.errors import PySparkException
from support.micro_batches import attempted, streamed
from support.sql_plans import project

from millstream.plan.refusals import REFUSALS

EVENTS = "{{ source('shop', 'events') }}"
HITS = "{{ source('shop', 'hits') }}"
SEED = "{{ ref('products') }}"
RELATIONS = {"e": EVENTS, "h": HITS, "p": SEED}
SINK = "{{ config(materialized='sink') }} "

# What a row of the table stands for: SQL over the streams e and h and the seed p, what the caret stands under,
# what Spark says when it runs as a stream (nothing: Spark would run it, but see the comment), and its output mode.
FORMS = [
    ("union", "select type from e union all select category from p", "union", "Union between streaming and batch", "append"),
    ("union", "select 'x' as type union all select type from e", "union", "Union between streaming and batch", "append"),
    ("window function", "select type, row_number() over (partition by type order by at) as n from e", "row_number", "NON_TIME_WINDOW", "append"),
    ("window function", "select type, sum(value) over (partition by type) as n from e", "sum", "NON_TIME_WINDOW", "append"),
    ("window function", "select type, lag(value) over (partition by type order by at) as n from e", "lag", "NON_TIME_WINDOW", "append"),
    ("window function", "select type, first_value(value) over w as n from e window w as (partition by type order by at)", "first_value", "NON_TIME_WINDOW", "append"),
    ("window function", "select type from e qualify rank() over (partition by type order by at) = 1", "rank", "NON_TIME_WINDOW", "append"),
    ("sort", "select type from e order by at", "order by", "Sorting is not supported", "append"),
    ("sort", "select type from e sort by at", "sort by", "Sorting is not supported", "append"),
    ("sort", "select type from e cluster by type", "cluster by", "Sorting is not supported", "append"),
    ("sort", "(select type from e) union all (select path from h) order by 1", "order by", "Sorting is not supported", "append"),
    # Spark gives the first rows that it meets, and none ever after.
    ("limit", "select type from e limit 3", "limit", "", "append"),
    ("limit", "select type from e offset 3", "offset", "Offset is not supported", "append"),
    ("set operation", "select type from e intersect select category from p", "intersect", "Intersect of streaming", "append"),
    ("set operation", "select type from e except select path from h", "except", "Except on a streaming", "append"),
    ("set operation", "select category from p minus select type from e", "minus", "Except on a streaming", "append"),
    # Spark has them, with a NULL for each column that a row is not grouped by: no key of a table or topic.
    ("grouping sets", "select type, user_id, count(*) as n from e group by rollup(type, user_id)", "type, user_id", "", "update"),
    ("grouping sets", "select type, user_id, count(*) as n from e group by cube(type, user_id)", "type, user_id", "", "update"),
    ("grouping sets", "select type, grouping(type) as g, count(*) as n from e group by grouping sets ((type), ())", "type", "", "update"),
    ("sample", "select type from e tablesample (10 percent)", "source('shop', 'events')", "Sampling is not supported", "append"),
    # Spark starts with the first rows and then reads no more.
    ("sample", "select type from e tablesample (3 rows)", "source('shop', 'events')", "", "append"),
    ("pivot", "select * from (select type, user_id, value from e) pivot (sum(value) for type in ('a', 'b'))", "type, user_id, value from ", "correctness", "update"),
    ("recursion", "with recursive r as (select amount as n from e union all select n + 1 from r where n < 3) select n from r", "r", "streaming sources must be executed", "append"),
    ("subquery", "select type from e where user_id in (select visitor from h)", "select", "STREAMING_QUERY", "append"),
    ("subquery", "select type from e where exists (select 1 from h where h.visitor = e.user_id)", "select", "STREAMING_QUERY", "append"),
    ("subquery", "select type, (select max(path) from h) as m from e", "select", "STREAMING_QUERY", "append"),
    ("subquery", "select type, count(*) as n from e group by type having count(*) > (select count(*) from h)", "select", "STREAMING_QUERY", "update"),
    ("subquery", "select e.type, h.path from e, lateral (select path from h where h.visitor = e.user_id) as h", "path from ", "STREAMING_QUERY", "append"),
    ("session of all rows", "select session_window(at, '5 minutes').start as s, count(*) as n from e group by session_window(at, '5 minutes')", "session_window", "Global aggregation with session window", "append"),
    ("row number", "select type, monotonically_increasing_id() as n from e", "monotonically_increasing_id", "monotonically_increasing_id", "append"),
    # Spark runs these; but what such a state means after an edit nobody could tell (see OPAQUE below).
    ("grouping", "select type, count(*) as n from e join (values ('x')) as v(t) on v.t = e.type group by type", "group by", "", "update"),
    ("distinct", "select distinct type from e join (values ('x')) as v(t) on v.t = e.type", "distinct", "", "update"),
    ("distinct", "select type from e join (values ('x')) as v(t) on v.t = e.type union select path from h", "union", "", "update"),
    ("join", "select e.type from e join h on h.visitor = e.user_id join (values ('x')) as v(t) on v.t = e.type", "source('shop', 'hits')", "", "append"),
    ("outer join", "select e.type from p left join e on p.category = e.type join (values ('x')) as v(t) on v.t = p.category", "source('shop', 'events')", "not supported", "append"),
    ("outer join", "select e.type from e right join (values ('x')) as v(t) on v.t = e.type", "v", "not supported", "append"),
]  # fmt: skip
IDS = [f"{form[0]}: {form[1]}" for form in FORMS]


def test_every_refusal_has_a_form():
    assert {form[0] for form in FORMS} == REFUSALS.keys()


def as_model(sql: str) -> str:
    """Return the SQL of a model that reads topics and a seed where a form reads views."""

    def relation(match: re.Match[str]) -> str:
        before, name, sample = match.groups()
        return f"{before}{RELATIONS[name]}{sample or ''} as {name}"

    return re.sub(r"((?:from|join) )([ehp])\b( tablesample \(.*?\))?", relation, sql)


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Compile all forms at once, and return what is wrong with each."""
    models = {f"m{number}": SINK + as_model(form[1]) for number, form in enumerate(FORMS)}
    closing = "{{ config(materialized='sink', emit='on_close') }} "
    models = {name: sql.replace(SINK, closing) if "session" in sql else sql for name, sql in models.items()}
    root = project(tmp_path_factory.mktemp("refused"), models)
    _, wrong = attempted(root)
    return root, wrong


@pytest.mark.parametrize("number", range(len(FORMS)), ids=IDS)
def test_the_compiler_refuses_it_at_its_place(refused, number):
    root, wrong = refused
    kind, _, fragment, _, _ = FORMS[number]
    diagnostics = [
        diagnostic
        for diagnostic in wrong
        if diagnostic.location and diagnostic.location.path == f"models/m{number}.sql"
    ]
    assert [diagnostic.code for diagnostic in diagnostics] == [REFUSALS[kind].code], diagnostics
    assert diagnostics[0].help
    line = (root / diagnostics[0].location.path).read_text().splitlines()[diagnostics[0].location.line - 1]
    assert line[diagnostics[0].location.column - 1 : diagnostics[0].location.end - 1] == fragment


@pytest.fixture(scope="module")
def streams(spark, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("rows"))
    events = "select 'u' as user_id, 'x' as type, 1.5D as value, 1L as amount, timestamp '2026-01-01 00:00:00' as at"
    hits = "select 'u' as visitor, 'a' as path, timestamp '2026-01-01 00:00:00' as seen"
    for name, sql, time in (("e", events, "at"), ("h", hits, "seen")):
        rows = spark.sql(sql)
        rows.write.parquet(f"{folder}/{name}")
        stream = spark.readStream.schema(rows.schema).parquet(f"{folder}/{name}")
        stream.withWatermark(time, "1 minute").createOrReplaceTempView(name)
    spark.sql("select 'p1' as product_id, 'books' as category").createOrReplaceTempView("p")
    return spark


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(FORMS)), ids=IDS)
def test_spark_refuses_it_still(streams, tmp_path, number):
    _, sql, _, message, mode = FORMS[number]

    def run():
        rows = streams.sql(sql)
        writer = rows.writeStream.outputMode(mode).format("noop").option("checkpointLocation", str(tmp_path))
        writer.trigger(availableNow=True).start().awaitTermination()

    if not message:
        return run()
    with pytest.raises(PySparkException) as error:
        run()
    assert message in str(error.value)
    return None


AT_REST = [
    "select category, row_number() over (partition by category order by product_id) as n from p",
    "select category from p order by 1 limit 3",
    "select category from p intersect select product_id from p",
    "select category, count(*) as n from p group by cube(category)",
    "select category from p tablesample (100 percent)",
    "with recursive r as (select 1 as n union all select n + 1 from r where n < 3) select n from r join p on true",
    "select e.type, q.n from e join (select category, row_number() over (order by category) as n from p) as q on q.category = e.type",
    "select type from e where exists (select 1 from p where p.category = e.type)",
    "select type from e where type not in (select category from p order by 1 limit 1)",
    "select type, x.category from e, lateral (select category from p where p.category = e.type) as x",
    "select type, v.n from e join (values ('x', 1)) as v(t, n) on v.t = e.type",
    "select type, n, v from (select type, user_id, amount from e) unpivot (v for n in (amount))",
    "select type from e distribute by type",
    "select type from e limit all",
]


@pytest.mark.long
def test_over_rows_at_rest_and_row_by_row_all_of_it_may_stay(spark, tmp_path):
    """What is not understood runs as it is where it looks at nothing but a row, or at what is at rest."""
    models = {f"m{number}": SINK + as_model(sql) for number, sql in enumerate(AT_REST)}
    compiled = streamed(project(tmp_path, models), "apart")
    row = {"_key": "u", "type": "books", "value": 1.5, "amount": 2, "at": "2026-01-01T00:00:00Z"}
    sent = {}
    for query in compiled.physical.queries:
        for topic, value in compiled.run(spark, query, {"events": [[row], [row | {"type": "x"}]]}):
            sent.setdefault(topic, []).append(value)
    assert {name: len(rows) for name, rows in sent.items() if int(name[1:]) > 5} == {
        "m6": 1, "m7": 1, "m8": 1, "m9": 1, "m10": 1, "m11": 2, "m12": 2, "m13": 2
    }  # fmt: skip


STATEFUL = [
    # A condition that reads a seed stands next to a state, and both are understood.
    ("select window(at, '1 minute').start as s, count(*) as n from e where user_id in (select product_id from p) group by window(at, '1 minute')", "s"),
    ("select distinct user_id from e where type not in (select category from p)", "user_id"),
    ("select type, count(*) filter (where user_id in (select product_id from p)) as n from e group by type", "type"),
    ("select user_id in (select product_id from p) as known, count(*) as n from e group by 1", "known"),
    ("select type, count(*) as n from e group by type having max(user_id) in (select product_id from p)", "type"),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("target", ["apart", "plain_apart"])
def test_a_subquery_next_to_a_state_is_understood(spark, tmp_path, target):
    config = "{{{{ config(materialized='table', unique_key='{}') }}}} "
    models = {f"m{number}": config.format(key) + as_model(sql) for number, (sql, key) in enumerate(STATEFUL)}
    compiled = streamed(project(tmp_path, models), target)
    rows = [
        {"_key": "p1", "type": "x", "at": "2026-01-01T00:00:00Z"},
        {"_key": "u", "type": "x", "at": "2026-01-01T00:00:30Z"},
    ]
    stored = {}
    for query in compiled.physical.queries:
        assert query.signature.operators, query.name
        for model, row in compiled.run(spark, query, {"events": [rows, rows[:1]]}):
            if not row.pop("_deleted", False):
                stored.setdefault(model, []).append(sorted((k, v) for k, v in row.items() if k != "s"))
    assert {name: sorted(rows) for name, rows in stored.items()} == {
        "m0": [[("n", 1)], [("n", 2)]],
        "m1": [[("user_id", "p1")], [("user_id", "u")]],
        "m2": [[("n", 1), ("type", "x")], [("n", 2), ("type", "x")]],
        "m3": [[("known", False), ("n", 1)], [("known", True), ("n", 1)], [("known", True), ("n", 2)]],
    }
