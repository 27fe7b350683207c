"""Compare `millstream build` with hand-written queries: `python benchmarks/build.py stateless stateful merged append example`.

`merged` is `stateful` with one state for its five aggregates (`merge_aggregates`).
Both run in one warm JVM, round by round in turns, over the same topics of one broker; the figures are CPU seconds of
this process, the JVM and its Python workers, without the broker's. By hand, each model is a query of its own
(`by_hand/`), with Spark's default client settings and, as `tuned`, with those of Millstream.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "framework/tests"))

from example.generated import generated  # noqa: E402
from support.runs import create_topics, job_of, pairs, send  # noqa: E402

from millstream.deploy.planning.intents import FullRefresh  # noqa: E402
from millstream.engine.spark.jars import jars_for  # noqa: E402
from millstream.engine.spark.session import start_spark  # noqa: E402
from millstream.kafka.cluster import Cluster, reveal_options  # noqa: E402
from millstream.kafka.settings import sink_options  # noqa: E402
from millstream.local.broker import shared_broker  # noqa: E402
from millstream.runner.commands.build import build_models  # noqa: E402

EXAMPLE = ("pyproject.toml", "profiles.yml", "models", "macros", "seeds", "tests")
PARTITIONS = 2
BY_HAND = {"merged": "stateful"}
"""Names of the same queries by hand."""


def project(name: str, folder: Path) -> Path:
    if name == "example":
        for part in EXAMPLE:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, folder / part)
    else:
        import_module(f"projects.{BY_HAND.get(name, name)}").write(folder)
    if name == "merged":
        settings = folder / "pyproject.toml"
        one_state = 'key = "user_id", optimize = ["all", "merge_aggregates"] }'
        settings.write_text(settings.read_text().replace('key = "user_id" }', one_state, 1))
    profiles = folder / "profiles.yml"
    text = profiles.read_text()
    # A build on one machine compiles Java quickly and not well; what runs long is measured with both compilers.
    setting = (
        f"spark: {{spark.sql.shuffle.partitions: {PARTITIONS}, "
        'spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=4 -XX:ReservedCodeCacheSize=240m"}'
    )
    for written in ('{master: "local[*]", kafka: embedded}', "master: local[*]\n"):
        more = (
            written.replace(", kafka", f", {setting}, kafka")
            if "{" in written
            else f"{written}      {setting}\n"
        )
        text = text.replace(written, more, 1)
    profiles.write_text(text)
    return folder


def cpu() -> float:
    """Return the CPU seconds of this process and all below it but the broker, with those that have ended."""
    parents: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            message = file.read_text().rpartition(")")[2].split()
            command = (file.parent / "cmdline").read_bytes()
        except OSError:
            continue
        pid = int(file.parent.name)
        if b"kafka.Kafka" not in command:
            parents.setdefault(int(message[1]), []).append(pid)
            used[pid] = sum(map(int, message[11:15])) / os.sysconf("SC_CLK_TCK")
    waiting, total = [os.getpid()], 0.0
    while waiting:
        pid = waiting.pop()
        total += used.get(pid, 0.0)
        waiting += parents.get(pid, [])
    return total


def hand_written(name: str) -> Any:
    return import_module(f"by_hand.{BY_HAND.get(name, name)}")


def by_hand(name: str, spark: Any, bootstrap: str, checkpoints: Path, prefix: str, producer: Any) -> None:
    done: set[str] = set()
    for query in hand_written(name).queries(spark, bootstrap, checkpoints, prefix, producer):
        assert done.issuperset(query.reads)
        query.start().awaitTermination()
        done.add(query.name)


def measured(run: Callable[[], None]) -> float:
    before = cpu()
    run()
    return cpu() - before


def compare(name: str, events: int, rounds: int, warm: int) -> None:
    with tempfile.TemporaryDirectory(prefix="millstream-") as folder:
        root = (
            project(name, Path(folder) / "project") if (Path(folder) / "project").mkdir() is None else Path()
        )
        hand_folder = Path(folder) / "by_hand"
        hand_folder.mkdir()
        with shared_broker(root) as starting:
            bootstrap = starting.ready().address
            records = generated(events)
            hand = hand_written(name)
            job = job_of(root, intent=FullRefresh())
            target = job.project.target
            spark = start_spark("benchmark", target, jars_for(target), root / "log", amount="many")
            # Topics of its own for each time: else a query by hand reads what all times before wrote.
            turns = range(warm + rounds)
            prefixes = {side: [f"{side}.{n}." for n in turns] for side in ("plain", "tuned")}
            topics = [
                q.topic
                for p in (*prefixes["plain"], *prefixes["tuned"])
                for q in hand.queries(spark, bootstrap, root, p)
                if q.topic
            ]
            create_topics(bootstrap, *records, *topics, partitions=PARTITIONS)
            send(bootstrap, records)
            tuned = {
                key.removeprefix("kafka."): value
                for key, value in reveal_options(
                    sink_options(Cluster(bootstrap), {}, "available_now")
                ).items()
                if key.startswith("kafka.") and key != "kafka.bootstrap.servers"
            }

            def ours() -> None:
                assert not build_models(job, root / ".millstream", lambda _: None, spark).failed

            def theirs(side: str, producer: Any) -> Callable[[], None]:
                left = iter(prefixes[side])

                def run() -> None:
                    by_hand(
                        name, spark, bootstrap, Path(tempfile.mkdtemp(dir=hand_folder)), next(left), producer
                    )

                return run

            sides = {
                "millstream": ours,
                "by hand": theirs("plain", None),
                "by hand, tuned": theirs("tuned", tuned),
            }
            for turn in range(warm):
                for run in sides.values():
                    run()
                if turn == 0:
                    written = [topic for topic in topics if topic.startswith(prefixes["plain"][0])]
                    differ = different(bootstrap, written, name) if written and name != "example" else []
            figures = {side: [] for side in sides}
            for _ in range(rounds):
                for side, run in sides.items():
                    figures[side].append(measured(run))
            spark.stop()
        print_files({"millstream": root, "by hand": hand_folder})
    print_medians(name, events, figures, differ)


def print_files(sides: dict[str, Path]) -> None:
    """Print the files of the last Delta table that each side has written, if it has any."""
    for side, folder in sides.items():
        logs = sorted(folder.rglob("_delta_log"), key=lambda log: log.stat().st_mtime)
        if logs:
            sizes = pa.table(DeltaTable(str(logs[-1].parent)).get_add_actions())["size_bytes"].to_pylist()
            size_range = f"{min(sizes):,} to {max(sizes):,}"
            print(f"  {side:15} {len(sizes)} files of {size_range} bytes, {sum(sizes):,} in all")


def canonical(value: Any) -> Any:
    """Return a value with times as times: by hand, they are written with fewer digits."""
    if isinstance(value, dict):
        return {name: canonical(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [canonical(inner) for inner in value]
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
        return datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
    return value


def different(bootstrap: str, topics: list[str], name: str) -> list[str]:
    """Return the topics whose newest records, or all of them where models are stateless, differ."""

    def rows(topic: str) -> Any:
        records = [(key, canonical(json.loads(value))) for key, value in pairs(bootstrap, topic)]
        if name in {"stateful", "merged"}:
            return {key: json.dumps(value, sort_keys=True) for key, value in records}
        return Counter((key, json.dumps(value, sort_keys=True)) for key, value in records)

    by_hand = {topic: rows(topic) for topic in topics}
    if empty := [topic for topic, records in by_hand.items() if not records]:
        sys.exit(f"nothing was written to {', '.join(empty)}")
    return [topic for topic, records in by_hand.items() if records != rows(topic.removeprefix("plain.0."))]


def print_medians(name: str, events: int, figures: dict[str, list[float]], differ: list[str]) -> None:
    ours = statistics.median(figures["millstream"])
    print(f"{name}, {events:,} events a topic" + (f"; DIFFERENT: {', '.join(differ)}" if differ else ""))
    for side, seconds in figures.items():
        middle = statistics.median(seconds)
        print(
            f"  {side:15} {middle:7.1f} s CPU  {middle / ours:5.2f}  ({', '.join(f'{s:.1f}' for s in seconds)})",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=["stateless", "stateful", "example"])
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm", type=int, default=3, help="times that each runs before it is measured")
    arguments = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for name in arguments.names:
        compare(name, arguments.events, arguments.rounds, arguments.warm)
