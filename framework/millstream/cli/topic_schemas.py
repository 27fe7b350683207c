"""What a project's topics use of a schema registry; a missing pin is no error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from millstream.cli.options import CommonOptions
from millstream.cli.project import compile_for
from millstream.core.errors import Diagnostic
from millstream.core.text import Location
from millstream.project.files import File, find_files, read_file
from millstream.project.load import load_topics
from millstream.project.pins import Pins, pins_folder, read_pins
from millstream.project.profiles import read_target
from millstream.project.settings import read_settings
from millstream.project.values import RegistryUse, Settings, Target, Topic
from millstream.project.variables import merge_variables


class SinkSchema(Struct, frozen=True):
    """The schema of a sink's values or keys, whose id precedes them."""

    model: str
    topic: str
    format: str
    file: str
    """Empty if it is derived from the columns."""
    subject: str
    location: Location
    pinned: bool
    """It is what the registry has, and not registered by the sink."""


class RegisteredTopics(Struct, frozen=True):
    settings: Settings
    target: Target
    topics: Mapping[str, Topic]
    files: Mapping[str, File]
    """The files of pinned schemas, by path."""
    pins: Pins
    sinks: tuple[SinkSchema, ...]
    diagnostics: tuple[Diagnostic, ...]
    """Of the project's files, without those of pins."""

    @property
    def uses(self) -> tuple[RegistryUse, ...]:
        """What the topics take from a registry."""
        return tuple(use for topic in self.topics.values() for use in topic.registry_uses)


def topic_schemas(common: CommonOptions, root: Path) -> RegisteredTopics:
    settings, errors = read_settings(root)
    merged, more = merge_variables(settings.vars, common.vars)
    target, others = read_target(root, settings, common.target, common.profiles_dir, merged)
    topics, topic_problems = load_topics(root, settings, target, merged)
    read = [read_file(root, path) for path in find_files(root, (pins_folder(settings),), (".json",))]
    files = {file.path: file for file in read if isinstance(file, File)}
    pins, _ = read_pins(((path, file.content) for path, file in files.items()), settings)
    unreadable = [diagnostic for diagnostic in read if isinstance(diagnostic, Diagnostic)]
    diagnostics = (*errors, *more, *others, *topic_problems, *unreadable)
    sinks = (
        tuple(_of_sinks(common, root))
        if not any(diagnostic.severity == "error" for diagnostic in diagnostics)
        else ()
    )
    return RegisteredTopics(settings, target, topics, files, pins, sinks, diagnostics)


def _of_sinks(common: CommonOptions, root: Path) -> Iterator[SinkSchema]:
    # Models whose sources lack a pin have errors, but are known nevertheless.
    for node in compile_for(common, root).manifest.nodes.values():
        if (sink := node.sink) is None:
            continue
        location = Location(node.path, 1, 1, 2)
        for written, format_ in ((sink.value, sink.encoding.name), (sink.written_key, sink.key_format or "")):
            if subject := written.pinned_subject:
                yield SinkSchema(node.name, sink.topic, format_, "", subject, location, pinned=True)
            elif (subject := written.encoding.subject) and format_:
                file = written.file
                yield SinkSchema(node.name, sink.topic, format_, file, subject, location, pinned=False)
