"""Each record that a model read is counted once: as written, filtered, skipped, a dead letter or failed."""

import io
import json
import struct
from random import Random

import duckdb
import fastavro
import pytest
from msgspec.structs import astuple
from support.commands import Run
from support.long import ACCOUNTS, seeds
from support.running import running
from support.runs import built, create_topics, received, send
from support.shops import PROFILES, SHARE, UNOPTIMIZED
from support.spark import SPARK_WARNINGS

from millstream.deploy.values import BatchCompleted
from millstream.results.run_results import RecordOutcomes

pytestmark = SPARK_WARNINGS

POLICIES = ("skip", "dead_letter", "fail")
AVRO = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "kind", "type": "string"},
        {"name": "value", "type": "double"},
    ],
}
SINK = "{{ config(materialized='sink') }} "


def json_value(row):
    return json.dumps(row)


def csv_value(row):
    return f"{row['id']},{row['kind']},{row['value']}"


def xml_value(row):
    return f"<row><id>{row['id']}</id><kind>{row['kind']}</kind><value>{row['value']}</value></row>"


def avro_value(row):
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(AVRO), row)
    return buffer.getvalue()


PROTO = 'syntax = "proto3"; message Event { int32 id = 1; string kind = 2; double value = 3; }'


def proto_value(row):
    number, left = b"", row["id"]
    while left > 127:
        number, left = number + bytes([left & 127 | 128]), left >> 7
    kind = row["kind"].encode()
    return b"".join(
        [
            b"\x08",
            number,
            bytes([left]),
            b"\x12",
            bytes([len(kind)]),
            kind,
            b"\x19",
            struct.pack("<d", row["value"]),
        ]
    )


def framed_value(row):
    return b"\0\0\0\0\7" + json.dumps(row).encode()


JSON_SCHEMA = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "kind": {"type": "string"}, "value": {"type": "number"}},
}
FUNCTION = """
from typing import TypedDict

class Event(TypedDict):
    id: int
    kind: str
    value: float

def decoded(value: bytes) -> Event:
    id_, kind, number = value.decode().split(",")
    return Event(id=int(id_), kind=kind, value=float(number))
"""


def only_number(row):
    """A record that has no field for its kind: a negative number is what the filter leaves out."""
    return -1 if row["kind"] == "bot" else int(row["value"] * 2)


FORMATS = {
    "json": (json_value, ["no JSON", '{"id": "one", "kind": "a", "value": 1.0}', '{"id": 1.5}', "[1]", "{"]),
    "csv": (csv_value, ["one,a,1.0", "1,a,1.0,more", '1,"a,1.0', "99999999999,a,1.0", "1,a,x"]),
    "xml": (xml_value, ["<row>", "<row><id>x</id></row>", "no XML", "<row><id>1</id></rows>"]),
    "framed": (
        framed_value,
        [b"{}", b"\0\0\0\0\7", b"\1\0\0\0\7{}", b"\0\0\0\0\7[]", b'\0\0\0\0\7{"id": "x"}'],
    ),
    "protobuf": (proto_value, [b"\xff", b"\x08", b"\x12\x05ab", b"\x12\x01\xff", b"\x0a\x01a", b"\x19\0"]),
    "python": (csv_value, ["one,a,1.0", "1,a", "", b"\xff", "9223372036854775808,a,1.0"]),
    "number": (lambda row: str(only_number(row)), ["1.5", "x", "3000000000", ""]),
    "long": (lambda row: struct.pack(">q", only_number(row)), [b"", b"\0" * 7, b"\0" * 9]),
    "avro": (avro_value, [b"", b"\x02", avro_value({"id": 1, "kind": "abcdef", "value": 1.0})[:-3]]),
}
"""How to write a good value, and bad ones, by format."""


COLUMNS = "columns: [{name: id, type: int}, {name: kind, type: string}, {name: value, type: double}]"
TOPICS = {
    "avro": "format: avro, schema: schemas/event.avsc",
    "protobuf": "format: protobuf, schema: schemas/event.proto",
    "framed": "schema: schemas/event.json, framing: confluent",
    "python": "format: 'python:decoded'",
    "number": "format: string, columns: [{name: value, type: int}]",
    "long": "format: long",
}
"""What a source says of its topic, if not only its format and columns."""
SINGLE = {"number", "long"}


def source(name, format_, policy):
    topic = TOPICS.get(format_, f"format: {format_}, {COLUMNS}")
    return f"      - {{name: {name}, on_bad_record: {policy}, {topic}}}\n"


def queries(name, format_):
    """Return a model that may drop rows, and one whose function fails on zero; both read all columns."""
    where = "value >= 0" if format_ in SINGLE else "kind <> 'bot'"
    read = f"from {{{{ source('web', '{name}') }}}} where {where}"
    rest = "" if format_ in SINGLE else "id, kind, "
    return {
        f"kept_{name}": f"{SINK}select {rest}value {read}",
        f"shares_{name}": f"{SINK}select {rest}share(cast(value as double)) as share {read}",
    }


def records(random, count, format_):
    """Return values with what each is: good, a row that the filter leaves out, one that fails, or bad."""
    write, bad = FORMATS[format_]
    records = []
    for number in range(count):
        what = random.choice(["good", "good", "good", "filtered", "zero", "bad"])
        row = {
            "id": number,
            "kind": "bot" if what == "filtered" else random.choice("ab"),
            "value": 0.0 if what == "zero" else random.choice([0.0, 1.0]) if what == "filtered" else 1.5,
        }
        records.append((what, random.choice(bad) if what == "bad" else write(row)))
    return records


def numbers(what, *, function):
    """Return what must become of records: written, filtered, bad, and those on which a function fails."""
    counts = {kind: sum(fate == kind for fate, _ in what) for kind in ("good", "filtered", "zero", "bad")}
    written = counts["good"] + (0 if function else counts["zero"])
    return written, counts["filtered"], counts["bad"], counts["zero"] if function else 0


def expected(what, policy, *, function):
    written, filtered, bad, zero = numbers(what, function=function)
    lost = bad + zero
    skipped, dead = (lost, 0) if policy == "skip" else (0, lost)
    return RecordOutcomes(len(what), written, filtered, skipped, dead, 0)


def fates_of(results):
    for result in results.results:
        if result.fates is not None:
            read, *parts = astuple(result.fates)
            assert read == sum(parts), result
            assert min(parts) >= 0, result
    return {result.id.partition(".")[2]: result.fates for result in results.results}


def topics(formats):
    return {f"{format_}_{policy}": (format_, policy) for format_ in formats for policy in POLICIES}


def prepare(shop, formats):
    shop.write("profiles.yml", UNOPTIMIZED)
    shop.write("schemas/event.avsc", json.dumps(AVRO))
    shop.write("schemas/event.proto", PROTO)
    shop.write("schemas/event.json", json.dumps(JSON_SCHEMA))
    shop.write("macros/share.py", SHARE)
    if "python" in formats:
        shop.write("macros/decoded.py", FUNCTION)
    named = topics(formats)
    sources = "".join(source(name, *options) for name, options in named.items())
    shop.write("models/sources.yml", f"sources:\n  - name: web\n    topics:\n{sources}")
    create_topics(shop.bootstrap, *named, partitions=2)
    for name, (format_, _) in named.items():
        for model, sql in queries(name, format_).items():
            shop.model(model, sql)
    return named


def written_by(shop, model):
    return len(received(shop.bootstrap, model))


def check(shop, spark, random, formats, count):
    named = prepare(shop, formats)
    letters = dict.fromkeys(named, 0)
    before, sent = dict.fromkeys([f"{m}_{n}" for m in ("kept", "shares") for n in named], 0), {}
    for build in range(2):
        for name, (format_, _) in named.items():
            # A topic whose records stop the query has only good ones at first.
            rows = records(random, count, format_)
            if named[name][1] == "fail" and build == 0:
                rows = [row for row in rows if row[0] in {"good", "filtered"}]
            sent[name] = rows
            send(shop.bootstrap, {name: [(f"k{n}", value) for n, (_, value) in enumerate(rows)]})
        results, _ = built(shop.root, spark)
        fates = fates_of(results)
        statuses = {result.id.partition(".")[2]: result.status for result in results.results}
        for name, (_, policy) in named.items():
            for model in ("kept", "shares"):
                actual, id_ = fates[f"{model}_{name}"], f"{model}_{name}"
                total = written_by(shop, id_)
                assert actual is not None, id_
                written, before[id_] = total - before[id_], total
                assert actual.written == written, id_
                if statuses[id_] == "error":
                    # Of a batch that failed, only what arrived in the topic is known.
                    assert (policy, build) == ("fail", 1), id_
                    read = len(sent[name])
                    assert actual == RecordOutcomes(read, written, 0, 0, 0, read - written), id_
                    good = numbers(sent[name], function=model == "shares")[0]
                    assert written <= good < read, id_
                else:
                    assert actual == expected(sent[name], policy, function=model == "shares"), id_
            if policy == "dead_letter":
                letters[name] += sum(what in {"bad", "zero"} for what, _ in sent[name])
                assert len(received(shop.bootstrap, f"{name}.dead_letter")) == letters[name], name


def test_each_record_has_one_fate(shop, first_spark):
    check(shop, first_spark, Random(1), ["json"], 30)


def test_a_backfill_is_counted(shop, first_spark):
    named = prepare(shop, ["json"])
    for name in ("json_dead_letter", "json_fail"):
        for model in ("kept", "shares"):
            (shop.root / f"models/{model}_{name}.sql").unlink()
    (shop.root / "profiles.yml").write_text(
        'shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded}}}\n'
    )
    assert "json_skip" in named
    first, second = records(Random(2), 40, "json"), records(Random(3), 20, "json")
    send(shop.bootstrap, {"json_skip": [("k", value) for _, value in first]})
    built(shop.root, first_spark)
    shop.model(
        "joined", f"{SINK}select id, value from {{{{ source('web', 'json_skip') }}}} where kind <> 'bot'"
    )
    send(shop.bootstrap, {"json_skip": [("k", value) for _, value in second]})
    results, _ = built(shop.root, first_spark)
    fates = fates_of(results)
    joined = next(result for result in results.results if result.id == "model.joined")
    assert joined.backfilled == {"source.web.json_skip": 40}
    assert joined.rows_read == 60
    written, filtered, bad, _ = numbers(first + second, function=False)
    bad_before = numbers(first, function=False)[2]
    assert fates["joined"] == RecordOutcomes(60, written, filtered + bad_before, bad - bad_before, 0, 0)
    assert written_by(shop, "joined") == written
    assert fates["kept_json_skip"] == expected(second, "skip", function=False)


TABLE = "{{ config(materialized='table', unique_key='id') }} "


def prepare_tables(shop):
    """Write a model for each policy, with a query of its own: a sink for dead letters, otherwise tables."""
    named = prepare(shop, ["json"])
    for name, (_, policy) in named.items():
        (shop.root / f"models/shares_{name}.sql").unlink()
        if policy != "dead_letter":
            read = f"from {{{{ source('web', '{name}') }}}} where kind <> 'bot'"
            shop.model(f"kept_{name}", f"{TABLE}select id, value {read}")
    return named


def more_records(shop, named, seed):
    """Send the same records to each topic, without bad ones where these stop the query."""
    rows = records(Random(seed), 30, "json")
    sent = {
        name: [row for row in rows if policy != "fail" or row[0] != "bad"]
        for name, (_, policy) in named.items()
    }
    send(shop.bootstrap, {name: [("k", value) for _, value in rows] for name, rows in sent.items()})
    return sent


def test_rows_of_tables_are_counted(shop, first_spark):
    named = prepare_tables(shop)
    for seed in (4, 5):
        # The keys of the second build are those of the first one: each row replaces another.
        sent = more_records(shop, named, seed)
        results, _ = built(shop.root, first_spark)
        fates = fates_of(results)
        for name, (_, policy) in named.items():
            assert fates[f"kept_{name}"] == expected(sent[name], policy, function=False), name


@pytest.mark.long
def test_batches_of_a_run_are_counted(shop, first_spark):
    named = prepare_tables(shop)
    sent = {name: [] for name in named}
    with running(shop.root, first_spark) as run:
        for seed in (6, 7):
            for name, progress in more_records(shop, named, seed).items():
                sent[name] += progress
            run.until(
                lambda: (
                    sum(event.batch.rows for event in run.of(BatchCompleted)) == sum(map(len, sent.values()))
                )
            )
    batches, totals = {}, {}
    for progress in run.of(BatchCompleted):
        for model, fates in progress.batch.fates.items():
            batches[model] = batches[model] + fates if model in batches else fates
    for progress in run.totals.all():
        totals |= progress.fates
    assert totals == batches
    for name, (_, policy) in named.items():
        assert totals[f"kept_{name}"] == expected(sent[name], policy, function=False), name
    assert written_by(shop, "kept_json_dead_letter") == totals["kept_json_dead_letter"].written


# -- counted by queries of their own


CONDITION = "kind <> 'bot' and value > 1"
CHAINS = {
    "kept": f"{SINK}select id, kind, value, at from {{{{ source('web', 'events') }}}} where {CONDITION}",
    "odd": f"{SINK}select id, value from {{{{ ref('kept') }}}} where id % 2 = 1 or value is null",
    "small": "select id, kind, value from {{ source('web', 'events') }} where value < 5",
    "named": f"{SINK}select id, kind from {{{{ ref('small') }}}} where kind is not null",
    "stored": "{{ config(materialized='table', unique_key='id') }} select id, kind from {{ ref('small') }}",
    "once": "{{ config(materialized='sink', key='id', dedupe={'keys': ['id'], 'within': '1 hour'}) }} "
    "select id, value, at from {{ source('web', 'events') }} where value > 1",
    "grouped": "{{ config(materialized='table', unique_key='kind') }} "
    "select kind, count(*) as events from {{ source('web', 'events') }} group by kind",
}


def events(random, count, hour):
    """Return events of an hour, in which NULL and numbers that come again are common."""
    return [
        {
            "id": random.randrange(2 * count),
            "kind": random.choice(["bot", "a", "b", None]),
            "value": random.choice([0.5, 1.0, 1.5, 4.0, 7.5, None]),
            "at": f"2026-01-01T{hour:02}:{random.randrange(60):02}:30Z",
        }
        for _ in range(count)
    ]


def counter(tmp_path, rows):
    """Return a function that counts events by a condition, from their JSON and without Spark."""
    file = tmp_path / f"{len(rows)}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = f"read_json('{file}', columns = {{id: 'int', kind: 'text', value: 'double', 'at': 'timestamp'}})"
    return lambda what, where="true": duckdb.sql(f"select {what} from {read} where {where}").fetchall()[0][0]


@pytest.mark.parametrize("profile", [PROFILES, UNOPTIMIZED], ids=["optimized", "apart"])
@pytest.mark.long
def test_what_is_left_out_is_counted_by_queries_of_its_own(shop, first_spark, tmp_path, profile):
    shop.write("profiles.yml", profile)
    for name, sql in CHAINS.items():
        shop.model(name, sql)
    random = Random(8)
    batches = [events(random, 60, 10), events(random, 60, 12) + events(random, 20, 9)]
    seen = []
    for rows, too_late in zip(batches, ["false", "\"at\" < '2026-01-01 10:00:00'"], strict=True):
        shop.send(*(("k", row) for row in rows))
        results, _ = built(shop.root, first_spark)
        fates, count = fates_of(results), counter(tmp_path, rows)
        reads = {result.id.partition(".")[2]: result.reads for result in results.results}
        assert fates["grouped"] is None
        left_out = {
            "kept": f"not coalesce({CONDITION}, false)",
            "odd": f"not coalesce({CONDITION}, false) or not coalesce(id % 2 = 1, false)",
            "named": "not coalesce(value < 5, false) or kind is null",
            "stored": "not coalesce(value < 5, false)",
            "once": "not coalesce(value > 1, false)",
        }
        if "model.kept" in reads["odd"]:
            left_out["odd"] = f"{CONDITION} and id % 2 <> 1"
        for model, condition in left_out.items():
            assert fates[model].filtered == count("count(*)", condition), (model, fates[model])
        assert fates["once"].late == count("count(*)", f"value > 1 and {too_late}")
        ids = count("coalesce(list(id), [])", f"value > 1 and not ({too_late})")
        new = [id_ for id_ in dict.fromkeys(ids) if id_ not in seen]
        assert (fates["once"].written, fates["once"].duplicates) == (len(new), len(ids) - len(new))
        seen += new


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_run_reports_the_numbers_of_each_batch_and_all(shop):
    shop.source(on_bad_record="skip")
    for name, sql in CHAINS.items():
        shop.model(name, sql)
    shop.write("macros/share.py", SHARE)
    shop.model("shares", f"{SINK}select id, share(value) as share from {{{{ source('web', 'events') }}}}")
    rows = [*events(Random(9), 40, 10), {"id": 1, "kind": "a", "value": 0.0}]
    shop.send(*(("k", row) for row in rows), ("k", "no JSON"), ("k", '{"id": "one"}'))
    run = Run(shop.root)
    try:
        reads, totals = dict.fromkeys([*CHAINS.keys() - {"small", "grouped"}, "shares"], 0), {}
        while min(reads.values()) < len(rows) + 2:
            for model, fates in run.until("batch")["fates"].items():
                reads[model] += fates["read"]
                totals[model] = {
                    name: number + totals.get(model, {}).get(name, 0) for name, number in fates.items()
                }
        assert run.stop() == 0
        assert run.until("ended")["fates"] == totals
    finally:
        if run.process.poll() is None:
            run.kill(with_children=True)
    assert reads == dict.fromkeys(reads, len(rows) + 2)
    fails = sum(not row["value"] for row in rows)  # 1 / 0, and 1 / None
    assert (totals["shares"]["skipped"], totals["once"]["skipped"]) == (2 + fails, 2)
    assert all(sum(fates.values()) == 2 * fates["read"] for fates in totals.values())


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(ACCOUNTS))
def test_random_records_of_all_formats_have_one_fate(shop, first_spark, seed):
    check(shop, first_spark, Random(seed), [*FORMATS], 60)
