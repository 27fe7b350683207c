"""Chooses dead letters by topic, source, model, reason, time and offset."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from confluent_kafka import Message
from msgspec import Struct

from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.core.node_id import NodeId
from millstream.kafka.clients import Admin
from millstream.kafka.consuming import all_records
from millstream.ops.dead_letters.letter import DeadLetter, dead_letter_of
from millstream.project.names import environment_name
from millstream.project.values import Project, RowSource, Topic


class OffsetRange(Struct, frozen=True):
    """Some offsets of a partition of a dead letter topic; both ends belong to it."""

    partition: int
    first: int
    last: int


class LetterFilter(Struct, frozen=True):
    """Which dead letters are meant; nothing set means all of the project's."""

    topics: tuple[str, ...]
    """Dead letter topics that exist."""
    named_topics: frozenset[str] = frozenset()
    """Those of them that were named themselves."""
    owners: frozenset[str] = frozenset()
    """Sources and models that were named."""
    reason: str = ""
    since: datetime | None = None
    until: datetime | None = None
    ranges: tuple[OffsetRange, ...] = ()

    def has(self, letter: DeadLetter) -> bool:
        if (self.named_topics or self.owners) and not (
            letter.topic in self.named_topics or letter.owner in self.owners
        ):
            return False
        if not has_words(letter.reason, self.reason):
            return False
        if self.since is not None and (letter.sent is None or letter.sent < self.since):
            return False
        if self.until is not None and (letter.sent is None or letter.sent >= self.until):
            return False
        return not self.ranges or any(
            range_.partition == letter.partition and range_.first <= letter.offset <= range_.last
            for range_ in self.ranges
        )


def has_words(reason: str, words: str) -> bool:
    """Whether a reason has these words, in any case; a word does not match a part of a longer name."""
    before = r"(?<![\w.])" if words[:1].isalnum() or words[:1] == "_" else ""
    after = r"(?!\w|\.\w)" if words[-1:].isalnum() or words[-1:] == "_" else ""
    return re.search(before + re.escape(words) + after, reason, re.IGNORECASE) is not None


class LetterNames(Struct, frozen=True):
    """What can be named: topics by the names of their dead letters' topics, and owners of letters."""

    topics: dict[str, str]
    owners: dict[str, tuple[str, frozenset[str]]]
    """The owner recorded in dead letters, and the topics that may have its letters."""


def names_of(project: Project, nodes: Mapping[NodeId, ManifestNode]) -> LetterNames:
    """Return what can be named in a project."""
    sources = project.topics.values()
    topics: dict[str, str] = {}

    def letters_of_source(source: Topic) -> str:
        return environment_name(project.target.environment, source.dead_letter_topic)

    for source in sorted(sources, key=lambda source: source.topics):
        letter_topic = letters_of_source(source)
        topics |= {**dict.fromkeys(source.topics, letter_topic), letter_topic: letter_topic}
    of_sources = frozenset(topics.values())
    rows = {s.id: s.dead_letter_topic for s in project.sources.values() if isinstance(s, RowSource)}
    of_rows = {
        id_: environment_name(project.target.environment, topic) for id_, topic in rows.items() if topic
    }
    topics |= {topic: topic for topic in of_rows.values()}
    owners = {
        source.id: (str(NodeId("source", source.id)), frozenset((letters_of_source(source),)))
        for source in sources
    }
    owners |= {id_: (str(NodeId("source", id_)), frozenset((topic,))) for id_, topic in of_rows.items()}
    for node in nodes.values():
        if node.materialization is not None:
            letter_topic = node.materialization.dead_letter_topic(node.name)
            topics[letter_topic] = letter_topic
            owners[node.name] = (node.name, of_sources | {letter_topic})
    return LetterNames(topics, owners)


def filter_of(available: LetterNames, admin: Admin, names: Iterable[str]) -> LetterFilter:
    """Return the letters of the named topics, sources and models, or all of the project's."""
    on_cluster = admin.metadata().topics
    topics: set[str] = set()
    named_topics: set[str] = set()
    owners: set[str] = set()
    diagnostics: list[Diagnostic] = []
    for name in names:
        if name in available.owners:
            owner, those = available.owners[name]
            owners.add(owner)
            topics |= those
        elif name in available.topics:
            named_topics.add(available.topics[name])
        else:
            remedy = did_you_mean(
                name, (*available.owners, *available.topics), "see `millstream dead-letters ls`"
            )
            message = f"no topic, source or model of the project is called '{name}'"
            diagnostics.append(Diagnostic("MS840", message, None, remedy))
    if diagnostics:
        raise MillstreamError(*diagnostics)
    topics |= named_topics
    chosen = topics or set(available.topics.values())
    return LetterFilter(
        tuple(sorted(topic for topic in chosen if topic in on_cluster)),
        frozenset(named_topics),
        frozenset(owners),
    )


def letters_of(admin: Admin, topic: str) -> Iterator[DeadLetter]:
    """Yield all letters that a topic holds now."""
    for message in all_records(admin, [topic]):
        yield dead_letter_of(message)


def newest_letters(
    admin: Admin, topic: str, count: int, chosen: Callable[[DeadLetter], bool]
) -> list[tuple[Message, DeadLetter]]:
    """Return the newest of some letters with their messages, oldest first."""
    newest: deque[tuple[Message, DeadLetter]] = deque(maxlen=count)
    for message in all_records(admin, [topic]):
        letter = dead_letter_of(message)
        if chosen(letter):
            newest.append((message, letter))
    return list(newest)
