"""Records are sent: as fast as Kafka takes them, or so many a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from confluent_kafka import KafkaError, Producer
from msgspec import Struct

from millstream.errors import Diagnostic, MillstreamError
from millstream.kafka.clients import Admin, Heard, producer_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.failures import failure, said
from millstream.kafka.generators import START, Record, generators_of, records
from millstream.kafka.offsets import bounds
from millstream.kafka.topics import configs
from millstream.project.values import Project

FILL = 10_000
_EVERY = 1000
"""Records between two looks at what became of those before."""
_TICK = 0.02
_FLUSH = 60.0
_HOUR = 3_600_000

Progress = Callable[[str, int], None]
"""Told the topic and how many of its records were sent."""


def _nobody(_topic: str, _sent: int) -> None:
    """Tell nobody."""


class Feed(Struct, frozen=True):
    """Records for one topic."""

    topic: str
    records: Iterator[Record]


class Limits(Struct, frozen=True):
    """Between which times, in milliseconds, a topic keeps records, and how large they may be."""

    oldest: int = 0
    newest: int = 0
    bytes: int | None = None


class Sent(Struct, frozen=True):
    records: dict[str, int]
    """By topic."""
    seconds: float
    interrupted: bool = False


class _Failures:
    """Records that were not taken; the first one tells why."""

    def __init__(self) -> None:
        self.first: tuple[KafkaError, str] | None = None

    def __call__(self, error: KafkaError, message: Any) -> None:
        if self.first is None:
            self.first = (error, message.topic())


class _Sender:
    """A producer with what it has sent."""

    def __init__(
        self, cluster: Cluster, limits: Mapping[str, Limits], progress: Progress, *, live: bool
    ) -> None:
        self.cluster = cluster
        self.progress = progress
        self.failures = _Failures()
        self.sent: dict[str, int] = {}
        self._limits = limits
        largest = min((each.bytes for each in limits.values() if each.bytes is not None), default=None)
        made: tuple[Producer, Heard] = producer_of(cluster, self.failures, live=live, largest=largest)
        self._producer, self._heard = made

    def send(self, feed: Feed, count: int | None) -> bool:
        """Send up to `count` records; tell whether there were as many."""
        produce, poll, topic = self._producer.produce, self._producer.poll, feed.topic
        limits = self._limits.get(topic, Limits())
        oldest, newest = limits.oldest, limits.newest
        done = 0
        for key, value, timestamp in islice(feed.records, count):
            # 0 is the clock: Kafka would drop what is older than it keeps, and refuse what is to come.
            at = timestamp if timestamp is not None and oldest < timestamp < newest else 0
            while True:
                try:
                    produce(topic, value, key, timestamp=at)
                    break
                except BufferError:
                    poll(0.1)
                    self.check()
            done += 1
            if done % _EVERY == 0:
                poll(0)
                self.check()
                self.sent[topic] = self.sent.get(topic, 0) + _EVERY
                self.progress(topic, self.sent[topic])
        self.sent[topic] = self.sent.get(topic, 0) + done % _EVERY
        self.progress(topic, self.sent[topic])
        poll(0)
        self.check()
        return count is None or done == count

    def check(self) -> None:
        if self.failures.first is None:
            return
        self._producer.purge()
        error, topic = self.failures.first
        if error.name() in {"MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"}:
            message = f"topic '{topic}' takes no record of this size: {said(self.cluster, error)}"
            remedy = "set max.request.size under producer:, and max.message.bytes of the topic"
            raise MillstreamError(Diagnostic("MS835", message, None, remedy))
        raise failure(self.cluster, error, f"records are sent to '{topic}'", self._heard.errors)

    def finish(self) -> None:
        """Wait until Kafka has taken all records, or said why not."""
        deadline = time.monotonic() + _FLUSH
        while len(self._producer):
            self._producer.flush(0.5)
            self.check()
            if time.monotonic() > deadline:
                self._producer.purge()
                raise MillstreamError(
                    Diagnostic(
                        "MS835",
                        f"{len(self._producer):,} records were not taken within {_FLUSH:.0f} seconds",
                        None,
                        "see the log of the broker",
                    )
                )
        self.check()


def send(
    admin: Admin,
    feeds: Sequence[Feed],
    count: int | None,
    rate: float | None = None,
    progress: Progress | None = None,
) -> Sent:
    """Send `count` records of each feed, one feed after the other; with a rate, all at the same time.

    Ctrl-C ends it after the records that are on their way.
    """
    start = time.monotonic()
    now = int(time.time() * 1000)
    limits = {t: _limits(config, now) for t, config in configs(admin, [f.topic for f in feeds]).items()}
    # What comes one by one is sent at once; what comes in dozens, in batches, as a busy application would.
    live = rate is not None and rate * _TICK <= 1
    sender = _Sender(admin.cluster, limits, progress or _nobody, live=live)
    interrupted = False
    try:
        if rate is None:
            for feed in feeds:
                sender.send(feed, count)
        else:
            _pace(sender, feeds, count, rate)
    except KeyboardInterrupt:
        interrupted = True
    sender.finish()
    return Sent(sender.sent, time.monotonic() - start, interrupted)


def _pace(sender: _Sender, feeds: Iterable[Feed], count: int | None, rate: float) -> None:
    open_ = list(feeds)
    start = time.monotonic()
    done = dict.fromkeys((id(feed) for feed in open_), 0)
    while open_:
        due = int((time.monotonic() - start) * rate) + 1
        due = due if count is None else min(due, count)
        for feed in list(open_):
            wanted = due - done[id(feed)]
            if wanted <= 0:
                continue
            more = sender.send(feed, wanted)
            done[id(feed)] += wanted
            if not more or done[id(feed)] == count:
                open_.remove(feed)
        time.sleep(_TICK)


def _limits(config: Mapping[str, str], now: int) -> Limits:
    kept = [_number(config.get("message.timestamp.before.max.ms"))]
    if "delete" in config.get("cleanup.policy", "delete"):
        kept.append(_number(config.get("retention.ms")))
    known = [each for each in kept if each is not None]
    after = _number(config.get("message.timestamp.after.max.ms"))
    # On the safe side: clocks differ, and sending takes time.
    oldest = now - min(known) + _HOUR if known else -1
    newest = now + min(after if after is not None else _HOUR, _HOUR) // 2
    return Limits(max(oldest, -1), newest, _number(config.get("max.message.bytes")))


def _number(value: str | None) -> int | None:
    number = int(value) if value else -1
    return None if number < 0 or number >= 2**62 else number


def fill_empty(
    admin: Admin,
    project: Project,
    topics: Iterable[str],
    count: int = FILL,
    seed: int = 1,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Fill those of the topics that are there and never had a record, if a generator makes some for them."""
    wanted = set(topics)
    found: dict[str, Feed] = {}
    for generator, source in generators_of(project).values():
        if source.topic in wanted and source.topic not in found:
            found[source.topic] = Feed(source.topic, records(project, generator, source, seed, START))
    empty = never_written(admin, found)
    feeds = [feed for topic, feed in found.items() if topic in empty]
    return send(admin, feeds, count, progress=progress).records if feeds else {}


def never_written(admin: Admin, topics: Iterable[str]) -> frozenset[str]:
    """Return those of the topics that exist and whose partitions all end at 0."""
    ends: dict[str, int] = {}
    for (topic, _), found in bounds(admin, topics).items():
        ends[topic] = ends.get(topic, 0) + found.end
    return frozenset(topic for topic, end in ends.items() if end == 0)
