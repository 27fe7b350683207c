"""`millstream produce`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import datetime, timezone

import click

from millstream.cli.environments import refuse_environment
from millstream.cli.jar_progress import jar_progress
from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_result
from millstream.cli.project import project_of, root_of
from millstream.cli.signals import interrupt_on_signals
from millstream.cli.traffic import (
    GeneratorTopic,
    chosen_generators,
    live_times,
    named_source,
    ready_topics,
    sending_progress,
)
from millstream.kafka.connection import connect_kafka
from millstream.kafka.generators import START, generate_records, typed_records
from millstream.kafka.live_times import LiveTimes
from millstream.kafka.producing import FILL, SendResult, TopicFeed, send_feeds
from millstream.kafka.registry.writers import registry_writers
from millstream.project.values import Project, Topic

_COUNT = click.IntRange(min=1)
_RATE = click.FloatRange(min=0, min_open=True)


@cli_command(
    "produce",
    "millstream produce                        # 10,000 records of every generator",
    "millstream produce orders --count 500 --seed 7",
    "millstream produce orders --rate 50       # until Ctrl-C",
    'millstream produce orders --key ann --value \'{"id": 1, "amount": 5}\'',
)
@click.argument("topics", nargs=-1)
@click.option("--count", type=_COUNT, help="Records per topic; default: 10,000, or unlimited with --rate.")
@click.option("--rate", type=_RATE, help="Records per topic and second, starting now.")
@click.option("--interval", type=_RATE, metavar="SECONDS", help="Time between two records: --rate 1/SECONDS.")
@click.option(
    "--speed",
    type=_RATE,
    metavar="TIMES",
    help="With --rate: how many times as fast as the clock event time goes; default: 1.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Random seed.")
@click.option(
    "--value",
    "values",
    multiple=True,
    metavar="JSON",
    help="Send this record; `-`: each line of standard input.",
)
@click.option("--key", metavar="TEXT", help="The key of records of --value.")
@click.option("--now", is_flag=True, help="Start events now instead of at a fixed time; implied by --rate.")
def command(
    common: CommonOptions,
    *,
    topics: tuple[str, ...],
    count: int | None,
    rate: float | None,
    interval: float | None,
    speed: float | None,
    seed: int,
    now: bool,
    values: tuple[str, ...],
    key: str | None,
) -> int:
    """Send test traffic from the generators in seeds/*.py, or single records.

    TOPICS are topics, sources or generators; by default, all generators. The same seed gives the same
    records: the first event is at the beginning of 2026, and records that are sent again are duplicates.
    With --rate, it is live traffic, which continues until --count or Ctrl-C: event time follows the clock,
    and a topic that has records gets the next ones, not the first ones again. A record's timestamp is its
    event time if the source declares that column (its watermark), otherwise the current time. Missing topics
    are created on the local broker only.

    --value sends a record to one source: its columns as JSON, which the format of the source encodes; `null`
    is a tombstone.
    """
    if key is not None and not values:
        raise click.UsageError("--key needs --value")
    if values and (count or rate or interval or speed):
        raise click.UsageError("--value can't be combined with --count, --rate, --interval or --speed")
    if rate and interval:
        raise click.UsageError("--rate and --interval exclude each other")
    rate = rate or (1 / interval if interval else None)
    if speed and not rate:
        raise click.UsageError("--speed needs --rate or --interval")
    count = count or (None if rate else FILL)
    start = datetime.now(timezone.utc) if now or rate else START
    project = project_of(common, root_of(common))
    refuse_environment(project.target, "test traffic is sent to the topics of sources")
    if values:
        return _send_values(common, named_source(project, topics), project, key, values)
    generators = chosen_generators(project, topics)
    with jar_progress(common.style) as fetched, connect_kafka(project, fetched) as admin:
        created = ready_topics(admin, (topic for _, topic in generators))
        live: dict[str, LiveTimes] = {}
        if rate:
            with registry_writers(project, fetched) as writers:
                live = live_times(admin, generators, speed or 1.0, writers)
        feeds = [
            TopicFeed(
                topic.topics[0],
                generate_records(project, generator, topic, seed, start, live.get(topic.topics[0])),
            )
            for generator, topic in generators
        ]
        with (
            interrupt_on_signals(),
            sending_progress(common, {feed.topic: count for feed in feeds}) as progress,
        ):
            sent = send_feeds(admin, feeds, count, rate, progress)
    total = sum(sent.records.values())
    result = {
        "topics": [_topic_data(generator, sent, created) for generator in generators],
        "records": total,
        "seconds": round(sent.seconds, 3),
        "seed": seed,
        "start": start.isoformat(),
        "interrupted": sent.interrupted,
    }
    return print_result(common.style, result=result, text=None if common.style.quiet else _text(sent))


def _send_values(
    common: CommonOptions, topic: Topic, project: Project, key: str | None, values: Iterable[str]
) -> int:
    """Send records that were typed; all are encoded before the first one is sent."""
    lines = [
        line for value in values for line in (sys.stdin.read().splitlines() if value == "-" else [value])
    ]
    typed = list(typed_records(topic, key, lines))
    with jar_progress(common.style) as fetched, connect_kafka(project, fetched) as admin:
        created = ready_topics(admin, [topic])
        sent = send_feeds(admin, [TopicFeed(topic.topics[0], iter(typed))], len(typed))
    result = {
        "topics": [
            {"topic": topic.topics[0], "source": topic.id, "records": len(typed), "created": bool(created)}
        ]
    }
    return print_result(common.style, result=result, text=None if common.style.quiet else _text(sent))


def _topic_data(pair: GeneratorTopic, sent: SendResult, created: tuple[str, ...]) -> dict[str, object]:
    generator, topic = pair
    return {
        "topic": topic.topics[0],
        "source": topic.id,
        "generator": generator.name,
        "records": sent.records.get(topic.topics[0], 0),
        "created": topic.topics[0] in created,
    }


def _text(sent: SendResult) -> str:
    width = max(map(len, sent.records), default=0)
    lines = [f"{topic:<{width}}  {count:>10,} records" for topic, count in sent.records.items()]
    total = sum(sent.records.values())
    lines.append(f"Sent {total:,} records in {sent.seconds:.1f} s, {total / max(sent.seconds, 1e-3):,.0f}/s.")
    return "\n".join(lines)
