"""Tables whose FROM starts with rows at rest: after each change of what is joined, they equal Spark's batch."""

import pytest
from support.runs import built, create_topics, errors, statuses, table_rows
from support.shops import PROFILES, UNOPTIMIZED
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project

pytestmark = SPARK_WARNINGS

LATEST = """
    {{ config(materialized='table', unique_key='id', delete_when="kind = 'gone'") }}
    select id, user, kind, value from {{ source('web', 'events') }}
"""
TOTALS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, count(*) as n, sum(value) as total from {{ ref('latest') }} group by kind
"""
TITLED = "select upper(name) as name, kind from {{ ref('kinds') }}"
LIMITS = """
      - name: limits
        table: true
        key: {name: kind, type: string}
        columns: [{name: most, type: double}]
"""
KINDS = "kind,name\na,Apples\nb,Berries\nc,Cherries\nb,Bananas\n,Nothing\n"
SEEDED = {
    "inner": ("id, name", "select s.name, o.id, o.value from {kinds} s join {latest} o on o.kind = s.kind"),
    "outer": ("name, id", "select s.name, o.id, o.value from {kinds} s left join {latest} o on o.kind = s.kind"),
    "right": ("id, name", "select s.name, o.id, o.value from {kinds} s right join {latest} o on o.kind = s.kind"),
    "both": ("name, id", "select s.name, o.id, o.value from {kinds} s full join {latest} o on o.kind = s.kind"),
    "pairs": ("id, name", "select s.name, o.id from {kinds} s cross join {latest} o"),
    "counted": ("kind", "select s.kind, count(*) as n from {kinds} s join {latest} o on o.kind = s.kind group by s.kind"),
    "every_kind": ("name", "select s.name, count(o.id) as n, max(o.value) as most from {kinds} s left join {latest} o on o.kind = s.kind group by s.name"),
    "cte": ("id, name", "with s as (select * from {kinds}) select s.name, o.id from s join {latest} o on o.kind = s.kind"),
    "cte_of_both": ("name, id", "with j as (select s.name, o.id from {kinds} s left join {latest} o on o.kind = s.kind) select * from j"),
    "cte_of_table": ("name, id", "with t as (select * from {latest} where value > 1) select s.name, t.id from {kinds} s left join t on t.kind = s.kind"),
    "subquery": ("name", "select s.name, count(o.id) as n from (select * from {kinds} where name <> 'Berries') s left join {latest} o on o.kind = s.kind group by s.name"),
    "union_all": ("kind, name", "select kind, name, count(*) as n from (select kind, name from {kinds} union all select kind, user from {latest}) group by kind, name"),
    "union_distinct": ("kind", "select kind from {kinds} union select kind from {latest}"),
    "two_tables": ("id, name", "select s.name, o.id, t.total from {kinds} s join {latest} o on o.kind = s.kind join {totals} t on t.kind = s.kind"),
    "two_left": ("name, id", "select s.name, o.id, t.total from {kinds} s left join {latest} o on o.kind = s.kind left join {totals} t on t.kind = s.kind"),
    "of_joined": ("id, name", "select j.name, o.id, j.total from {latest} o join (select s.name, s.kind, t.total from {kinds} s join {totals} t on t.kind = s.kind) j on j.kind = o.kind"),
    "existing": ("name", "select name from {kinds} s where exists (select 1 from {latest} o where o.kind = s.kind)"),
    "missing": ("name", "select name from {kinds} s where not exists (select 1 from {latest} o where o.kind = s.kind)"),
    "semi": ("name", "select name from {kinds} s left semi join {latest} o on o.kind = s.kind"),
    "anti": ("name", "select name from {kinds} s left anti join {latest} o on o.kind = s.kind"),
    "listed": ("name", "select name from {kinds} where kind in (select kind from {latest})"),
    "scalar": ("name", "select name, (select max(value) from {latest}) as most from {kinds}"),
    "limits_first": ("id", "select o.id, l.most from {limits} l join {latest} o on o.kind = l.kind"),
    "limits_left": ("kind, id", "select l.kind, o.id, l.most from {limits} l left join {latest} o on o.kind = l.kind"),
    "seed_and_limits": ("name", "select s.name, l.most from {kinds} s left join {limits} l on l.kind = s.kind"),
    "ordered": ("name, id", "select s.name, o.id, row_number() over (partition by s.name order by o.value, o.id) as place from {kinds} s join {latest} o on o.kind = s.kind"),
}  # fmt: skip
"""By name: the key of the table, and its SQL."""
ONE = "o.kind = v.kind and v.name <> 'BANANAS'"
VIEWED = {
    "viewed": ("id", f"select v.name, o.id from {{titled}} v join {{latest}} o on {ONE}"),
    "viewed_right": ("id", f"select v.name, o.id from {{titled}} v right join {{latest}} o on {ONE}"),
    "viewed_after": ("id", f"select v.name, o.id from {{latest}} o left join {{titled}} v on {ONE}"),
    "viewed_in_cte": ("id", f"with v as (select * from {{titled}}) select v.name, o.id from v join {{latest}} o on {ONE}"),
}  # fmt: skip
"""With a view over the seed: each row of the table looks up one of the view."""
RELATIONS = {
    "kinds": "{{ ref('kinds') }}",
    "latest": "{{ ref('latest') }}",
    "totals": "{{ ref('totals') }}",
    "titled": "{{ ref('titled') }}",
    "limits": "{{ source('web', 'limits') }}",
}
EVENTS = [
    [(1, "a", 1.0), (2, "b", 2.0), (3, "a", 3.0), (4, "x", 4.0)],
    [(2, "a", 2.5), (5, "b", 0.5), (1, "gone", 0.0)],
    [(3, "c", 3.0), (5, "gone", 0.0), (6, "c", 3.0), (4, None, 4.0)],
]
LIMITED = [[("a", 5.0), ("b", 6.0)], [("b", 7.0), ("c", 8.0)], [("a", None)]]


def send(shop, batch):
    shop.send(*((f"u{id_}", {"id": id_, "kind": kind, "value": value}) for id_, kind, value in EVENTS[batch]))
    rows = [(kind, None if most is None else {"most": most}) for kind, most in LIMITED[batch]]
    shop.send(*rows, topic="limits")


def views_of_rows(shop, spark, batches):
    """Create views with the rows that all records so far leave, without what is tested."""
    latest, limits = {}, {}
    for events, limited in zip(EVENTS[:batches], LIMITED[:batches], strict=True):
        latest |= {id_: (id_, f"u{id_}", kind, value) for id_, kind, value in events}
        limits |= dict(limited)
    rows = {
        "latest": ([row for row in latest.values() if row[2] != "gone"], "id int, user string, kind string, value double"),
        "limits": ([row for row in limits.items() if row[1] is not None], "kind string, most double"),
        "kinds": ([tuple(cell or None for cell in line.split(",")) for line in KINDS.split()[1:]], "kind string, name string"),
    }  # fmt: skip
    for name, (tuples, columns) in rows.items():
        spark.createDataFrame(tuples, columns).createOrReplaceTempView(name)
    spark.sql("select upper(name) as name, kind from kinds").createOrReplaceTempView("titled")
    totals = "select kind, count(*) as n, sum(value) as total from latest group by kind"
    spark.sql(totals).createOrReplaceTempView("totals")


def sorted_rows(rows):
    return sorted((tuple(row.items()) for row in rows), key=repr)


@pytest.fixture
def seeded(shop):
    create_topics(shop.bootstrap, "limits", partitions=1)
    shop.write("seeds/kinds.csv", KINDS)
    shop.more(LIMITS)
    return shop


@pytest.fixture
def with_latest(seeded):
    seeded.model("latest", LATEST)
    seeded.write("models/titled.sql", TITLED)
    return seeded


def add(shop, cases):
    shop.model("totals", TOTALS)
    for name, (keys, sql) in cases.items():
        config = f"{{{{ config(materialized='table', unique_key={keys.split(', ')}) }}}}"
        shop.model(name, f"{config}\n{sql.format(**RELATIONS)}")


QUICK = ("every_kind", "union_all", "missing", "viewed")


def check_builds(shop, spark, first_spark, cases, builds=((0,), (1,), (2,))):
    """Compare all rows after each build, for which some batches are sent."""
    add(shop, cases)
    for batches in builds:
        for batch in batches:
            send(shop, batch)
        results, events = built(shop.root, first_spark)
        assert not errors(events), errors(events)
        assert set(statuses(results).values()) == {"success"}
        views_of_rows(shop, spark, batches[-1] + 1)
        for name, (_, sql) in cases.items():
            expected = (
                spark.sql(sql.format(**{relation: relation for relation in RELATIONS})).toArrow().to_pylist()
            )
            stored = table_rows(shop.root, f"model.{name}")
            assert sorted_rows(stored) == sorted_rows(expected), (name, batches)


@pytest.mark.long
def test_tables_that_start_with_rows_at_rest_equal_batch(with_latest, spark, first_spark):
    cases = {name: (SEEDED | VIEWED)[name] for name in QUICK}
    check_builds(with_latest, spark, first_spark, cases, builds=((0,), (1, 2)))


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("optimized", [True, False])
def test_all_tables_that_start_with_rows_at_rest_equal_batch(with_latest, spark, first_spark, optimized):
    with_latest.write("profiles.yml", PROFILES if optimized else UNOPTIMIZED)
    check_builds(with_latest, spark, first_spark, SEEDED | VIEWED)


def test_a_sink_sends_what_a_table_brings_to_a_seed(with_latest, first_spark):
    with_latest.model(
        "sent",
        """{{ config(materialized='sink', key='id') }}
        select v.name, o.id from {{ ref('titled') }} v join {{ ref('latest') }} o
        on o.kind = v.kind and v.name <> 'BANANAS'""",
    )
    send(with_latest, 0)
    _, events = built(with_latest.root, first_spark)
    assert not errors(events), errors(events)
    sent = [row for row in with_latest.values("sent") if row is not None]
    expected = [{"name": "APPLES", "id": 1}, {"name": "APPLES", "id": 3}, {"name": "BERRIES", "id": 2}]
    assert sorted_rows(sent) == sorted_rows(expected)


def test_a_seed_that_a_stream_is_joined_to(seeded, spark, first_spark):
    sql = "select s.name, e.id, e.value from {kinds} s join {events} e on e.kind = s.kind"
    events = "{{ source('web', 'events') }}"
    seeded.model(
        "flow", "{{ config(materialized='sink') }}" + sql.format(kinds=RELATIONS["kinds"], events=events)
    )
    grouped = "select s.name, count(*) as n from {kinds} s join {events} e on e.kind = s.kind group by s.name"
    config = "{{ config(materialized='table', unique_key='name') }}"
    seeded.model("per_name", config + grouped.format(kinds=RELATIONS["kinds"], events=events))
    for batch in range(2):
        send(seeded, batch)
        _, build_events = built(seeded.root, first_spark)
        assert not errors(build_events), errors(build_events)
    views_of_rows(seeded, spark, 2)
    rows = [row for batch in EVENTS[:2] for row in batch]
    spark.createDataFrame(rows, "id int, kind string, value double").createOrReplaceTempView("events")
    sent = spark.sql(sql.format(kinds="kinds", events="events")).toArrow().to_pylist()
    assert sorted_rows(seeded.values("flow")) == sorted_rows(sent)
    counted = spark.sql(grouped.format(kinds="kinds", events="events")).toArrow().to_pylist()
    assert sorted_rows(table_rows(seeded.root, "model.per_name")) == sorted_rows(counted)


@pytest.mark.parametrize("join", ["left join", "full join", "left semi join"])
def test_a_view_first_that_a_table_would_only_be_looked_up_for(with_latest, join):
    select = "select v.name" if "semi" in join else "select v.name, o.id"
    sql = f"{select} from {{titled}} v {join} {{latest}} o on o.kind = v.kind"
    add(with_latest, {"every": ("name" if "semi" in join else "name, id", sql)})
    (diagnostic,) = compile_project(with_latest.root).diagnostics
    assert (diagnostic.code, diagnostic.help) == ("MS694", "write the SQL of 'titled' as a CTE of this model")
    text = (with_latest.root / "models/every.sql").read_text()
    (with_latest.root / "models/every.sql").write_text(
        text.replace(select, f"with titled as ({TITLED}) {select}").replace(RELATIONS["titled"], "titled")
    )
    assert not compile_project(with_latest.root).diagnostics


def test_an_error_of_a_table_over_tables_is_reported_once(with_latest, first_spark, capfd):
    with_latest.model(
        "mixed",
        """{{ config(materialized='table', unique_key='id') }}
        select id, at from (
            select id, cast('2026-01-01' as timestamp) as at from {{ ref('latest') }}
            union all select 100 + id as id, kind as at from {{ ref('latest') }}
        )""",
    )
    send(with_latest, 0)
    _, events = built(with_latest.root, first_spark)
    (diagnostic,) = errors(events)
    assert diagnostic.code == "MS868"
    captured = capfd.readouterr()
    assert "QueryContextLogger" not in captured.out + captured.err
