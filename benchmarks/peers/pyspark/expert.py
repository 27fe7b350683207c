"""The expert's query of handfused.py, extended to write the topics between the stages too, with tuned clients.

The stages of a pipeline have one condition, so each adds only its own JSON. The three topics of the hourly windows come
from one aggregate. Clients read and write in large pieces.
"""
import os
import time

import handfused
import harness
from handfused import ANALYTICS, COUNTED, FIELD_TYPES, KIND, SCORE, SERIAL, STAGED, STATEFUL, STATELESS, TOP, TOPICS, VALUE

READ = {"kafka.max.poll.records": "20000", "kafka.fetch.min.bytes": "1000000", "kafka.max.partition.fetch.bytes": "8000000",
        "kafka.fetch.max.bytes": "64000000"}
WRITE = {"kafka.linger.ms": "100", "kafka.batch.size": "1000000", "kafka.buffer.memory": "67108864", "kafka.compression.type": "lz4"}


def fields(names):
    return ", ".join(f"'{n}', {n}" for n in names)


STAGES = {
    "staged": [
        ("filtered_events", f"to_json(named_struct({fields(FIELD_TYPES)}))", list(FIELD_TYPES)),
        ("enriched_events", f"to_json(named_struct({fields(['event_id', 'event_type', 'priority', 'score', 'timestamp'])}, 'status', 'ENRICHED'))",
         ["event_id", "event_type", "priority", "score", "timestamp", "user_id"])],
    "serial": [
        ("optimized_events",
         f"to_json(named_struct('processed_event', named_struct('type', {KIND}, 'user_id', user_id, 'value', {VALUE}, 'score', {SCORE},"
         " 'timestamp', timestamp), 'metadata', metadata, 'processing_info', named_struct('optimized', true, 'version', 'v2')))",
         ["score", "type_id", "user_id", "value", "timestamp", "metadata"])],
}
CATEGORIZED = (
    "event_type in ('view', 'click', 'purchase', 'search')",
    f"to_json(named_struct({fields(['event_id', 'timestamp', 'event_type', 'product_id', 'value'])}, 'category',"
    " if(event_type in ('purchase', 'search'), 'conversion', 'engagement')))",
    ["event_id", "timestamp", "event_type", "product_id", "value", "user_id"])

# All topics of a stateless pipeline, and the one that comes before the windows.
PARTS = {
    "efficient": [STATELESS["efficient"]],
    "staged": [("filtered_events", STAGED[0], *STAGES["staged"][0][1:]), ("enriched_events", STAGED[0], *STAGES["staged"][1][1:]),
               STATELESS["staged"]],
    "serial": [("optimized_events", SERIAL[0], *STAGES["serial"][0][1:]), STATELESS["serial"]],
    "analytics": [("categorized_events", *CATEGORIZED)],
}

METRICS = ("'user_id', user_id, 'window_start', unix_millis(window.start), 'last_updated', last, 'event_count', n, "
           + ", ".join(f"'{t}_count', {t}s" for t in COUNTED)
           + ", 'total_value', total, 'unique_products', size(ids), 'product_ids', sort_array(ids)")
HEAD, AGGREGATE = ANALYTICS[0].split(" from (", 1)
FINAL = HEAD.removeprefix("select user_id, ")


def windows(prefix):
    """Three records for each window: what was counted, with categories, and the final metrics."""
    rows = ", ".join(f"named_struct('topic', '{prefix}.{topic}', 'key', user_id, 'value', {value})" for topic, value in (
        ("user_activity_metrics", f"to_json(named_struct({METRICS}))"),
        ("enriched_metrics", f"to_json(named_struct({METRICS}, 'top_categories', {TOP}))"),
        ("user_metrics", FINAL)))
    return f"select inline(array({rows})) from ({AGGREGATE}"


def fan_out(modes, prefix, source):
    rows = ", ".join(f"if({condition}, named_struct('topic', '{prefix}.{topic}', 'key', user_id, 'value', {value}), null)"
                     for m in modes for topic, condition, value, _ in PARTS[m])
    return f"select * from (select inline(array({rows})) from {source}) where topic is not null"


def statements(mode, prefix, partitions):
    """(name, SQL, output mode) of each query."""
    modes = harness.ALL if mode == "all" else [mode]
    stateful = [m for m in modes if m in STATEFUL]
    fields = {f for m in modes if m in PARTS for _, _, _, names in PARTS[m] for f in names}
    if not stateful:
        return [(mode, fan_out(modes, prefix, f"({handfused.narrow(fields)[0]})"), "append")]
    parsed, columns = handfused.narrow(fields | {f for m in stateful for f in next(iter(STATEFUL[m].values()))[1]})
    branches = [fan_out([m for m in modes if m in PARTS], prefix, "ev")] if fields else []
    if "state" in stateful:
        branches.append(f"select '{prefix}.user_metrics_summary' topic, * from ({STATEFUL['state']['user_metrics_summary'][0].format(source='ev')}) as (key, value)")
    if "analytics" in stateful:
        branches.append(windows(prefix).format(source="ev"))
    return [(mode, f"with ev as (select /*+ REPARTITION({partitions}, user_id) */ {', '.join(columns)} from ({parsed}) where rand() >= 0) "
             + " union all ".join(branches), "update")]


def drive(args, queries, checkpoints):
    started, cpu = time.time(), harness.cpu_seconds()
    running = []
    for q in queries:
        w = q.build().writeStream.format("kafka").option("kafka.bootstrap.servers", args.bootstrap)
        for name, value in WRITE.items():
            w = w.option(name, value)
        running.append(w.option("checkpointLocation", os.path.join(checkpoints, q.name)).queryName(q.name).outputMode(q.mode)
                       .trigger(availableNow=True).start())
    for q in running:
        q.awaitTermination()
    progress = [p for q in running for p in q.recentProgress]
    return {"wall_s": round(time.time() - started, 2), "cpu_s": round(harness.cpu_seconds() - cpu, 2), "queries": len(running),
            "input_rows_read": sum(p["numInputRows"] for p in progress), "batches": len(progress)}


if __name__ == "__main__":
    harness.drive = drive
    args = harness.arguments(__doc__)
    spark = harness.session(args, {"spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000"}.items())

    def plan(prefix):
        reader = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", args.bootstrap).option("subscribe", args.input)
                  .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", args.max_offsets))
        for name, value in READ.items():
            reader = reader.option(name, value)
        reader.load().createOrReplaceTempView("raw")
        if args.mode in ("analytics", "all"):
            harness.read_catalog(spark, args).selectExpr("map_from_entries(collect_list(struct(product_id, category))) by_id").createOrReplaceTempView("catalog")
        partitions = spark.conf.get("spark.sql.shuffle.partitions")
        return [harness.Query(name, lambda sql=sql: spark.sql(sql), mode=mode) for name, sql, mode in statements(args.mode, prefix, partitions)]

    names = {m: [t for t, *_ in PARTS.get(m, [])] + list(TOPICS[m] if m in STATEFUL else []) for m in harness.ALL}
    names["analytics"] += ["user_activity_metrics", "enriched_metrics"]
    harness.main(args, spark, plan, [t for m in (harness.ALL if args.mode == "all" else [args.mode]) for t in names[m]])
