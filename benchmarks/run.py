"""How far a run stays behind live traffic: `uv run python benchmarks/run.py --rate 2000 --minutes 10`.

A copy of the example runs with a broker of its own, while `produce` sends so many records a second to each of its
eight topics, all on this machine. Every twenty seconds: records that no query has read yet, how old the oldest record
of the last batch was when it was stored (of the query that is the latest, and its name), and memory and CPU of the
run with its JVM and its Python workers. At the end, for each query, the number of batches and the seconds from a record's
arrival in Kafka to the end of its batch, which half and 95 % of the records after the first minute did not exceed; and how
long it took to catch up when no more came. `--java` gives options to the JVM.

With `--burst 10`, ten times as many records come for half a minute, in the middle; then the last lines say how long
it took until all queries had read them, and until the latency was the one before the burst, within a fifth.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).parents[1]
EXAMPLE = ("pyproject.toml", "models", "macros", "seeds", "tests")
PROFILES = """\
shop:
  target: local
  outputs:
    local: {{master: "local[*]", kafka: embedded, trigger: {trigger}{latency}}}
"""
MILLSTREAM = (sys.executable, "-m", "millstream")
PORT = 9499
EVERY = 20.0
BURST, FIRST = 30.0, 60.0
"""Seconds: of the burst, and of the time that is left out while the JVM compiles."""
PATIENCE = 300.0
"""Seconds that the run gets to start, and to catch up at the end."""


class Look(NamedTuple):
    lag: float
    latency: dict[str, float]
    """By query."""
    batches: dict[str, float]
    waited: dict[str, dict[float, float]]
    """By query: how many records were stored within how many seconds."""


def copied(folder: Path, trigger: str, latency: str | None = None, java: str = "") -> None:
    for part in EXAMPLE:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    (folder / "profiles.yml").write_text(
        PROFILES.format(
            trigger=trigger,
            latency=(f", latency: {latency}" if latency else "")
            + (f", spark: {{spark.driver.extraJavaOptions: '{java}'}}" if java else ""),
        )
    )


def answer(path: str) -> str | None:
    try:
        with urlopen(f"http://127.0.0.1:{PORT}/{path}", timeout=10) as response:
            return response.read().decode()
    except (URLError, TimeoutError, ConnectionError):
        return None


def look() -> Look:
    lag, latency, batches = 0.0, dict[str, float](), dict[str, float]()
    waited = dict[str, dict[float, float]]()
    metrics = answer("metrics")
    if metrics is None:
        sys.exit("the run does not answer")
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            if sample.name == "millstream_lag":
                lag += sample.value
            elif sample.name == "millstream_latency_seconds":
                latency[sample.labels["query"]] = sample.value
            elif sample.name == "millstream_batches_total":
                batches[sample.labels["query"]] = sample.value
            elif sample.name == "millstream_event_latency_seconds_bucket":
                waited.setdefault(sample.labels["query"], {})[float(sample.labels["le"])] = sample.value
    return Look(lag, latency, batches, waited)


def quantile(share: float, before: dict[float, float], after: dict[float, float]) -> float:
    """Return the seconds within which a share of the records between two looks were stored, as PromQL does."""
    counts = {limit: count - before.get(limit, 0.0) for limit, count in sorted(after.items())}
    rank, low, under = share * max(counts.values(), default=0.0), 0.0, 0.0
    for limit, count in counts.items():
        if count >= rank > under:
            return low if limit == float("inf") else low + (limit - low) * (rank - under) / (count - under)
        low, under = limit, count
    return 0.0


def until(done: Callable[[], bool], what: str) -> float:
    """Wait until something is so; return how long it took."""
    start = time.monotonic()
    while not done():
        if time.monotonic() - start > PATIENCE:
            sys.exit(f"{what}: not within {PATIENCE:.0f} seconds")
        time.sleep(0.5)
    return time.monotonic() - start


def used(pid: int) -> tuple[float, float]:
    """Return megabytes and CPU seconds of a process and of all that it started."""
    tree = processes(pid)
    return sum(int(rss) for rss, _ in tree.values()) / 1024, sum(seconds(cpu) for _, cpu in tree.values())


def processes(pid: int) -> dict[int, tuple[str, str]]:
    """Return a process and all that it started, each with its memory and CPU time as `ps` tells them."""
    output = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,rss=,time="], check=True, capture_output=True, text=True
    ).stdout
    rows = [line.split() for line in output.splitlines()]
    tree = [str(pid)]
    for parent in tree:
        tree += [child for child, above, *_ in rows if above == parent]
    return {int(child): (rss, cpu) for child, _, rss, cpu in rows if child in tree}


def seconds(text: str) -> float:
    """Read the time that `ps` tells: [[days-]hours:]minutes:seconds."""
    days, _, clock = text.rpartition("-")
    total = 0.0
    for part in clock.split(":"):
        total = total * 60 + float(part)
    return total + 86400 * int(days or 0)


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command, which ends with the block; what it says is in a file of its name."""
    with (folder / f"{arguments[0]}.log").open("wb") as log:
        process = subprocess.Popen([*MILLSTREAM, *arguments], cwd=folder, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def measure(folder: Path, rate: float, length: float, times: float) -> None:
    with started(folder, "run", "--output", "json", "--port", str(PORT)) as run:
        took = until(lambda: run.poll() is not None or answer("readyz") is not None, "the run is ready")
        if run.poll() is not None:
            sys.exit((folder / "run.log").read_text())
        print(f"ready after {took:.0f} s", file=sys.stderr)
        with started(folder, "produce", "--rate", str(rate), "--quiet"):
            if times > 1:
                watch(run.pid, length / 2)
                warm = look()
                burst(folder, rate * (times - 1))
                watch(run.pid, length / 2)
            else:
                watch(run.pid, min(FIRST, length))
                warm = look()
                watch(run.pid, length - FIRST)
            snapshot = look()
        print(f"{'query':30} {'batches':>7} {'half':>7} {'95 %':>7}")
        for query, number in sorted(snapshot.batches.items()):
            before, after = warm.waited.get(query, {}), snapshot.waited.get(query, {})
            half, most = (quantile(share, before, after) for share in (0.5, 0.95))
            print(f"{query:30} {number:7.0f} {half:7.1f} {most:7.1f}")
        print(f"caught up {until(lambda: look().lag == 0, 'it caught up'):.1f} s after the last record")


def latest_of(snapshot: Look) -> float:
    return max(snapshot.latency.values(), default=0.0)


def burst(folder: Path, rate: float) -> None:
    """Send more records for a while, and tell how long their results take to come as before."""
    before, lag = latest_of(look()), look().lag
    with started(folder, "produce", "--rate", str(rate), "--quiet"):
        time.sleep(BURST)
    most, began = look(), time.monotonic()
    print(f"burst: lag {lag:,.0f} before, {most.lag:,.0f} at its end; latency {before:.1f} s before")
    highest = [latest_of(most)]

    def calm() -> bool:
        highest.append(latest_of(look()))
        return highest[-1] <= before * 1.2

    until(lambda: look().lag <= max(lag, rate), "the records of the burst are read")
    print(f"read {time.monotonic() - began:.1f} s after its end")
    until(calm, "the latency is as before")
    print(f"latency as before {time.monotonic() - began:.1f} s after its end; at most {max(highest):.1f} s")


def watch(pid: int, length: float) -> None:
    print(f"{'second':>7} {'lag':>10} {'latency s':>10} {'of query':30} {'MB':>7} {'CPU s':>7}")
    start = time.monotonic()
    for number in range(1, int(length / EVERY) + 1):
        time.sleep(max(0.0, start + number * EVERY - time.monotonic()))
        snapshot, (memory, cpu) = look(), used(pid)
        query, latest = max(snapshot.latency.items(), key=lambda latency: latency[1], default=("", 0.0))
        print(
            f"{number * EVERY:7.0f} {snapshot.lag:10,.0f} {latest:10.1f} {query:30} {memory:7.0f} {cpu:7.0f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=2000)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--trigger", default="1 second")
    parser.add_argument("--latency", help="the target's `latency`, such as 30 seconds")
    parser.add_argument("--java", default="", help="options of the JVM, such as -XX:TieredStopAtLevel=1")
    parser.add_argument(
        "--burst", type=float, default=1, help="how many times as many records come for a while"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        copied(Path(temporary), arguments.trigger, arguments.latency, arguments.java)
        measure(Path(temporary), arguments.rate, arguments.minutes * 60, arguments.burst)


if __name__ == "__main__":
    main()
