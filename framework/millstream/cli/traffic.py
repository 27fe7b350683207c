"""What `produce` and `seed` share: choosing generators, preparing topics, and progress."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from millstream.cli.options import CommonOptions
from millstream.cli.output import progress_console
from millstream.cli.writer_schemas import decode_by_writers
from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.kafka.clients import Admin
from millstream.kafka.consuming import newest_records
from millstream.kafka.event_time import event_time
from millstream.kafka.generators import generators_of
from millstream.kafka.live_times import LiveTimes
from millstream.kafka.offsets import topic_bounds
from millstream.kafka.registry.writers import Writers
from millstream.kafka.topic_decoding import of_source
from millstream.kafka.topics import create_missing, source_topics
from millstream.project.values import Generator, Project
from millstream.project.values import Topic as SourceTopic

GeneratorTopic = tuple[Generator, SourceTopic]


def chosen_generators(project: Project, names: Sequence[str]) -> list[GeneratorTopic]:
    """Return generators by the names of their topics, sources or functions; without names, all."""
    generators = generators_of(project)
    if not names:
        if not generators:
            remedy = "write `def TOPIC(random, now)` in a file of seeds/, which yields keys and values"
            raise MillstreamError(Diagnostic("MS834", "the project has no generators", None, remedy))
        return [pair for pair in generators.values() if not pair[1].pattern]
    by_name: dict[str, list[GeneratorTopic]] = {}
    for id_, (generator, topic) in generators.items():
        for name in {id_, topic.name, generator.name}:
            by_name.setdefault(name, []).append((generator, topic))
        for name in _topics_of(topic, names):
            by_name.setdefault(name, []).append((generator, with_topic(topic, name)))
    diagnostics = [_unknown(project, name, by_name) for name in names if name not in by_name]
    diagnostics += [
        _without_topic(topic) for name in names for _, topic in by_name.get(name, ()) if topic.pattern
    ]
    if diagnostics:
        raise MillstreamError(*diagnostics)
    by_topic = {
        (topic.id, topic.topics[0]): (generator, topic)
        for name in names
        for generator, topic in by_name[name]
    }
    return list(by_topic.values())


def with_topic(source: SourceTopic, topic: str) -> SourceTopic:
    """Return a source as if it read only one of its topics."""
    return replace(source, topics=(topic,), pattern="")


def _topics_of(source: SourceTopic, names: Iterable[str]) -> Iterable[str]:
    """Return the topics of a source that can be named: of a pattern, those of these names that match it."""
    return (name for name in names if re.fullmatch(source.pattern, name)) if source.pattern else source.topics


def named_source(project: Project, names: Sequence[str]) -> SourceTopic:
    """Return the one source that is named, by its ID, its name or its topic."""
    by_name: dict[str, SourceTopic] = {}
    for source in project.topics.values():
        by_name |= {source.name: source, source.id: source}
        by_name |= {topic: with_topic(source, topic) for topic in _topics_of(source, names)}
    if len(names) != 1:
        message = f"--value sends to one source, not to {len(names)}"
        raise MillstreamError(Diagnostic("MS834", message, None, "name one source or its topic"))
    if names[0] not in by_name:
        remedy = did_you_mean(names[0], by_name, f"sources: {', '.join(project.topics)}")
        raise MillstreamError(Diagnostic("MS834", f"there is no source '{names[0]}'", None, remedy))
    if by_name[names[0]].pattern:
        raise MillstreamError(_without_topic(by_name[names[0]]))
    return by_name[names[0]]


def _without_topic(source: SourceTopic) -> Diagnostic:
    message = f"the source {source.id} reads all topics that match '{source.pattern}'"
    return Diagnostic("MS834", message, None, "name the topic to send to, such as one that matches it")


def _unknown(project: Project, name: str, generators: dict[str, list[GeneratorTopic]]) -> Diagnostic:
    sources = {alias for topic in project.topics.values() for alias in (topic.id, topic.name, *topic.topics)}
    if name in sources:
        remedy = f"write `def {name.rpartition('.')[2]}(random, now)` in a file of seeds/"
        return Diagnostic("MS834", f"the source '{name}' has no generator", None, remedy)
    names = ", ".join(sorted({generator.name for topics in generators.values() for generator, _ in topics}))
    remedy = did_you_mean(name, generators, f"generators: {names}" if names else "write one in seeds/")
    return Diagnostic("MS834", f"there is no generator '{name}'", None, remedy)


def ready_topics(admin: Admin, sources: Iterable[SourceTopic]) -> tuple[str, ...]:
    """Create missing topics on the local broker; raise if any are missing on another Kafka."""
    topics = {config.name: config for source in sources for config in source_topics(source)}
    if admin.cluster.embedded:
        return create_missing(admin, topics.values())
    existing = admin.metadata().topics
    remedy = "create it, fix `topic:` of the source, or check `bootstrap_servers` of the target"
    missing = [
        Diagnostic("MS827", f"topic '{name}' does not exist", None, did_you_mean(name, existing, remedy))
        for name in topics
        if name not in existing
    ]
    if missing:
        raise MillstreamError(*missing)
    return ()


_NEWEST = 200
"""Records of a topic of which one is the newest, although others are late."""


def live_times(
    admin: Admin, generators: Sequence[GeneratorTopic], speed: float, writers: Writers
) -> dict[str, LiveTimes]:
    """Return how records of each topic get the times of the clock, from now or the topic's newest record."""
    topics = {topic.topics[0]: topic for _, topic in generators}
    sent: dict[str, int] = {}
    for (name, _), offsets in topic_bounds(admin, topics).items():
        sent[name] = sent.get(name, 0) + offsets.end
    times = {name: event_time(topic) for name, topic in topics.items()}
    messages, _ = newest_records(admin, [*topics], _NEWEST)
    now = time.time() * 1000
    begin = dict.fromkeys(topics, now)
    for message in messages:
        name = str(message.topic())
        if (event := times[name]) is not None:
            milliseconds = event.of(decode_by_writers(message, of_source(topics[name]), writers).value)
            begin[name] = max(begin[name], milliseconds or 0)
    return {name: LiveTimes(event, begin[name], speed, sent.get(name, 0)) for name, event in times.items()}


@contextmanager
def sending_progress(
    common: CommonOptions, totals: dict[str, int | None]
) -> Iterator[Callable[[str, int], None] | None]:
    """Yield a callback for the records sent to each topic; on a terminal, show a bar for each topic."""
    if (screen := progress_console(common.style)) is None:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        tasks = {topic: bar.add_task(topic, total=total, start=True) for topic, total in totals.items()}
        yield lambda topic, sent: bar.update(tasks[topic], completed=sent)
