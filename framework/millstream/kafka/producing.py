"""Sends records, as fast as Kafka accepts them or at a fixed rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from confluent_kafka import KafkaError, KafkaException
from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.kafka.clients import Admin, producer_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.failures import cluster_error
from millstream.kafka.generators import START, GeneratedRecord, generate_records, generators_of
from millstream.kafka.offsets import topic_bounds
from millstream.kafka.topics import topic_configs
from millstream.project.values import Project

FILL = 10_000
_EVERY = 1000
"""Records between two checks for delivery failures."""
_TICK = 0.02
_FLUSH = 60.0
_HOUR = 3_600_000

Progress = Callable[[str, int], None]
"""Called with a topic and the number of its sent records."""


class TopicFeed(Struct, frozen=True):
    """Records for one topic."""

    topic: str
    records: Iterator[GeneratedRecord]


class TopicLimits(Struct, frozen=True):
    """The times between which a topic accepts records, in milliseconds, and their maximum size."""

    oldest: int = 0
    newest: int = 0
    bytes: int | None = None


class SendResult(Struct, frozen=True):
    records: dict[str, int]
    """The number of records of each topic."""
    seconds: float
    interrupted: bool = False


class _Sender:
    """A producer that counts what it has sent."""

    def __init__(
        self, cluster: Cluster, limits: Mapping[str, TopicLimits], progress: Progress, *, live: bool
    ) -> None:
        self.cluster = cluster
        self.progress = progress
        self.failures: list[tuple[KafkaError, str]] = []
        """Why records were not accepted, and their topics."""
        self.sent: dict[str, int] = {}
        self._limits = limits
        largest = min((limit.bytes for limit in limits.values() if limit.bytes is not None), default=None)
        self._producer, self._errors = producer_of(
            cluster,
            lambda error, message: self.failures.append((error, message.topic())),
            live=live,
            largest=largest,
        )

    def send(self, feed: TopicFeed, count: int | None) -> bool:
        """Send up to `count` records; return whether there were that many."""
        produce, poll, topic = self._producer.produce, self._producer.poll, feed.topic
        limits = self._limits.get(topic, TopicLimits())
        oldest, newest = limits.oldest, limits.newest
        done = 0
        for key, value, timestamp in islice(feed.records, count):
            # 0 is the current time: Kafka drops records beyond its retention, and refuses future times.
            record_time = timestamp if timestamp is not None and oldest < timestamp < newest else 0
            while True:
                try:
                    produce(topic, value, key, timestamp=record_time)
                    break
                except BufferError:
                    poll(0.1)
                except KafkaException as error:  # the client itself refuses it
                    self.failures.append((error.args[0], topic))
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
        if not self.failures:
            return
        self._producer.purge()
        error, topic = self.failures[0]
        raise cluster_error(self.cluster, error, f"sending records to '{topic}'", self._errors)

    def finish(self) -> None:
        """Wait until Kafka has accepted all records, or raise its error."""
        deadline = time.monotonic() + _FLUSH
        while len(self._producer):
            self._producer.flush(0.5)
            self.check()
            if time.monotonic() > deadline:
                self._producer.purge()
                number = len(self._producer)
                message = f"{number:,} records were not accepted within {_FLUSH:.0f} seconds"
                raise MillstreamError(Diagnostic("MS835", message, None, "see the log of the broker"))
        self.check()


def send_feeds(
    admin: Admin,
    feeds: Sequence[TopicFeed],
    count: int | None,
    rate: float | None = None,
    progress: Progress | None = None,
) -> SendResult:
    """Send `count` records of each feed, one feed after the other; with a rate, all at the same time.

    Ctrl-C stops it after the records that are already being sent.
    """
    start = time.monotonic()
    limits = {t: limits_of(config) for t, config in topic_configs(admin, [f.topic for f in feeds]).items()}
    # At low rates, each record is sent immediately; otherwise in batches, as a busy application does.
    live = rate is not None and rate * _TICK <= 1
    sender = _Sender(admin.cluster, limits, progress or (lambda _topic, _sent: None), live=live)
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
    return SendResult(sender.sent, time.monotonic() - start, interrupted)


def _pace(sender: _Sender, feeds: Iterable[TopicFeed], count: int | None, rate: float) -> None:
    open_ = list(feeds)
    start = time.monotonic()
    done = dict.fromkeys((id(feed) for feed in open_), 0)
    while open_:
        due = int((time.monotonic() - start) * rate) + 1
        due = due if count is None else min(due, count)
        for feed in list(open_):
            remaining = due - done[id(feed)]
            if remaining <= 0:
                continue
            more = sender.send(feed, remaining)
            done[id(feed)] += remaining
            if not more or done[id(feed)] == count:
                open_.remove(feed)
        time.sleep(_TICK)


def limits_of(config: Mapping[str, str]) -> TopicLimits:
    """Return what a topic with these settings accepts now."""
    now = int(time.time() * 1000)
    ages = [_number(config.get("message.timestamp.before.max.ms"))]
    if "delete" in config.get("cleanup.policy", "delete"):
        ages.append(_number(config.get("retention.ms")))
    limited = [age for age in ages if age is not None]
    after = _number(config.get("message.timestamp.after.max.ms"))
    # With a margin, since clocks differ and sending takes time.
    oldest = now - min(limited) + _HOUR if limited else -1
    newest = now + min(after if after is not None else _HOUR, _HOUR) // 2
    return TopicLimits(max(oldest, -1), newest, _number(config.get("max.message.bytes")))


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
    """Fill existing topics that never held records, if they have a generator."""
    to_fill = set(topics)
    candidates: dict[str, TopicFeed] = {}
    for generator, source in generators_of(project).values():
        topic = source.topics[0]
        if topic in to_fill and topic not in candidates:
            candidates[topic] = TopicFeed(topic, generate_records(project, generator, source, seed, START))
    empty = never_written(admin, candidates)
    feeds = [_checked(feed, count) for topic, feed in candidates.items() if topic in empty]
    return send_feeds(admin, feeds, count, progress=progress).records if feeds else {}


def _checked(feed: TopicFeed, count: int) -> TopicFeed:
    """Return a feed whose first records, all those of a build, are encoded before any is sent.

    Otherwise, a topic whose generator fails would hold a few records, and no longer be filled.
    """
    first = list(islice(feed.records, min(count, FILL)))
    return TopicFeed(feed.topic, chain(first, feed.records))


def never_written(admin: Admin, topics: Iterable[str]) -> frozenset[str]:
    ends: dict[str, int] = {}
    for (topic, _), bound in topic_bounds(admin, topics).items():
        ends[topic] = ends.get(topic, 0) + bound.end
    return frozenset(topic for topic, end in ends.items() if end == 0)
