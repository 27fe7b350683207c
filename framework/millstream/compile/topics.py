"""Checks the topics that a project writes."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from itertools import chain, count, pairwise
from pathlib import Path

from msgspec import Struct

from millstream.compile.assemble import name_tests
from millstream.compile.models import ModelCompiler
from millstream.compile.node import Model
from millstream.core.cycles import shortest_cycles
from millstream.core.errors import Diagnostic, DiagnosticNote
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.formats.registry import format_of, function_of
from millstream.outputs.kinds import (
    DEAD_LETTER_SUFFIX,
    HANDLED_SUFFIX,
    LONGEST_TOPIC,
    Sink,
)
from millstream.project.checks import LocationLines
from millstream.project.names import is_environments
from millstream.project.values import RowSource

OWN_PREFIX = "_millstream."
"""The prefix of relay topics, which Millstream creates between its queries."""
_AT_MOST = f"Kafka allows at most {LONGEST_TOPIC} characters"
_RESERVED = f"names that start with '{OWN_PREFIX}' belong to Millstream"


class _Sink(Struct, frozen=True, eq=False):
    model: Model
    stored: Sink

    @property
    def topic(self) -> str:
        return self.stored.topic

    @property
    def id(self) -> NodeId:
        return self.model.id

    @property
    def name(self) -> str:
        return self.model.file.name


class _DeadLetterTopic(Struct, frozen=True):
    """A dead-letter topic and its owner."""

    topic: str
    id: NodeId
    """The id of the source, or of the model whose data tests reject rows."""
    name: str
    location: Location


def topic_problems(models: ModelCompiler) -> list[Diagnostic]:
    """Return all errors of the topics that the models write."""
    topics = _Topics(models)
    loops = list(topics.loops())
    closing = {(model, source) for model, source, _ in loops}
    return [
        *topics.refused(),
        *topics.written_twice(),
        *(diagnostic for _, _, diagnostic in loops),
        *topics.of_sources(closing),
        *topics.colliding(),
        *topics.undecodable(),
    ]


class _Topics:
    def __init__(self, models: ModelCompiler) -> None:
        self.models = models
        self.sources = tuple(models.project.topics.values())
        self.lines = LocationLines(Path(models.project.root))
        self.sinks = [
            _Sink(model, sink) for model in models.models.values() if (sink := model.stored.sink) is not None
        ]
        self.dead_letters = {topic.topic: topic for topic in self._dead_letter_topics()}

    def refused(self) -> Iterator[Diagnostic]:
        """Yield topics whose names are invalid or reserved."""
        for sink in self.sinks:
            notes: tuple[DiagnosticNote, ...] = ()
            if len(sink.topic) > LONGEST_TOPIC:
                code, message = "MS555", f"the topic name '{sink.topic}' is too long: {_AT_MOST}"
            elif sink.topic.startswith("__"):
                code = "MS554"
                message = f"'{sink.topic}' is reserved: Kafka's internal topics start with '__'"
            elif sink.topic.startswith(OWN_PREFIX):
                code, message = "MS554", f"'{sink.topic}' is reserved: {_RESERVED}"
            elif is_environments(sink.topic, self.models.project.settings.name):
                code = "MS554"
                message = f"'{sink.topic}' is reserved: it would belong to an environment of the project"
            elif (dead_letters := self.dead_letters.get(sink.topic)) is not None:
                code, message = "MS553", f"'{sink.topic}' is the dead-letter topic of {dead_letters.name}"
                notes = (DiagnosticNote("configured here", dead_letters.location),)
            elif (handled := self.dead_letters.get(sink.topic.removesuffix(HANDLED_SUFFIX))) is not None:
                code, message = (
                    "MS553",
                    f"'{sink.topic}' records which dead letters of {handled.name} were handled",
                )
                notes = (DiagnosticNote("configured here", handled.location),)
            else:
                continue
            yield self._diagnostic(sink, code, message, f"write to another topic: {self._free(sink)}", *notes)
        for source in self.sources:
            for topic in (topic for topic in source.topics if topic.startswith(OWN_PREFIX)):
                message = f"'{topic}' is reserved: {_RESERVED}"
                remedy = "remove the source, and read the model with `ref`"
                yield self.lines.diagnostic(source.location, "MS554", message, remedy)
        for dead_letters in self.dead_letters.values():
            if len(dead_letters.topic) > LONGEST_TOPIC:
                message = f"the dead-letter topic '{dead_letters.topic}' has too long a name: {_AT_MOST}"
                longest = LONGEST_TOPIC - len(DEAD_LETTER_SUFFIX)
                remedy = f"shorten the name of the main topic to {longest} characters"
                yield self.lines.diagnostic(dead_letters.location, "MS555", message, remedy)

    def written_twice(self) -> Iterator[Diagnostic]:
        """Yield sinks that write the same topic as another one."""
        first: dict[str, _Sink] = {}
        for sink in self.sinks:
            other = first.setdefault(sink.topic, sink)
            if other is not sink:
                message = f"'{other.name}' also writes to the topic '{sink.topic}'"
                remedy = f"write to another topic: {self._free(sink)}; or combine both in one sink"
                note = DiagnosticNote(f"'{other.name}' writes to it here", self._location(other))
                yield self._diagnostic(sink, "MS552", message, remedy, note)

    def undecodable(self) -> Iterator[Diagnostic]:
        """Yield sinks in formats of Python functions that other models read, but that no function decodes."""
        readers: dict[NodeId, str] = {}
        for model in self.models.models.values():
            for reference in model.references:
                readers.setdefault(reference.id, model.file.name)
        for sink in self.sinks:
            stored = sink.stored
            if (
                sink.id in readers
                and function_of(stored.encoding.name)
                and not format_of(stored.encoding).decoder
            ):
                message = f"'{readers[sink.id]}' reads the topic of '{sink.name}', which no function decodes"
                remedy = "add a function that decodes it, such as format_options={'decode': 'decode_order'}"
                location = self.models.option_location(sink.model, "format", "materialized")
                yield self.lines.diagnostic(location, "MS129", message, remedy)

    def loops(self) -> Iterator[tuple[NodeId, NodeId, Diagnostic]]:
        """Yield an error for each loop through topics, with the model and the source that close it."""
        reads = {m.id: [reference.id for reference in m.references] for m in self.models.models.values()}
        sinks = {sink.id: sink for sink in self.sinks}
        writers: dict[str, list[NodeId]] = {}
        for sink in self.sinks:
            writers.setdefault(sink.topic, []).append(sink.id)
        for topic in self.dead_letters.values():
            if topic.id in reads:
                writers.setdefault(topic.topic, []).append(topic.id)
        topics = {NodeId("source", source.id): source for source in self.sources}
        reads |= {
            id_: [w for t in source.topics for w in writers.get(t, [])] for id_, source in topics.items()
        }
        for cycle in shortest_cycles(reads):
            steps = [*pairwise((*cycle, cycle[0]))]
            if (closing := next(((s, m) for s, m in steps if s in topics), None)) is None:
                continue  # a cycle of refs
            source, model = topics[closing[0]], closing[1]
            index = cycle.index(model)
            path = [model, *reversed((*cycle[index + 1 :], *cycle[:index])), model]
            shown = " → ".join(
                f"{id_} ('{', '.join(topics[id_].topics)}')" if id_ in topics else str(id_) for id_ in path
            )
            name = model.name
            message, note = (
                f"'{name}' reads what it writes: {shown}",
                DiagnosticNote("read here", source.location),
            )
            writer = sinks.get(model)
            dead_letters = next((self.dead_letters[t] for t in source.topics if t in self.dead_letters), None)
            if writer is not None and writer.topic in source.topics:
                remedy = f"write to another topic: {self._free(writer)}"
                yield model, closing[0], self._diagnostic(writer, "MS550", message, remedy, note)
            elif dead_letters is not None:
                remedy = "read the dead letters only in models that are not upstream of it"
                yield (
                    model,
                    closing[0],
                    self.lines.diagnostic(dead_letters.location, "MS550", message, remedy, note),
                )

    def of_sources(self, closing: Container[tuple[NodeId, NodeId]]) -> Iterator[Diagnostic]:
        """Yield sinks that write the topic of a source; those that close a loop have another error."""
        for sink in self.sinks:
            sources = [source for source in self.sources if sink.topic in source.topics]
            if not sources or any((sink.id, NodeId("source", source.id)) in closing for source in sources):
                continue
            named = " and ".join(source.id for source in sources)
            message = f"'{sink.name}' writes to '{sink.topic}', which is the topic of the source {named}"
            remedy = (
                f"write to another topic: {self._free(sink)}; or, if the topic belongs to the model, remove "
                f"the source and read {{{{ ref('{sink.name}') }}}}"
            )
            notes = (DiagnosticNote("declared here", source.location) for source in sources)
            yield self._diagnostic(sink, "MS551", message, remedy, *notes)

    def colliding(self) -> Iterator[Diagnostic]:
        """Yield topics whose names collide in Kafka's metrics."""
        sources, sinks = self._source_topics(), (sink.topic for sink in self.sinks)
        folded: dict[str, str] = {}
        for topic in dict.fromkeys((*sources, *sinks, *self.dead_letters)):
            other = folded.setdefault(topic.replace(".", "_"), topic)
            if other != topic and not _only_dead_letters_collide(topic, other, folded):
                message = f"the topics '{topic}' and '{other}' differ only in '.' and '_'"
                note = DiagnosticNote(f"'{other}'", self._declared(other))
                yield self.lines.diagnostic(
                    self._declared(topic), "MS556", message, "rename one of them", note
                )

    def _source_topics(self) -> Iterator[str]:
        return (topic for source in self.sources if not source.pattern for topic in source.topics)

    def _declared(self, topic: str) -> Location:
        """Return where a topic is declared; the last one counts if there are several."""
        for source in reversed(self.sources):
            if topic in source.topics:
                return source.location
        for sink in reversed(self.sinks):
            if sink.topic == topic:
                return self._location(sink)
        return self.dead_letters[topic].location

    def _dead_letter_topics(self) -> Iterator[_DeadLetterTopic]:
        """Yield the dead-letter topics that queries write."""
        properties = self.models.project.properties
        of_calls: set[NodeId] = set()
        for model in self.models.models.values():
            name, stored = model.file.name, model.stored
            if model.config.get("on_bad_record") == "dead_letter":
                of_calls |= self._sources_of(model)
            if stored.stored_as and name in properties:
                tests = name_tests(model.id, properties[name].columns, properties[name].tests)
                test = next((test for _, _, test in tests if test.severity == "dead_letter"), None)
                if test is not None:
                    yield _DeadLetterTopic(
                        f"{stored.stored_name(name)}{DEAD_LETTER_SUFFIX}", model.id, name, test.location
                    )
        for source in self.sources:
            if source.on_bad_record == "dead_letter" or NodeId("source", source.id) in of_calls:
                yield _DeadLetterTopic(
                    source.dead_letter_topic,
                    NodeId("source", source.id),
                    source.id,
                    source.location,
                )
        for rows in self.models.project.sources.values():
            if isinstance(rows, RowSource) and rows.dead_letter_topic:
                yield _DeadLetterTopic(
                    rows.dead_letter_topic, NodeId("source", rows.id), rows.id, rows.location
                )

    def _sources_of(self, model: Model) -> set[NodeId]:
        pending, seen = [model.id], set[NodeId]()
        while pending:
            id_ = pending.pop()
            if id_ not in seen:
                seen.add(id_)
                above = self.models.models.get(id_.shown_name)
                pending += [reference.id for reference in above.references] if above is not None else []
        return {id_ for id_ in seen if id_.kind == "source"}

    def _free(self, sink: _Sink) -> str:
        """Return an option with an unused topic."""
        taken = {s.topic for s in self.sinks} | {*self._source_topics()} | self.dead_letters.keys()
        folded = {topic.replace(".", "_") for topic in taken}
        name = re.sub("^_+", "", sink.name)[: LONGEST_TOPIC - 20] or "rows"
        candidates = chain((name, f"{name}_out"), (f"{name}_out{number}" for number in count(2)))
        return f"topic='{next(candidate for candidate in candidates if candidate not in folded)}'"

    def _location(self, sink: _Sink) -> Location:
        return self.models.option_location(sink.model, "topic", "materialized")

    def _diagnostic(
        self, sink: _Sink, code: str, message: str, remedy: str, *notes: DiagnosticNote
    ) -> Diagnostic:
        return self.lines.diagnostic(self._location(sink), code, message, remedy, *notes)


def _only_dead_letters_collide(topic: str, other: str, folded: Mapping[str, str]) -> bool:
    """Return whether two dead-letter topics only collide because their main topics do."""
    one, two = topic.removesuffix(DEAD_LETTER_SUFFIX), other.removesuffix(DEAD_LETTER_SUFFIX)
    return one != topic and two != other and folded.get(one.replace(".", "_")) in {one, two}
