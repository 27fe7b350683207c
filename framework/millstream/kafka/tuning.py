"""Settings of Kafka's clients that follow from the trigger; the profile, a source or a model overrides each.

With Kafka's defaults, a million records of 250 bytes cost 2.3 s of CPU to read and 4.7 s to write; with
those for throughput here 1.6 s and 1.0 s. They take up to a tenth of a second per batch, so queries that
answer in less than a second (`realtime`, `200 milliseconds`) keep Kafka's own, and send at once.
"""

from __future__ import annotations

import re

MEGABYTE = 1 << 20
THROUGHPUT_PRODUCER = {
    "linger.ms": "100",
    # A batch is a whole megabyte with what is around its records, which brokers take by default.
    "batch.size": str(MEGABYTE),
    # A batch of every partition that is written to takes its memory at once.
    "buffer.memory": str(64 * MEGABYTE),
}
THROUGHPUT_CONSUMER = {
    "max.poll.records": "20000",
    "fetch.min.bytes": str(MEGABYTE),
    # What less than a megabyte at the end of a batch waits for in vain.
    "fetch.max.wait.ms": "100",
    "max.partition.fetch.bytes": str(8 * MEGABYTE),
}
LATENCY_PRODUCER = {"linger.ms": "0"}
LATENCY_CONSUMER = {"fetch.min.bytes": "1"}


def producer_defaults(trigger: str | None) -> dict[str, str]:
    return LATENCY_PRODUCER if is_quick(trigger) else THROUGHPUT_PRODUCER


def consumer_defaults(trigger: str | None) -> dict[str, str]:
    return LATENCY_CONSUMER if is_quick(trigger) else THROUGHPUT_CONSUMER


def is_quick(trigger: str | None) -> bool:
    """Tell whether a query answers within less than a second."""
    if trigger == "realtime":
        return True
    found = re.fullmatch(r"(\d+(?:\.\d+)?) (millisecond|second)s?", trigger or "")
    return found is not None and float(found[1]) * (0.001 if found[2] == "millisecond" else 1) < 1
