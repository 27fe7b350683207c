"""What the optimizer and shared queries are worth, workload by workload: `uv run python benchmarks/matrix.py`.

Each workload is a small project over one topic of generated events. In each round, it is built as it is, with `optimization: none`, with
`grouping: off`, and, if it has several aggregates of one key, with `merge_aggregates`, or, if it has models with and without state,
with a read of the topic for each, in turns and in one warm JVM, over few events and over
many; the figures are CPU seconds for each million of further events, as medians, with the least and the most, and the ratio to
Millstream's own choice. More than 1 is what the choice saves. As it is, each is measured twice: the second ratio says how far
ratios can be trusted. A choice that runs the same SQL is not measured. First, the records of all choices are compared. The second line
of a workload has the records that the larger build writes, and the bytes that Spark shuffles for it.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
from build import cpu  # which finds the tests' helpers
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from msgspec import Struct
from projects.folder import write_project
from support.runs import create_topics, job_of, pairs, queue_record

from millstream.deploy.planning.intents import FullRefresh
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.session import start_spark
from millstream.local.broker import shared_broker
from millstream.plan.optimizer.rules import RULES
from millstream.runner.commands import read_together
from millstream.runner.commands.build import build_models
from millstream.runner.commands.read_together import ENOUGH

if TYPE_CHECKING:
    from millstream.deploy.values import Job

PARTITIONS = 2
UNCHANGED, AGAIN, MERGED, TWICE = "as it is", "once more", "merge_aggregates", "two reads"
CHOICES = {
    UNCHANGED: "",
    AGAIN: "",
    "optimization: none": ", optimization: none",
    "grouping: off": ", grouping: off",
    MERGED: f", optimization: [{', '.join(rule.__name__ for rule in RULES)}]",
    TWICE: "",
}
TYPES = ("view", "click", "purchase", "search")
SCHEMA = {
    "type": "record",
    "name": "Event",
    "fields": [
        *({"name": name, "type": "string"} for name in ("event_id", "event_type", "user_id", "product_id")),
        {"name": "score", "type": "int"},
        {"name": "value", "type": "double"},
        {"name": "timestamp", "type": "long"},
        {"name": "note", "type": "string"},
    ],
}
COLUMNS = {"string": "string", "int": "int", "double": "double", "long": "bigint"}


class Workload(Struct, frozen=True):
    models: dict[str, str]
    keys: int = 1_000
    size: int = 200
    """Bytes of a record, about."""
    format: str = "json"
    merges: bool = False
    """It has several aggregates of one key."""
    both: bool = False
    """It has models with and without state."""

    @property
    def topic(self) -> str:
        return f"events_{self.format}_{self.size}_{self.keys}"


def stateless(number: int) -> dict[str, str]:
    return {
        f"scores_{n}": f"select event_id, user_id, event_type, score + {n} as score, value * {n} as value, timestamp"
        f" from {EVENTS} where event_type = '{TYPES[n % 4]}' or score = {n}"
        for n in range(number)
    }


def fan_out(number: int) -> dict[str, str]:
    """Return models of which each has a part of the rows."""
    return {
        f"part_{n}": f"select event_id, user_id, event_type, score, value, timestamp from {EVENTS} where score % {number} = {n}"
        for n in range(number)
    }


def aggregates(number: int, *keys: str) -> dict[str, str]:
    keys = keys or ("user_id",)
    return {
        f"totals_{n}": "{{ config(key='key', unbounded_state='accept') }}"
        f" select {keys[n % len(keys)]} as key, count(*) as events, sum(score + {n}) as score, max(value) as value"
        f" from {EVENTS} where event_type = '{TYPES[n % 4]}' group by {keys[n % len(keys)]}"
        for n in range(number)
    }


def chain(length: int) -> dict[str, str]:
    models = {"step_0": f"select event_id, user_id, event_type, score, value, timestamp from {EVENTS}"}
    for n in range(1, length):
        models[f"step_{n}"] = (
            f"select event_id, user_id, event_type, score + {n} as score, value, timestamp"
            f" from {{{{ ref('step_{n - 1}') }}}} where score > {2 * n}"
        )
    return models


def selective(percent: int) -> dict[str, str]:
    chosen = f"select event_id, user_id, score, value from {EVENTS} where score <= {percent}"
    return {"chosen": chosen, "doubled": chosen.replace("value from", "value * 2 as value from")}


EVENTS = "{{ source('shop', 'events') }}"
KEYS = ("user_id", "product_id", "event_type", "score % 10", "user_id || event_type")
WORKLOADS = {
    **{f"{n} stateless": Workload(stateless(n)) for n in (1, 5, 20, 50)},
    **{f"fan-out to {n}": Workload(fan_out(n)) for n in (1, 50)},
    **{f"{n} aggregates, one key": Workload(aggregates(n), merges=True) for n in (2, 5, 10)},
    **{f"{n} aggregates, {min(n, 5)} keys": Workload(aggregates(n, *KEYS)) for n in (2, 5, 10)},
    **{f"chain of {n} topics": Workload(chain(n)) for n in (2, 4, 6)},
    **{f"{n} % of the rows": Workload(selective(n)) for n in (1, 10, 100)},
    **{f"records of {n} bytes": Workload(stateless(5), size=n) for n in (1_000, 5_000)},
    **{f"{n:,} keys": Workload(aggregates(5), keys=n, merges=True) for n in (100_000, 1_000_000)},
    **{f"state, {n} bytes": Workload(aggregates(1), size=n) for n in (200, 1_000, 5_000)},
    **{
        f"both, {n} bytes": Workload(stateless(3) | aggregates(1), size=n, both=True)
        for n in (200, 1_000, 5_000)
    },
    "avro": Workload(stateless(5), format="avro"),
}


def events(workload: Workload, number: int) -> Iterator[tuple[str, bytes]]:
    dice = random.Random(7)
    schema = fastavro.parse_schema(SCHEMA)
    note = "x" * max(0, workload.size - 190)
    for n in range(number):
        user, product = dice.randrange(workload.keys), dice.randrange(1_000)
        row = {
            "event_id": f"evt_{n:08d}",
            "event_type": dice.choice(TYPES),
            "user_id": f"user_{user:07d}",
            "product_id": f"prod_{product:04d}",
            "score": dice.randint(1, 100),
            "value": dice.randint(0, 10_000) / 100,
            "timestamp": 1_750_000_000_000 + n * 5,
            "note": note,
        }
        if workload.format == "json":
            yield row["user_id"], json.dumps(row).encode()
        else:
            written = io.BytesIO()
            fastavro.schemaless_writer(written, schema, row)
            yield row["user_id"], written.getvalue()


def write(folder: Path, workload: Workload, topic: str, prefix: str, bootstrap: str, settings: str) -> None:
    columns = "".join(
        f"\n              - {{name: {field['name']}, type: {COLUMNS[field['type']]}}}"
        for field in SCHEMA["fields"]
    )
    files = {
        "pyproject.toml": """
            [tool.millstream]
            name = "benchmark"

            [tool.millstream.models]
            materialized = "sink"
            key = "user_id"
            """,
        "models/sources.yml": f"""
    sources:
      - name: shop
        topics:
          - name: events
            topic: {topic}
            format: {workload.format}
            {"schema: schemas/event.avsc" if workload.format == "avro" else f"columns:{columns}"}
    """,
        "schemas/event.avsc": json.dumps(SCHEMA),
    }
    files |= {
        f"models/{name}.sql": f"{{{{ config(topic='{prefix}.{name}') }}}}\n{sql}"
        for name, sql in workload.models.items()
    }
    write_project(folder, files)
    (folder / "profiles.yml").write_text(
        f"benchmark: {{target: local, outputs: {{local: {{master: 'local[*]', kafka: {{bootstrap_servers: '{bootstrap}'}}{settings}}}}}}}\n"
    )


def fill(bootstrap: str, workload: Workload, number: int, filled: set[str]) -> str:
    topic = f"{workload.topic}_{number}"
    if topic not in filled:
        filled.add(topic)
        create_topics(bootstrap, topic, partitions=PARTITIONS)
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
        for key, value in events(workload, number):
            queue_record(producer, topic, key=key, value=value)
        assert producer.flush(60) == 0
    return topic


def stored(bootstrap: str, workload: Workload, prefix: str) -> object:
    """Return the records of all topics; of aggregates, the newest of each key."""
    topics = {}
    for name, sql in workload.models.items():
        records = pairs(bootstrap, f"{prefix}.{name}")
        topics[name] = dict(records) if "group by" in sql else Counter(records)
    return topics


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", help=f"by default all: {', '.join(WORKLOADS)}")
    parser.add_argument("--events", type=int, nargs=2, default=(20_000, 820_000))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--choices", nargs="+", choices=CHOICES, default=tuple(CHOICES))
    arguments = parser.parse_args()
    names = arguments.workloads or list(WORKLOADS)
    if unknown := [name for name in names if name not in WORKLOADS]:
        parser.error(f"unknown: {', '.join(unknown)}")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    print(
        f"{'CPU s per million':26}" + "".join(f"{variant:>34}" for variant in arguments.choices), flush=True
    )
    with closing(Warm()) as spark:
        for name in names:
            # A broker of its own: the records of all workloads together would not fit on many disks.
            with (
                tempfile.TemporaryDirectory(prefix="millstream-") as temporary,
                shared_broker(Path(temporary)) as starting,
            ):
                figures, moved = measured(
                    WORKLOADS[name], arguments, starting.ready().address, Path(temporary), spark
                )
                print(f"{name:26}{row_of(figures)}\n{'':26}{''.join(map(moved_in_words, moved))}", flush=True)


class Warm:
    """One Spark for all builds, which starts with the first of them."""

    def __init__(self) -> None:
        self.spark: Any = None

    def close(self) -> None:
        if self.spark is not None:
            self.spark.stop()

    def build(self, variant: str, job: Job, folder: Path) -> float:
        """Return the CPU seconds that a build takes."""
        read_together.ENOUGH = sys.maxsize if variant == TWICE else ENOUGH
        target = job.project.target
        if self.spark is None:
            self.spark = start_spark("benchmark", target, jars_for(target), folder / "log", amount="many")
        before = cpu()
        results = build_models(job, folder / ".millstream", lambda _: None, self.spark)
        assert not results.failed, results
        return cpu() - before

    def shuffled(self) -> int:
        """Return the bytes that have been shuffled so far."""
        executors = self.spark.sparkContext._jsc.sc().statusStore().executorList(True)  # noqa: SLF001
        return sum(executors.apply(n).totalShuffleWrite() for n in range(executors.size()))


class Moved(Struct):
    records: int = 0
    shuffled: int = 0


def moved_in_words(moved: Moved) -> str:
    if not moved.records:
        return " " * 34
    return f"{f'{moved.records:,} records, {moved.shuffled / 1e6:,.1f} MB':>34}"


def measured(
    workload: Workload, arguments: argparse.Namespace, bootstrap: str, root: Path, spark: Warm
) -> tuple[dict[str, list[float]], list[Moved]]:
    filled = set[str]()
    left_out = {*(() if workload.merges else (MERGED,)), *(() if workload.both else (TWICE,))}
    variants = [variant for variant in arguments.choices if variant not in left_out]

    def project(variant: str, number: int) -> tuple[Job, Path, str]:
        prefix = f"{list(CHOICES).index(variant)}_{number}"
        folder = root / prefix
        folder.mkdir()
        write(
            folder, workload, fill(bootstrap, workload, number, filled), prefix, bootstrap, CHOICES[variant]
        )
        return job_of(folder, intent=FullRefresh()), folder, prefix

    few = {variant: project(variant, arguments.events[0]) for variant in variants}
    same = [
        variant
        for variant in variants
        if variant not in {UNCHANGED, AGAIN, TWICE} and sql(few[variant]) == sql(few[UNCHANGED])
    ]
    variants = [variant for variant in variants if variant not in same]
    many = {variant: project(variant, arguments.events[1]) for variant in variants}
    for variant in variants:
        spark.build(variant, *few[variant][:2])
    rows = [stored(bootstrap, workload, few[variant][2]) for variant in variants]
    if not all(records == rows[0] for records in rows):
        sys.exit("the choices give different records")
    figures: dict[str, list[float]] = {
        variant: [] for variant in arguments.choices if variant in variants or variant in same
    }
    moved = {variant: Moved() for variant in figures}
    for turn in range(arguments.rounds + 1):
        for variant in variants[turn % len(variants) :] + variants[: turn % len(variants)]:
            less, before = spark.build(variant, *few[variant][:2]), spark.shuffled()
            more = spark.build(variant, *many[variant][:2])
            moved[variant] = Moved(written(bootstrap, many[variant][2]), spark.shuffled() - before)
            remove(bootstrap, few[variant][2], many[variant][2])
            if turn:  # the first time is for the JVM to compile
                figures[variant].append((more - less) / (arguments.events[1] - arguments.events[0]) * 1e6)
    return figures, list(moved.values())


def written(bootstrap: str, prefix: str) -> int:
    """Return the number of records that a build has written."""
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": prefix})
    with closing(client):
        topics = client.list_topics(timeout=30).topics.values()
        return sum(
            client.get_watermark_offsets(TopicPartition(topic.topic, n), timeout=30)[1]
            for topic in topics
            if topic.topic.startswith(f"{prefix}.")
            for n in topic.partitions
        )


def remove(bootstrap: str, *prefixes: str) -> None:
    """Remove what builds have written, which models of a chain would read in the next round, too."""
    admin = AdminClient({"bootstrap.servers": bootstrap})

    def leftovers() -> list[str]:
        return [topic for topic in admin.list_topics(timeout=30).topics if topic.split(".")[0] in prefixes]

    for deletion in admin.delete_topics(leftovers()).values():
        deletion.result(30)
    while leftovers():
        pass


def sql(project: tuple[Job, Path, str]) -> list[str]:
    """Return the SQL of a project's queries, without the names of its topics."""
    job, _, prefix = project
    return sorted(query.sql.replace(prefix, "") for query in job.physical.queries)


def row_of(results: dict[str, list[float]]) -> str:
    unchanged = statistics.median(results[UNCHANGED])
    cells: list[str] = []
    for figures in results.values():
        if not figures:
            cells.append(f"{'the same':>26} {'':7}")
            continue
        middle = statistics.median(figures)
        cells.append(
            f"{f'{middle:.1f} ({min(figures):.1f}-{max(figures):.1f})':>26} {middle / unchanged:7.2f}"
        )
    return "".join(cells)


if __name__ == "__main__":
    main()
