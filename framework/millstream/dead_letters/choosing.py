"""Chooses dead letters by topic, source, model, reason, time and offset."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from confluent_kafka import Message
from msgspec import Struct

from millstream.dead_letters.letter import DeadLetter, dead_letter_of
from millstream.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.kafka.clients import Admin
from millstream.kafka.consuming import all_records
from millstream.manifest import ManifestNode
from millstream.materialization import DEAD_LETTER_SUFFIX
from millstream.project.names import named
from millstream.project.values import Project


class Range(Struct, frozen=True):
    """Some offsets of a partition of a dead letter topic; both ends belong to it."""

    partition: int
    first: int
    last: int


class Wanted(Struct, frozen=True):
    """Which dead letters are meant; nothing set means all of the project's."""

    topics: tuple[str, ...]
    """Dead letter topics that exist."""
    whole: frozenset[str] = frozenset()
    """Those of them that were named themselves."""
    owners: frozenset[str] = frozenset()
    """Sources and models that were named."""
    reason: str = ""
    since: datetime | None = None
    until: datetime | None = None
    ranges: tuple[Range, ...] = ()

    def has(self, letter: DeadLetter) -> bool:
        if (self.whole or self.owners) and not (letter.topic in self.whole or letter.owner in self.owners):
            return False
        if self.reason.lower() not in letter.reason.lower():
            return False
        if self.since is not None and (letter.sent is None or letter.sent < self.since):
            return False
        if self.until is not None and (letter.sent is None or letter.sent >= self.until):
            return False
        return not self.ranges or any(
            each.partition == letter.partition and each.first <= letter.offset <= each.last
            for each in self.ranges
        )


class Known(Struct, frozen=True):
    """What can be named: topics by the names of their dead letters' topics, and owners of letters."""

    topics: dict[str, str]
    owners: dict[str, tuple[str, frozenset[str]]]
    """The owner as letters have it, and the topics that may have its letters."""


def known_of(project: Project, nodes: Mapping[str, ManifestNode]) -> Known:
    """Return what can be named in a project."""
    sources = project.sources.values()
    topics: dict[str, str] = {}

    def topic_of(topic: str) -> str:
        return named(project.target.environment, f"{topic}{DEAD_LETTER_SUFFIX}")

    for topic in sorted({source.topic for source in sources}):
        topics |= {topic: topic_of(topic), topic_of(topic): topic_of(topic)}
    of_sources = frozenset(topics.values())
    owners = {each.id: (f"source.{each.id}", frozenset((topic_of(each.topic),))) for each in sources}
    for node in nodes.values():
        if node.materialization is not None:
            own = node.materialization.dead_letter_topic(node.name)
            topics[own] = own
            owners[node.name] = (node.name, of_sources | {own})
    return Known(topics, owners)


def wanted(known: Known, admin: Admin, names: Iterable[str]) -> Wanted:
    """Return the letters of the named topics, sources and models, or all of the project's."""
    on_cluster = admin.metadata().topics
    topics: set[str] = set()
    whole: set[str] = set()
    owners: set[str] = set()
    problems: list[Diagnostic] = []
    for name in names:
        if name in known.owners:
            owner, those = known.owners[name]
            owners.add(owner)
            topics |= those
        elif name in known.topics:
            whole.add(known.topics[name])
        else:
            remedy = did_you_mean(name, (*known.owners, *known.topics), "see `millstream dead-letters ls`")
            message = f"no topic, source or model of the project is called '{name}'"
            problems.append(Diagnostic("MS840", message, None, remedy))
    if problems:
        raise MillstreamError(*problems)
    topics |= whole
    chosen = topics or set(known.topics.values())
    return Wanted(
        tuple(sorted(each for each in chosen if each in on_cluster)), frozenset(whole), frozenset(owners)
    )


def letters_of(admin: Admin, topic: str) -> Iterator[DeadLetter]:
    """Yield all letters that a topic holds now."""
    for message in all_records(admin, [topic]):
        yield dead_letter_of(message)


def newest_letters(
    admin: Admin, topic: str, count: int, chosen: Callable[[DeadLetter], bool]
) -> list[tuple[Message, DeadLetter]]:
    """Return the newest of some letters with their messages, oldest first."""
    found: deque[tuple[Message, DeadLetter]] = deque(maxlen=count)
    for message in all_records(admin, [topic]):
        letter = dead_letter_of(message)
        if chosen(letter):
            found.append((message, letter))
    return list(found)
