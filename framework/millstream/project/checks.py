"""Checks across the files of a project: conflicting names, and references to things that don't exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from millstream.core.errors import Diagnostic, DiagnosticNote, did_you_mean
from millstream.core.node_id import NodeId
from millstream.core.text import FileText, Location
from millstream.core.types import BIGINT, INT, STRING
from millstream.formats.registry import KEY, format_of
from millstream.project.files import File, read_file
from millstream.project.generators import topics_of
from millstream.project.properties import PropertiesFile
from millstream.project.references import parse_reference
from millstream.project.values import (
    DataTest,
    DeclaredSource,
    Generator,
    ModelProperties,
    Project,
    Seed,
    UnitTest,
)

_TEXT_KEYS = frozenset((STRING, INT, BIGINT))
"""The types of keys that are the same after they were written as text."""


class LocationLines(Struct):
    """The lines of locations; a file is read once, and only if it has an error."""

    root: Path
    texts: dict[str, FileText] = {}

    def text(self, path: str) -> FileText:
        if path not in self.texts:
            file = read_file(self.root, path)
            self.texts[path] = FileText(path, file.content if isinstance(file, File) else "")
        return self.texts[path]

    def diagnostic(
        self, location: Location, code: str, message: str, remedy: str, *notes: DiagnosticNote
    ) -> Diagnostic:
        line = self.text(location.path).line(location.line)
        return Diagnostic(code, message, location, remedy, line, notes)

    def word_after(self, location: Location, word: str, key: str = "") -> Location:
        """Return the location of a word after a location (and after a key there), or else that location."""
        text = self.text(location.path)
        pattern = re.compile(rf"{re.escape(key)}.*?(?<!\w)({re.escape(word)})(?!\w)", re.DOTALL)
        word_match = pattern.search(text.content, text.offset(location.line, location.column))
        return text.location(*word_match.span(1)) if word_match else location


def check_project(
    project: Project, properties: Iterable[PropertiesFile], lines: LocationLines
) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the project as a whole."""
    yield from _shared_names(project)
    for model in project.properties.values():
        if model.name not in project.models:
            hint = did_you_mean(model.name, project.models, f"add models/{model.name}.sql or remove this")
            yield lines.diagnostic(model.location, "MS117", f"model '{model.name}' does not exist", hint)
    for function in (f for p in properties for f in p.functions):
        if function.name not in project.functions:
            message = f"Python function '{function.name}' does not exist"
            hint = did_you_mean(function.name, project.functions, "define it in a file of macros/")
            yield lines.diagnostic(function.location, "MS117", message, hint)
    for generator in project.generators:
        yield from _topic(project, generator, lines)
    yield from _histories(project, lines)
    relations = _Relations(project, lines)
    for exposure in project.exposures:
        for id_, location in zip(exposure.depends_on, exposure.depends_on_locations, strict=True):
            yield from relations.check(id_, location)
    for metric in project.metrics:
        yield from relations.check(metric.model, metric.model_location or metric.location)
    for unit in project.unit_tests:
        yield from _unit_test(project, unit, relations, lines)
    for test in _tests(project):
        to = test.arguments.get("to") if test.name == "relationships" else None
        relation = parse_reference(to) if isinstance(to, str) else None
        if relation and relations.lacks(relation):
            location = lines.word_after(test.location, relation.last_name, "to:")
            yield from relations.check(relation, location)


def _histories(project: Project, lines: LocationLines) -> Iterator[Diagnostic]:
    """Yield columns that records of a history would not have as the history has them."""
    for topic in project.topics.values():
        if topic.history is None:
            continue
        key = [(topic.key.name, topic.key.type, topic.key.format)] if topic.key else []
        values = [(c.name, c.type, topic.format) for c in topic.columns if c.type and not c.expression]
        for name, type_, encoding in (*values, *key):
            format_ = format_of(encoding)
            if not (format_.round_trips(type_) or (encoding.name == KEY.name and type_ in _TEXT_KEYS)):
                reason = f"{encoding} may change its column '{name}', {type_}"
                message = f"'{topic.id}' can't have a history: {reason}"
                remedy = "remove `history`, and declare it as a source of its own"
                yield lines.diagnostic(topic.history.location, "MS107", message, remedy)


def _shared_names(project: Project) -> Iterator[Diagnostic]:
    seeds = {name.lower(): seed for name, seed in project.seeds.items()}
    for name, model in project.models.items():
        if seed := seeds.get(name.lower()):
            note = DiagnosticNote("the seed", seed.location)
            location = Location(model.path, 1, 1, 2)
            message = f"a model and a seed have the same name '{name}'"
            yield Diagnostic("MS109", message, location, "rename one", notes=(note,))


class _Relations:
    """The ids of a project's relations, to report references to unknown ones."""

    def __init__(self, project: Project, lines: LocationLines) -> None:
        self.lines = lines
        self.names: dict[str, list[str]] = {
            "model": [*project.models, *project.seeds],
            "seed": list(project.seeds),
            "source": list(project.sources),
        }

    def lacks(self, id_: NodeId) -> bool:
        return id_.name not in self.names.get(id_.kind, ())

    def check(self, id_: NodeId, location: Location) -> Iterator[Diagnostic]:
        if self.lacks(id_):
            kind, name = id_.kind, id_.name
            hint = did_you_mean(name, self.names.get(kind, ()), "fix the name")
            yield self.lines.diagnostic(location, "MS117", f"{kind} '{name}' does not exist", hint)


def _unit_test(
    project: Project, unit: UnitTest, relations: _Relations, lines: LocationLines
) -> Iterator[Diagnostic]:
    if unit.model not in project.models:
        hint = did_you_mean(unit.model, project.models, "name a model of the project")
        yield lines.diagnostic(unit.location, "MS117", f"model '{unit.model}' does not exist", hint)
    for name in _inputs(unit.body):
        if name != "this" and (id_ := parse_reference(name)) and relations.lacks(id_):
            yield from relations.check(id_, lines.word_after(unit.location, name))


def _inputs(body: dict[str, Any]) -> Iterator[str]:
    for input_rows in body.get("given") or ():
        yield input_rows["input"]
    for step in body.get("steps") or ():
        yield from _inputs(step)


def _tests(project: Project) -> Iterator[DataTest]:
    owners: list[DeclaredSource | ModelProperties | Seed] = [
        *project.sources.values(),
        *project.properties.values(),
        *project.seeds.values(),
    ]
    for owner in owners:
        yield from owner.tests
        for column in owner.columns:
            yield from column.tests


def _topic(project: Project, generator: Generator, lines: LocationLines) -> Iterator[Diagnostic]:
    sources = topics_of(generator.topic, project.topics)
    if not sources:
        names = [topic.name for topic in project.topics.values()]
        hint = did_you_mean(generator.topic, names, "name it like the topic of a source")
        message = f"no source has a topic '{generator.topic}'"
        yield lines.diagnostic(generator.location, "MS117", message, hint)
    elif len(sources) > 1:
        message = f"'{generator.topic}' is a topic of {' and '.join(sources)}"
        hint = f"name the function {sources[0].replace('.', '__')}"
        yield lines.diagnostic(generator.location, "MS109", message, hint)
