"""Measure formats of records: `python benchmarks/formats.py --rounds 6`.

CPU seconds of Spark's process for a million records of twelve columns (one in `string` and `long`), decoded and
encoded, alternating in one process; the time to read the records, or their columns, is subtracted. The median of
all rounds but the first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from millstream.core.expressions import Expression, Ref, render_sql
from millstream.core.types import STRING, Field, parse_type
from millstream.engine.spark.jars import jars_of
from millstream.engine.spark.registry import UsedRegistry, use_registry
from millstream.engine.spark.session import start_spark
from millstream.formats.avro.codec import AvroEncoding, spark_codec
from millstream.formats.avro.columns import schema_of
from millstream.formats.format import SparkCodec
from millstream.formats.protobuf import ProtobufSchema, protobuf_format
from millstream.formats.protobuf.derived import derived_schema
from millstream.formats.registry import Encoding, format_of
from millstream.project.values import Target
from millstream.stores.registry import jar_files

ROWS = 200_000
COLUMNS = {
    "id": ("bigint", "id"),
    "auction": ("bigint", "id * 7919 % 1000"),
    "bidder": ("int", "cast(id * 104729 % 10000 as int)"),
    "price": ("int", "cast(id * 1299709 % 1000000 as int)"),
    "channel": ("string", "element_at(array('Google', 'Apple', 'Baidu'), cast(id % 3 + 1 as int))"),
    "url": ("string", "concat('https://www.example.com/x/y/z/item.htm?query=1&c=', id * 31 % 1000000)"),
    "at": ("timestamp", "timestamp_millis(1700000000000 + id * 17)"),
    "score": ("double", "id * 0.37 % 100"),
    "ok": ("boolean", "id % 2 = 0"),
    "city": ("string", "'Zürich'"),
    "state": ("string", "'OR'"),
    "name": ("string", "concat('person ', id)"),
}
FIELDS = tuple(Field(name, parse_type(type_)) for name, (type_, _) in COLUMNS.items())
FEW = FIELDS[:2]


ALONE = {"string": FIELDS[-1:], "long": FIELDS[:1]}
"""The column of formats that have only one."""
SOAP = (("envelope", "Envelope/Body"), ("namespace", "urn:bench"), ("row_tag", "bid"))
ID = 7


def codecs() -> dict[str, SparkCodec]:
    schema = ProtobufSchema(derived_schema(FIELDS, "bench.Bid").descriptors, "bench.Bid")
    framed = ProtobufSchema(schema.descriptors, schema.message, "confluent", ID, "bids-value")
    avro = schema_of(FIELDS, "bench.Bid")
    return {
        "json": format_of("json").spark,
        "json-lenient": format_of(Encoding("json", decoding="lenient")).spark,
        "json-framed": format_of(Encoding("json", framing="confluent", subject="bids-value")).spark,
        "avro": spark_codec(AvroEncoding(avro)),
        "avro-framed": spark_codec(AvroEncoding(avro, "confluent", "", ((ID, avro),), ID, "bids-value")),
        "protobuf": protobuf_format(schema).spark,
        "protobuf-framed": protobuf_format(framed).spark,
        "csv": format_of("csv").spark,
        "csv-lenient": format_of(Encoding("csv", decoding="lenient")).spark,
        "xml": format_of("xml").spark,
        "xml-lenient": format_of(Encoding("xml", decoding="lenient")).spark,
        "soap": format_of(Encoding("xml", options=SOAP)).spark,
        "string": format_of("string").spark,
        "long": format_of("long").spark,
    }


def sql(pieces: Any) -> str:
    return render_sql(Expression(tuple(pieces), STRING), lambda ref: ref.column)


def queries(spark: Any, folder: Path, chosen: dict[str, SparkCodec], times: int) -> dict[str, str]:
    """Store the rows and their values in all formats; return the queries to measure."""
    rows = ", ".join(f"{value} as {name}" for name, (_, value) in COLUMNS.items())
    repeated = f"lateral view explode(sequence(1, {times})) as again"
    spark.sql(f"select {rows} from range({ROWS})").coalesce(1).write.parquet(str(folder / "rows"))
    spark.read.parquet(str(folder / "rows")).createOrReplaceTempView("rows")
    statements = {"rows": f"select {', '.join(COLUMNS)} from rows {repeated}"}
    for name, codec in chosen.items():
        columns, view = ALONE.get(name, FIELDS), name.replace("-", "_")
        items = [(field.name, Expression((Ref(field.name),), field.type)) for field in columns]
        value = f"cast({sql(codec.encode(items))} as binary)"
        spark.sql(f"select {value} as value from rows").write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(view)
        size = spark.sql(f"select avg(octet_length(value)) from {view}").collect()[0][0]
        print(f"{name}: {size:.0f} bytes a record", flush=True)
        statements[f"read {name}"] = f"select value from {view} {repeated}"
        for what, fields in (("decode", columns), ("decode-2", FEW)):
            # Without names, no field of a line can be left out.
            if what == "decode" or not (name in ALONE or name.startswith("csv")):
                statements[f"{what} {name}"] = decoding(codec, fields, f"{view} {repeated}")
        if "lenient" not in name:
            names = ", ".join(field.name for field in columns)
            statements[f"columns {name}"] = f"select {names} from rows {repeated}"
            statements[f"encode {name}"] = f"select {value} as value from rows {repeated}"
    return statements


def decoding(codec: SparkCodec, fields: Sequence[Field], table: str) -> str:
    """Return a query that decodes and that filters bad values, as pipelines do."""
    decoded = codec.decode(fields)
    if decoded.rows:
        return f"select inline({sql(decoded.rows)}) from {table}"
    good = f" where {sql(decoded.good)}" if decoded.good else ""
    return f"select {', '.join(map(sql, decoded.fields))} from {table}{good}"


def measure(
    cpu: Callable[[], float], spark: Any, measured: dict[str, str], rounds: int, records: int
) -> dict[str, float]:
    """Return the median of CPU seconds for a million records, without those to read them."""
    seconds: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(rounds):
        for name, query in measured.items():
            before = cpu()
            spark.sql(query).write.format("noop").mode("overwrite").save()
            seconds[name].append(cpu() - before)
    million = 1_000_000 / records
    medians = {name: statistics.median(runs[1:]) * million for name, runs in seconds.items()}
    net_seconds = {}
    for name, median in medians.items():
        what, _, format_ = name.partition(" ")
        if what in {"decode", "decode-2", "encode"}:
            floor = medians[f"columns {format_}" if what == "encode" else f"read {format_}"]
            shown = ", ".join(f"{run * million - floor:.2f}" for run in seconds[name][1:])
            net_seconds[name] = median - floor
            print(f"{name:24} {median - floor:6.2f} s  ({shown})", flush=True)
    return net_seconds


def table(medians: dict[str, float], names: Sequence[str]) -> str:
    """Return the results as Markdown."""
    lines = ["| format | decode | decode 2 columns | encode |", "|---|---|---|---|"]
    for name in names:
        cells = [medians.get(f"{what} {name}") for what in ("decode", "decode-2", "encode")]
        texts = ["" if seconds is None else f"{seconds:.1f} s" for seconds in cells]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines)


def main(rounds: int, times: int, names: Sequence[str], *, quick: bool) -> None:
    target = Target("benchmark", "local", {"master": "local[1]"})
    with tempfile.TemporaryDirectory(prefix="millstream-") as folder:
        jars, log = jars_of(("kafka", *jar_files())), Path(folder) / "spark"
        spark = start_spark("benchmark", target, jars, log, amount="few" if quick else "endless")
        use_registry(spark, UsedRegistry(written={"bids-value": ID}))
        pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # noqa: SLF001 - public in py4j

        def cpu() -> float:
            message = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            return sum(map(int, message[11:13])) / os.sysconf("SC_CLK_TCK")

        chosen = {name: codec for name, codec in codecs().items() if not names or name in names}
        statements = queries(spark, Path(folder), chosen, times)
        print(table(measure(cpu, spark, statements, rounds, ROWS * times), list(chosen)))
        spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument(
        "--times", type=int, default=5, help=f"how often the {ROWS:,} records are read in a round"
    )
    parser.add_argument(
        "--formats", nargs="*", default=[], metavar="NAME", help=f"only these of {', '.join(codecs())}"
    )
    parser.add_argument("--quick", action="store_true", help="compile less in the JVM, as `build` does")
    arguments = parser.parse_args()
    main(arguments.rounds, arguments.times, arguments.formats, quick=arguments.quick)
