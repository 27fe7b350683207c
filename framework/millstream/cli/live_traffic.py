"""Sends live traffic from a project's generators while a block runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from itertools import takewhile

from millstream.cli.traffic import GeneratorTopic, live_times, ready_topics
from millstream.core.errors import MillstreamError
from millstream.kafka.clients import Admin
from millstream.kafka.generators import generate_records
from millstream.kafka.producing import TopicFeed, send_feeds
from millstream.kafka.registry.writers import Writers
from millstream.project.values import Project

Sent = Callable[[str, int], None]


@contextmanager
def live_traffic(
    project: Project,
    admin: Admin,
    generators: Sequence[GeneratorTopic],
    rate: float,
    writers: Writers,
    sent: Sent,
    failed: Callable[[MillstreamError], None],
) -> Iterator[None]:
    """Send the first record of each topic, and go on in a thread."""
    ready_topics(admin, (topic for _, topic in generators))
    times = live_times(admin, generators, 1.0, writers)
    before = {topic: topic_times.sent for topic, topic_times in times.items()}
    start, stopping = datetime.now(timezone.utc), threading.Event()
    feeds = [
        TopicFeed(
            topic.topics[0],
            takewhile(
                lambda _: not stopping.is_set(),
                generate_records(project, generator, topic, start=start, live=times[topic.topics[0]]),
            ),
        )
        for generator, topic in generators
    ]

    def count(topic: str, number: int) -> None:
        sent(topic, before[topic] + 1 + number)

    def keep_sending() -> None:
        try:
            send_feeds(admin, feeds, None, rate, count)
        except MillstreamError as error:
            failed(error)

    # A topic that never had a record would be filled with those of the past.
    send_feeds(admin, feeds, 1)
    thread = threading.Thread(target=keep_sending, name="traffic", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
