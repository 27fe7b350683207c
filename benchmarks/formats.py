"""Measure formats of records: `python benchmarks/formats.py --rounds 5`.

CPU seconds of Spark's process for a million records of twelve columns, decoded and encoded, alternating in one
process; the time to read the records, or their columns, is subtracted. The median of all rounds but the first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millstream.expressions import Expression, Ref, render
from millstream.formats import format_of
from millstream.formats.avro.codec import AvroEncoding, spark_codec
from millstream.formats.avro.columns import schema_of
from millstream.formats.format import SparkCodec
from millstream.formats.protobuf import Schema, protobuf_format
from millstream.formats.protobuf.derived import derived_schema
from millstream.project.values import Target
from millstream.runner.spark.jars import jars_of
from millstream.runner.spark.session import start_spark
from millstream.stores.registry import jar_files
from millstream.types import STRING, Field, parse_type

ROWS, TIMES = 200_000, 5
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


def codecs() -> dict[str, SparkCodec]:
    schema = Schema(derived_schema(FIELDS, "bench.Bid").descriptors, "bench.Bid")
    return {
        "json": format_of("json").spark,
        "protobuf": protobuf_format(schema).spark,
        "avro": spark_codec(AvroEncoding(schema_of(FIELDS, "bench.Bid"))),
    }


def sql(pieces: Any) -> str:
    return render(Expression(tuple(pieces), STRING), lambda ref: ref.column)


def queries(spark: Any, folder: Path) -> dict[str, str]:
    """Store the rows and their values in all formats; return the queries to measure."""
    rows = ", ".join(f"{value} as {name}" for name, (_, value) in COLUMNS.items())
    repeated = f"lateral view explode(sequence(1, {TIMES})) as again"
    items = [(field.name, Expression((Ref(field.name),), field.type)) for field in FIELDS]
    spark.sql(f"select {rows} from range({ROWS})").coalesce(1).write.parquet(str(folder / "rows"))
    spark.read.parquet(str(folder / "rows")).createOrReplaceTempView("rows")
    found = {"rows": f"select {', '.join(COLUMNS)} from rows {repeated}"}
    for name, each in codecs().items():
        value = f"cast({sql(each.encode(items))} as binary)"
        spark.sql(f"select {value} as value from rows").write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
        found[f"read {name}"] = f"select value from {name} {repeated}"
        for what, fields in (("decode", FIELDS), ("decode 2 of", FEW)):
            decoded = f"inline({sql(each.decode(fields).rows)})"
            found[f"{what} {name}"] = f"select {decoded} from {name} {repeated}"
        found[f"encode {name}"] = f"select {value} as value from rows {repeated}"
    return found


def measure(cpu: Callable[[], float], spark: Any, measured: dict[str, str], rounds: int) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(rounds):
        for name, query in measured.items():
            before = cpu()
            spark.sql(query).write.format("noop").mode("overwrite").save()
            seconds[name].append(cpu() - before)
    million = 1_000_000 / (ROWS * TIMES)
    medians = {name: statistics.median(each[1:]) * million for name, each in seconds.items()}
    for name, median in medians.items():
        what, _, format_ = name.rpartition(" ")
        floor = medians["rows"] if what == "encode" else medians.get(f"read {format_}", 0.0)
        if what.startswith(("decode", "encode")):
            shown = ", ".join(f"{each * million - floor:.2f}" for each in seconds[name][1:])
            print(f"{name:22} {median - floor:6.2f} s  ({shown})", flush=True)


def main(rounds: int, *, quick: bool) -> None:
    target = Target("benchmark", "local", {"master": "local[1]"})
    with tempfile.TemporaryDirectory(prefix="millstream-") as folder:
        jars, log = jars_of(("kafka", *jar_files())), Path(folder) / "spark"
        spark = start_spark("benchmark", target, jars, log, long_running=not quick)
        pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # noqa: SLF001 - public in py4j

        def cpu() -> float:
            said = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            return sum(map(int, said[11:13])) / os.sysconf("SC_CLK_TCK")

        measure(cpu, spark, queries(spark, Path(folder)), rounds)
        spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--quick", action="store_true", help="compile less in the JVM, as `build` does")
    given = parser.parse_args()
    main(given.rounds, quick=given.quick)
