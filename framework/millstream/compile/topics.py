"""The topics of a project, and what is wrong with what its sinks write to."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from itertools import chain, count, pairwise
from pathlib import Path

from msgspec import Struct

from millstream.compile.assemble import labelled
from millstream.compile.models import Models
from millstream.compile.node import Model
from millstream.cycles import cycles
from millstream.errors import Diagnostic, Note
from millstream.materialization import Sink, View, materialization_of
from millstream.project.checks import Lines
from millstream.text import Location

LONGEST = 249
LETTERS = ".dead_letter"
OWN = "_millstream."
"""What the names of topics begin with that Millstream creates between its queries."""
_AT_MOST = f"Kafka takes at most {LONGEST} characters"
_OURS = f"names that begin with '{OWN}' are Millstream's own"


class _Sink(Struct, frozen=True, eq=False):
    model: Model
    topic: str

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def name(self) -> str:
        return self.model.file.name


class _Letters(Struct, frozen=True):
    """A topic of dead letters, and whose they are."""

    topic: str
    id: str
    """Of the source, or of the model whose data tests keep rows out."""
    name: str
    location: Location


def topic_problems(models: Models) -> list[Diagnostic]:
    """Return what is wrong with the topics that the models write, all at once."""
    topics = _Topics(models)
    loops = list(topics.loops())
    closing = {(model, source) for model, source, _ in loops}
    return [
        *topics.refused(),
        *topics.written_twice(),
        *(problem for _, _, problem in loops),
        *topics.of_sources(closing),
        *topics.colliding(),
    ]


class _Topics:
    def __init__(self, models: Models) -> None:
        self.models = models
        self.sources = tuple(models.project.sources.values())
        self.lines = Lines(Path(models.project.root))
        self.sinks = [
            _Sink(model, stored.topic)
            for model in models.models.values()
            if isinstance(stored := materialization_of(model.file.name, model.config), Sink)
        ]
        self.letters = {each.topic: each for each in self._letters()}

    def refused(self) -> Iterator[Diagnostic]:
        """Yield the names that Kafka refuses, or that are taken by Kafka or Millstream."""
        for sink in self.sinks:
            notes: tuple[Note, ...] = ()
            if len(sink.topic) > LONGEST:
                code, message = "MS555", f"'{sink.topic}' is too long for a topic: {_AT_MOST}"
            elif sink.topic.startswith("__"):
                code, message = (
                    "MS554",
                    f"'{sink.topic}' is reserved: Kafka's internal topics begin with '__'",
                )
            elif sink.topic.startswith(OWN):
                code, message = "MS554", f"'{sink.topic}' is reserved: {_OURS}"
            elif (letters := self.letters.get(sink.topic)) is not None:
                code, message = "MS553", f"'{sink.topic}' is the topic of the dead letters of {letters.name}"
                notes = (Note("because of this", letters.location),)
            else:
                continue
            yield self._at(sink, code, message, f"write to another topic: {self._free(sink)}", *notes)
        for source in self.sources:
            if source.topic.startswith(OWN):
                message = f"'{source.topic}' is reserved: {_OURS}"
                remedy = "remove the source, and read the model with `ref`"
                yield self.lines.diagnostic(source.location, "MS554", message, remedy)
        for letters in self.letters.values():
            if len(letters.topic) > LONGEST:
                message = f"'{letters.topic}', for dead letters, is too long for a topic: {_AT_MOST}"
                remedy = f"shorten the name of the topic itself to {LONGEST - len(LETTERS)} characters"
                yield self.lines.diagnostic(letters.location, "MS555", message, remedy)

    def written_twice(self) -> Iterator[Diagnostic]:
        """Yield the sinks whose topic another one writes, too."""
        first: dict[str, _Sink] = {}
        for sink in self.sinks:
            other = first.setdefault(sink.topic, sink)
            if other is not sink:
                message = f"'{other.name}' writes to the topic '{sink.topic}', too"
                remedy = f"write to another topic: {self._free(sink)}; or combine both in one sink"
                note = Note(f"'{other.name}' writes to it here", self._place(other))
                yield self._at(sink, "MS552", message, remedy, note)

    def loops(self) -> Iterator[tuple[str, str, Diagnostic]]:
        """Yield a problem for each loop through topics, with the model and the source that close it."""
        reads = {m.id: [each.id for each in m.references] for m in self.models.models.values()}
        sinks = {sink.id: sink for sink in self.sinks}
        writers: dict[str, list[str]] = {}
        for sink in self.sinks:
            writers.setdefault(sink.topic, []).append(sink.id)
        for each in self.letters.values():
            if each.id in reads:
                writers.setdefault(each.topic, []).append(each.id)
        topics = {f"source.{source.id}": source for source in self.sources}
        reads |= {id_: writers.get(source.topic, []) for id_, source in topics.items()}
        for cycle in cycles(reads):
            steps = [*pairwise((*cycle, cycle[0]))]
            if (closing := next(((s, m) for s, m in steps if s in topics), None)) is None:
                continue  # of refs alone
            source, model = topics[closing[0]], closing[1]
            at = cycle.index(model)
            path = [model, *reversed((*cycle[at + 1 :], *cycle[:at])), model]
            shown = " → ".join(f"{id_} ('{topics[id_].topic}')" if id_ in topics else id_ for id_ in path)
            name = model.partition(".")[2]
            message, note = f"'{name}' reads what it writes: {shown}", Note("read here", source.location)
            writer, letters = sinks.get(model), self.letters.get(source.topic)
            if writer is not None and writer.topic == source.topic:
                remedy = f"write to another topic: {self._free(writer)}"
                yield model, closing[0], self._at(writer, "MS550", message, remedy, note)
            elif letters is not None:
                remedy = "read the dead letters in models that don't lead back to it"
                yield (
                    model,
                    closing[0],
                    self.lines.diagnostic(letters.location, "MS550", message, remedy, note),
                )

    def of_sources(self, closing: Container[tuple[str, str]]) -> Iterator[Diagnostic]:
        """Yield the sinks that write the topic of a source; what closes a loop has its own problem."""
        for sink in self.sinks:
            sources = [each for each in self.sources if each.topic == sink.topic]
            if not sources or any((sink.id, f"source.{each.id}") in closing for each in sources):
                continue
            named = " and ".join(each.id for each in sources)
            message = f"'{sink.name}' writes to '{sink.topic}', which is the topic of the source {named}"
            remedy = (
                f"write to another topic: {self._free(sink)}; or, if it is the model's, remove the source "
                f"and read {{{{ ref('{sink.name}') }}}}"
            )
            notes = (Note("declared here", each.location) for each in sources)
            yield self._at(sink, "MS551", message, remedy, *notes)

    def colliding(self) -> Iterator[Diagnostic]:
        """Yield the topics whose names Kafka's metrics can't tell apart."""
        places = {source.topic: source.location for source in self.sources}
        places |= {s.topic: self._place(s) for s in self.sinks if s.topic not in places}
        places |= {topic: each.location for topic, each in self.letters.items() if topic not in places}
        known: dict[str, str] = {}
        for topic, place in places.items():
            other = known.setdefault(topic.replace(".", "_"), topic)
            if other != topic and not _letters_of(topic, other, known):
                message = f"the topics '{topic}' and '{other}' differ only in '.' and '_'"
                note = Note(f"'{other}'", places[other])
                yield self.lines.diagnostic(place, "MS556", message, "rename one of them", note)

    def _letters(self) -> Iterator[_Letters]:
        """Yield the topics of dead letters, as queries send them."""
        properties = self.models.project.properties
        of_calls: set[str] = set()
        for model in self.models.models.values():
            name, stored = model.file.name, materialization_of(model.file.name, model.config)
            if model.config.get("on_bad_record") == "dead_letter":
                of_calls |= self._sources_of(model)
            if not isinstance(stored, View) and name in properties:
                found = labelled(model.id, properties[name].columns, properties[name].tests)
                test = next((test for _, _, test in found if test.severity == "dead_letter"), None)
                if test is not None:
                    own = stored.topic if isinstance(stored, Sink) else name
                    yield _Letters(f"{own}{LETTERS}", model.id, name, test.location)
        for source in self.sources:
            if source.on_bad_record == "dead_letter" or f"source.{source.id}" in of_calls:
                yield _Letters(f"{source.topic}{LETTERS}", f"source.{source.id}", source.id, source.location)

    def _sources_of(self, model: Model) -> set[str]:
        waiting, seen = [model.id], set[str]()
        while waiting:
            id_ = waiting.pop()
            if id_ not in seen:
                seen.add(id_)
                above = self.models.models.get(id_.removeprefix("model."))
                waiting += [each.id for each in above.references] if above is not None else []
        return {id_ for id_ in seen if id_.startswith("source.")}

    def _free(self, sink: _Sink) -> str:
        """Return an option that names a topic which nothing else has."""
        taken = {s.topic for s in self.sinks} | {s.topic for s in self.sources} | self.letters.keys()
        folded = {topic.replace(".", "_") for topic in taken}
        name = re.sub("^_+", "", sink.name)[: LONGEST - 20] or "rows"
        made = chain((name, f"{name}_out"), (f"{name}_out{number}" for number in count(2)))
        return f"topic='{next(each for each in made if each not in folded)}'"

    def _place(self, sink: _Sink) -> Location:
        return self.models.option_place(sink.model, "topic", "materialized")

    def _at(self, sink: _Sink, code: str, message: str, remedy: str, *notes: Note) -> Diagnostic:
        return self.lines.diagnostic(self._place(sink), code, message, remedy, *notes)


def _letters_of(topic: str, other: str, known: Mapping[str, str]) -> bool:
    """Tell whether two topics collide only because those collide whose dead letters they hold."""
    one, two = topic.removesuffix(LETTERS), other.removesuffix(LETTERS)
    return one != topic and two != other and known.get(one.replace(".", "_")) in {one, two}
