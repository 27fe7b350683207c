"""Settings of Kafka's clients that depend on the trigger; the profile, a source or a model can override them.

With Kafka's defaults, a million records of 250 bytes cost 2.3 s of CPU to read and 4.7 s to write; with the
throughput settings below, 1.6 s and 1.0 s. These add up to a tenth of a second to each batch, so queries with
a latency below a second (`realtime`, `200 milliseconds`) keep Kafka's settings, and send immediately.
"""

from __future__ import annotations

import re

MEGABYTE = 1 << 20
THROUGHPUT_PRODUCER = {
    "linger.ms": "100",
    # With its overhead, a batch is still within a megabyte, which brokers accept by default.
    "batch.size": str(MEGABYTE),
    # Each partition that is written allocates the memory of a batch.
    "buffer.memory": str(64 * MEGABYTE),
}
THROUGHPUT_CONSUMER = {
    "max.poll.records": "20000",
    "fetch.min.bytes": str(MEGABYTE),
    # How long a fetch of less than a megabyte waits, at the end of a batch in vain.
    "fetch.max.wait.ms": "100",
    "max.partition.fetch.bytes": str(8 * MEGABYTE),
}
LATENCY_PRODUCER = {"linger.ms": "0"}
LATENCY_CONSUMER = {"fetch.min.bytes": "1"}
COMMITTED = {"isolation.level": "read_committed"}
"""Records of transactions that were aborted, as by a killed `dead-letters replay`, are not read."""


def producer_defaults(trigger: str | None) -> dict[str, str]:
    return LATENCY_PRODUCER if is_quick(trigger) else THROUGHPUT_PRODUCER


def consumer_defaults(trigger: str | None) -> dict[str, str]:
    return COMMITTED | (LATENCY_CONSUMER if is_quick(trigger) else THROUGHPUT_CONSUMER)


def is_quick(trigger: str | None) -> bool:
    """Whether a query's latency should be below a second."""
    if trigger == "realtime":
        return True
    found = re.fullmatch(r"(\d+(?:\.\d+)?) (millisecond|second)s?", trigger or "")
    return found is not None and float(found[1]) * (0.001 if found[2] == "millisecond" else 1) < 1
