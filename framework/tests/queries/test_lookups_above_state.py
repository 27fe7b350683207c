"""Lookups above state, on Spark in several micro-batches: while nothing can be found, the state is still stored."""

import json
from datetime import datetime, timedelta, timezone

import pytest
from planned_projects import planned
from support.building import sink, stored
from support.plans import by, dedupe, group, lookup, seed, select, topic, watermark
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project
from millstream.engine.spark.settings import CHAINS
from millstream.queries.emit.steps import DedupeView, SqlView
from millstream.queries.topology import compiled_topology, physical_of
from millstream.queries.values import PerBatch

pytestmark = SPARK_WARNINGS

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
RAW = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, headers array<struct<key: string, value: binary>>"
PRODUCTS = "product string, price bigint"
MODES = {
    "interpreted": (
        0,
        {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
    ),
    # More columns than `spark.sql.codegen.maxFields`.
    "wide": (120, {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}),
}
MODELS = {
    "inner_join": "select f.*, p.price from {{ ref('firsts') }} as f join {{ ref('products') }} as p on p.product = f.kind where p.price > 5",
    "inequality": "select f.*, p.price from {{ ref('firsts') }} as f join {{ ref('products') }} as p on p.product = f.kind and p.price > f.id",
    "comma": "select f.*, p.price from {{ ref('firsts') }} as f, {{ ref('products') }} as p where p.product = f.kind",
    "left_join": "select f.*, p.price from {{ ref('firsts') }} as f left join {{ ref('products') }} as p on p.product = f.kind where p.price > 5",
    "two": "select f.*, p.price, q.price as other from {{ ref('firsts') }} as f left join {{ ref('products') }} as p on p.product = f.kind join {{ ref('prices') }} as q on q.price = p.price",
    "semi_join": "select f.* from {{ ref('firsts') }} as f left semi join {{ ref('products') }} as product on product.product = f.kind where f.id < 100",
    "in_list": "select * from {{ ref('firsts') }} where kind in (select product from {{ ref('products') }}) and id < 100",
    "is_found": "select * from (select *, kind in (select product from {{ ref('products') }}) as is_found from {{ ref('firsts') }}) where is_found",
    "anti_join": "select f.* from {{ ref('firsts') }} as f left anti join {{ ref('products') }} as p on p.product = f.kind",
}


class Stream:
    """A query over files of records, each a micro-batch, run again and again from its checkpoint."""

    def __init__(self, spark, folder, settings, name):
        self.session = spark.newSession()
        for key, value in {"spark.sql.shuffle.partitions": "1", **settings}.items():
            self.session.conf.set(key, value)
        self.input, self.checkpoint = folder / "input", folder / name
        self.progress = []

    def run(self, query, products):
        session = self.session
        session.conf.set(CHAINS, str(query.chained).lower())
        reader = session.readStream.schema(RAW).option("maxFilesPerTrigger", 1)
        reader.parquet(str(self.input)).createOrReplaceTempView("events_records")
        for read in query.reads:
            products(session).createOrReplaceTempView(read.view)
        for step in query.steps:
            match step:
                case SqlView():
                    session.sql(step.sql).createOrReplaceTempView(step.name)
                case DedupeView():
                    rows = session.table(step.of)
                    drop = rows.dropDuplicatesWithinWatermark if step.within else rows.dropDuplicates
                    drop(list(step.keys)).createOrReplaceTempView(step.name)
        stored_rows = []

        def keep(batch, _number):
            if isinstance(query.deliver, PerBatch):
                batch.persist()
                batch.createOrReplaceTempView(query.deliver.view)
                for delivery in query.deliver.deliveries:
                    stored_rows.extend(map(tuple, batch.sparkSession.sql(delivery.sql).collect()))
                batch.unpersist()
            else:
                stored_rows.extend(json.loads(row["value"])["id"] for row in batch.collect())

        writer = session.sql(query.sql).writeStream.outputMode(query.output_mode).foreachBatch(keep)
        running = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        running.awaitTermination()
        self.progress = running.recentProgress
        return sorted(stored_rows)


@pytest.fixture
def send(spark, tmp_path):
    """Write events, given by their ids, as the next micro-batch; the kind of an id is its parity."""
    (tmp_path / "input").mkdir()
    numbers = iter(range(100))

    def write(*ids, seconds=0, wide=0):
        number = next(numbers)
        values = [
            {
                "id": i,
                "kind": "xyz"[i % 3] if i != 5 else "y",
                "at": (START + timedelta(seconds=seconds)).isoformat(),
                **{f"c{n}": n for n in range(wide)},
            }
            for i in ids
        ]
        rows = [
            (None, json.dumps(v).encode(), "events", 0, 10 * number + n, START, None)
            for n, v in enumerate(values)
        ]
        spark.createDataFrame(rows, RAW).coalesce(1).write.mode("append").parquet(str(tmp_path / "input"))

    return write


def nothing(session):
    return session.sql("select * from values ('x', 1L) as t(product, price) where product = 'y'")


def a_product(session):
    return session.createDataFrame([("y", 10)], PRODUCTS)


def project(folder, wide, models):
    """Compile a project in which each model is a query above the same dedupe."""
    columns = [
        {"name": "id", "type": "bigint"},
        {"name": "kind", "type": "string"},
        {"name": "at", "type": "timestamp"},
    ]
    columns += [{"name": f"c{n}", "type": "bigint"} for n in range(wide)]
    events = {"name": "events", "columns": columns, "watermark": {"column": "at", "delay": "10 seconds"}}
    local = {"master": "local[2]", "kafka": "embedded", "grouping": "off"}
    files = {
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n[tool.millstream]\nname = "shop"\n',
        "profiles.yml": json.dumps({"shop": {"target": "local", "outputs": {"local": local}}}),
        "models/sources.yml": json.dumps({"sources": [{"name": "web", "topics": [events]}]}),
        "models/firsts.sql": "{{ config(dedupe={'keys': ['id'], 'within': '1 hour'}) }} select * from {{ source('web', 'events') }}",
        "seeds/products.csv": "product,price\ny,10\n",
        "seeds/prices.csv": "product,price\ny,10\n",
    }
    files |= {
        f"models/{name}.sql": f"{{{{ config(materialized='sink') }}}} {MODELS[name]}" for name in models
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    compiled = compile_project(folder, use_cache=False)
    assert [d for d in compiled.diagnostics if d.severity == "error"] == []
    queries = physical_of(compiled_topology(compiled)).queries
    return {query.outputs[0].model.partition(".")[2]: query for query in queries}


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "models"), [("interpreted", [*MODELS]), ("wide", ["inner_join", "left_join", "semi_join"])]
)
def test_state_is_stored_while_a_lookup_is_empty(spark, send, tmp_path, mode, models):
    wide, settings = MODES[mode]
    queries = project(tmp_path / "project", wide, models)
    assert queries.keys() == {*models}
    streams = {name: Stream(spark, tmp_path, settings, name) for name in queries}
    send(1, 2, wide=wide)
    send(3, 1, wide=wide)
    for name, query in queries.items():
        assert streams[name].run(query, nothing) == ([1, 2, 3] if name == "anti_join" else []), name
        batches = [progress for progress in streams[name].progress if progress["numInputRows"]]
        assert [batch["stateOperators"][0]["numRowsTotal"] for batch in batches] == [2, 3], name
    send(1, 2, 3, 4, 5, 6, wide=wide)
    for name, query in queries.items():
        # 1, 2 and 3 are known.
        assert streams[name].run(query, a_product) == ([6] if name == "anti_join" else [4, 5]), name


def test_state_is_stored_while_the_lookups_of_all_outputs_are_empty(spark, send, tmp_path):
    """Each output then reads the stored batch, or Spark removes the batch together with the empty relation."""
    products = seed("a", "price", name="products")
    firsts = dedupe(by(topic("id"), "id"), "id")
    outputs = {kind: lookup(firsts, products, "id = a", kind) for kind in ("inner", "semi")}
    (query,) = planned(*(stored(node, name, "id") for name, node in outputs.items())).queries
    assert isinstance(query.deliver, PerBatch)
    stream = Stream(spark, tmp_path, {}, "both")
    send(1, 2)
    assert stream.run(query, lambda s: s.sql("select * from values (1, 1) as t(a, price) where a > 1")) == []
    send(1, 3)
    stored_rows = stream.run(query, lambda s: s.createDataFrame([(1, 10), (3, 30)], "a int, price int"))
    assert stored_rows == [(3,), (3, 3, 30)]


def test_a_watermark_follows_all_rows_while_a_lookup_is_empty(spark, send, tmp_path):
    products = seed("a", "price", name="products")
    looked_up = lookup(watermark(topic("id", "at"), "at"), products, "id = a")
    hours = group(by(looked_up, "id"), ("w = window(at, '1 hour')", "id"), "n = count(*)", emit="on_close")
    (query,) = planned(sink(select(hours, "id", "n"), "hours")).queries
    stream = Stream(spark, tmp_path, MODES["interpreted"][1], "hours")
    send(1)
    send(2, seconds=7200)
    stream.run(query, lambda s: s.sql("select * from values (1, 1) as t(a, price) where a > 1"))
    assert stream.progress[-1]["eventTime"]["watermark"] == "2024-01-01T01:59:50.000Z"
