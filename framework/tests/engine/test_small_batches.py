"""Batches of few records: the same rows as those of many, from fewer tasks."""

import pytest
from pyspark.sql import functions as f
from support.runs import built, errors, table_rows
from support.shops import PROFILES, TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.engine.queries import deliveries
from millstream.engine.queries.small_batches import FEW, BatchInterpretation, evaluate_batch, plan_small
from millstream.stores.session_settings import use_settings

pytestmark = SPARK_WARNINGS

VALUES = """
    select id, if(id % 7 = 0, null, concat('ü', id)) as text, encode(string(id), 'UTF-8') as bytes,
      cast(id * 1.5 as decimal(38, 9)) as exact,
      case id % 4 when 0 then double('NaN') when 1 then -0d when 2 then double('-Infinity') else id / 3 end as real,
      timestamp_micros(id - 12219292800000000L) as at, date_add(date'0001-01-01', int(id)) as day,
      timestamp_ntz'1582-10-10 00:00:00' as local, make_dt_interval(0, 0, 0, id) as took,
      named_struct('a', array(id, null), 'b', map(id, named_struct('c', id))) as nested,
      parse_json(to_json(struct(id))) as json, array() as none
    from range(0, {most}, 1, {partitions})
"""


def shown(rows):
    return [tuple(map(str, row)) for row in rows.collect()]


def test_rows_of_all_types_and_their_order_are_kept(spark):
    rows = spark.sql(VALUES.format(most=100, partitions=3))
    with evaluate_batch(rows) as evaluation:
        assert evaluation.few
        assert evaluation.count() == 100
        assert evaluation.rows.schema == rows.schema
        with plan_small(spark, few=True):
            assert shown(evaluation.rows) == shown(rows)
            numbered = evaluation.rows.select(f.monotonically_increasing_id().alias("n"), "id").orderBy("n")
            assert [row.id for row in numbered.collect()] == list(range(100))


@pytest.mark.parametrize(
    ("most", "width", "partitions"), [(10_001, 1, 3), (20, 2_000_000, 1), (20, 400_000, 4)]
)
def test_many_rows_and_large_ones_stay_where_they_are(spark, most, width, partitions):
    sql = f"select id, repeat('x', {width}) as text from range(0, {most}, 1, {partitions})"
    with evaluate_batch(spark.sql(sql)) as evaluation:
        assert not evaluation.few
        total = evaluation.rows.agg(f.count("*"), f.sum("id"), f.sum(f.length("text"))).first()
        assert total == (most, most * (most - 1) // 2, most * width)


def test_a_query_runs_once(spark):
    seen = spark.sparkContext.accumulator(0)
    many = spark.range(0, 20_000, 1, 4).rdd.map(lambda row: seen.add(1) or row).toDF("id bigint")
    with evaluate_batch(many) as evaluation:
        assert (
            evaluation.few,
            evaluation.count(),
            evaluation.rows.agg(f.max("id")).first()[0],
            seen.value,
        ) == (
            False,
            20_000,
            19_999,
            20_000,
        )


@pytest.mark.parametrize("rows", [0, 7, 20_000])
def test_what_a_query_observes_is_known_afterwards(spark, rows):
    counted = spark.range(rows).observe("seen", f.count("*").alias("seen"))
    few = counted.join(spark.range(5).withColumnRenamed("id", "other"), f.expr("id = other"), "full")
    with evaluate_batch(few.where("id < 3 or id is null or id > 10")) as evaluation:
        assert evaluation.observed("seen") == rows


def test_settings_are_those_of_before(spark):
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    names = (
        "spark.sql.shuffle.partitions",
        "spark.sql.adaptive.enabled",
        "spark.sql.leafNodeDefaultParallelism",
    )
    before = {name: spark.conf.get(name, None) for name in names}
    with plan_small(spark, few=True):
        assert spark.conf.get("spark.sql.shuffle.partitions") == "1"
    with use_settings(spark, {"spark.sql.shuffle.partitions": "3"}):
        pass
    assert {name: spark.conf.get(name, None) for name in names} == before


@pytest.mark.long
def test_few_records_are_stored_by_fewer_tasks(shop, first_spark, monkeypatch):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0))
    built(shop.root, first_spark)
    scheduler, tasks = first_spark._jsc.sc().taskScheduler(), []
    for number, most in enumerate((deliveries.MOST, -1), start=2):
        monkeypatch.setattr(deliveries, "MOST", most)
        shop.send(event(number, value=3.0))
        before = scheduler.newTaskId()
        _, events = built(shop.root, first_spark)
        assert errors(events) == []
        tasks.append(scheduler.newTaskId() - before)
    assert [row["total"] for row in table_rows(shop.root, "model.totals")] == [8.0]
    assert tasks[0] < tasks[1]


@pytest.mark.parametrize(
    "fast", [True, pytest.param(False, marks=pytest.mark.long)], ids=["interpreted", "compiled"]
)
def test_the_first_batch_of_few_records_is_interpreted(shop, first_spark, fast):
    setting = "on" if fast else "off"
    shop.write("profiles.yml", PROFILES.replace("kafka: embedded", f"kafka: embedded, fast_paths: {setting}"))
    compilations = first_spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    shop.send(event(1), event(2))
    # Spark keeps what it has compiled. Only the numbers are new in the second build.
    for number in ("1", "2"):
        shop.model(
            f"kinds{number}", "{{ config(materialized='sink', key='kind') }} select kind, "
            f"sum(value + 7531.{number}{fast:d}) as total from {{{{ source('web', 'events') }}}} group by kind",
        )  # fmt: skip
        before = compilations.getCount()
        _, events = built(shop.root, first_spark)
        assert errors(events) == []
        assert shop.values(f"kinds{number}")[-1]["total"] == pytest.approx(
            2 * float(f"7532.{number}{fast:d}")
        )
        (shop.root / f"models/kinds{number}.sql").unlink()
    assert (compilations.getCount() == before) == fast


def test_a_batch_after_a_small_one_is_interpreted(spark):
    name, interpretation = "spark.sql.codegen.factoryMode", BatchInterpretation()
    spark.conf.set(name, "FALLBACK")
    seen = []
    for records in (FEW + 1, FEW, 0, FEW + 1):
        interpretation.follow(spark, records)
        seen.append(spark.conf.get(name))
    assert seen == ["FALLBACK", "NO_CODEGEN", "NO_CODEGEN", "FALLBACK"]
