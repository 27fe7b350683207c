"""Settings of Kafka's clients that depend on the trigger; the profile, a source or a model can override them.

With Kafka's defaults, a million records of 250 bytes cost 2.3 s of CPU to read and 4.7 s to write; with the
throughput settings below, 1.6 s and 1.0 s. The producer's may add a tenth of a second to a batch, so queries
with a latency below a second (`realtime`, `200 milliseconds`) keep Kafka's, and send immediately.

A consumer asks for more records as soon as it returns some, and the broker keeps that request until there are
any, for `fetch.max.wait.ms`. It answers the requests of a connection in order, and Spark's next one, for the
offsets of the partition, waits as long: with Kafka's 500 ms, most of a small batch was this wait.
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
    "max.partition.fetch.bytes": str(8 * MEGABYTE),
}
LATENCY_PRODUCER = {"linger.ms": "0"}
_WAIT = "fetch.max.wait.ms"
_OF_BATCHES = {_WAIT: "10"}
_OF_REALTIME = {_WAIT: "100"}
COMMITTED = {"isolation.level": "read_committed"}
"""Records of transactions that were aborted, as by a killed `dead-letters replay`, are not read."""


def producer_defaults(trigger: str | None) -> dict[str, str]:
    return LATENCY_PRODUCER if is_quick(trigger) else THROUGHPUT_PRODUCER


def consumer_defaults(trigger: str | None) -> dict[str, str]:
    if trigger == "realtime":
        return COMMITTED | _OF_REALTIME
    return COMMITTED | _OF_BATCHES | ({} if is_quick(trigger) else THROUGHPUT_CONSUMER)


def is_quick(trigger: str | None) -> bool:
    """Whether a query's latency should be below a second."""
    if trigger == "realtime":
        return True
    interval = re.fullmatch(r"(\d+(?:\.\d+)?) (millisecond|second)s?", trigger or "")
    return interval is not None and float(interval[1]) * (0.001 if interval[2] == "millisecond" else 1) < 1
