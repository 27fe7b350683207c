"""Runs the user's generators in `seeds/*.py` and encodes their records."""

from __future__ import annotations

import linecache
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from functools import partial
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.text import FileText, Location
from millstream.core.types import STRING, Field
from millstream.formats.registry import Encoding, format_of
from millstream.formats.values import UnfitError
from millstream.kafka.event_time import event_time
from millstream.kafka.keys import encode_key, with_key
from millstream.kafka.live_times import LiveTimes
from millstream.project.generators import topics_of
from millstream.project.values import Generator, Project, Topic

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
"""The default time of the first event: fixed, so that traffic can be repeated."""


_NO_ID = "nothing could read it, because a schema from a file has no id, which its framing needs"
_TAKE_ID = "take the schema from a registry, as in `schema: registry`"
_GIVE_ID = f"{_TAKE_ID}, or yield bytes"


class GeneratedRecord(NamedTuple):
    """An encoded record; a tuple, since there may be millions."""

    key: bytes | None
    value: bytes | None
    timestamp: int | None
    """The event time in milliseconds, if it is known."""


def generators_of(project: Project) -> dict[str, tuple[Generator, Topic]]:
    """Return the generator of each source that has one, by the source's id."""
    generators: dict[str, tuple[Generator, Topic]] = {}
    for generator in project.generators:
        for id_ in topics_of(generator.topic, project.topics):
            generators.setdefault(id_, (generator, project.topics[id_]))
    return generators


def generate_rows(
    project: Project, generator: Generator, seed: int = 1, start: datetime = START
) -> Iterator[Any]:
    """Yield a generator's rows; errors are reported at their line."""
    function = getattr(_module(project, generator.path), generator.name)
    # With the same seed, each generator has other random numbers.
    random = Random(f"{generator.name}:{seed}")  # noqa: S311 - test traffic
    try:
        yield from function(random, start)
    except (GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the function raises, including SystemExit
        raise _failed(project, generator.path, error, "MS832", f"the generator '{generator.name}'") from None


def generate_records(
    project: Project,
    generator: Generator,
    topic: Topic,
    seed: int = 1,
    start: datetime = START,
    live: LiveTimes | None = None,
) -> Iterator[GeneratedRecord]:
    encoded = record_encoder(topic)
    moved = live.moving() if live else None
    generated = partial(generate_rows, project, generator, seed, start)
    for number, row in enumerate(live.rows(generated) if live else generated(), 1):
        try:
            key, value = row
        except (TypeError, ValueError):
            raise _unfit(project, generator, number, "expected a key and a value", code="MS832") from None
        try:
            record = encoded(key, moved(value) if moved else value)
        except UnfitError as error:
            raise _unfit(project, generator, number, str(error)) from None
        if record is None:
            raise _unfit(project, generator, number, _NO_ID, remedy=_GIVE_ID)
        yield record


def record_encoder(topic: Topic) -> Callable[[Any, Any], GeneratedRecord | None]:
    """Return what encodes a key and a value; None is a record that lacks the ID of its schema."""
    encode = format_of(topic.format).local.encode
    fields = fields_of(topic)
    no_id, no_id_of_key = _lacks_id(topic.format), topic.key is not None and _lacks_id(topic.key.format)
    time = event_time(topic)

    def encoded(key: Any, value: Any) -> GeneratedRecord | None:
        value = with_key(value, key, topic)
        data = value if value is None or type(value) is bytes else encode(value, fields)
        if (data is not value and no_id) or (key is not None and type(key) is not bytes and no_id_of_key):
            return None
        return GeneratedRecord(encode_key(key, topic), data, time.of(value) if time else None)

    return encoded


def typed_records(topic: Topic, key: str | None, values: Iterable[str]) -> Iterator[GeneratedRecord]:
    """Encode values that were typed as JSON, with the same key; `null` is a tombstone."""
    encoded = record_encoder(topic)
    is_text = topic.key is None or topic.key.type == STRING
    for text in values:
        try:
            typed_key = key if key is None or is_text else msgspec.json.decode(key)
            record = encoded(typed_key, msgspec.json.decode(text))
        except (UnfitError, msgspec.DecodeError) as error:
            message = f"{text} can't be sent to '{topic.topics[0]}': {error}"
            remedy = "write the columns of the source as JSON: '{\"id\": 1}'; so is a key that is not a text"
            raise MillstreamError(Diagnostic("MS833", message, None, remedy)) from None
        if record is None:
            raise MillstreamError(Diagnostic("MS833", f"{text} can't be sent: {_NO_ID}", None, _TAKE_ID))
        yield record


def _lacks_id(encoding: Encoding) -> bool:
    """Whether values would have the id of no schema, although they can't be read without."""
    schemas = format_of(encoding).schemas
    return (
        encoding.framing != "plain" and not encoding.schema_id and schemas is not None and schemas.by_writer
    )


def fields_of(topic: Topic) -> tuple[Field, ...]:
    """Return the fields of a topic's values: all columns that are not derived."""
    declared = tuple(
        Field(column.name, column.type or STRING, column.nullable)
        for column in topic.columns
        if column.expression is None
    )
    return declared or tuple(format_of(topic.format).columns)


def _unfit(
    project: Project,
    generator: Generator,
    number: int,
    why: str,
    code: str = "MS833",
    remedy: str = "yield a key and a value for each record; the value has the columns of the source",
) -> MillstreamError:
    message = f"record {number:,} of the generator '{generator.name}' can't be sent: {why}"
    location = generator.location
    content = Path(project.root, location.path).read_text(encoding="utf-8-sig", errors="replace")
    line = FileText(location.path, content).line(location.line)
    return MillstreamError(Diagnostic(code, message, location, remedy, line))


# -- the user's module


def _module(project: Project, path: str) -> types.ModuleType:
    """Run a file of `seeds/` once; a changed file becomes another module."""
    file = Path(project.root, path)
    content = file.read_text(encoding="utf-8-sig")
    name = f"millstream_seeds_{blake2b(f'{file}:{content}'.encode(), digest_size=8).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    module = types.ModuleType(name)
    module.__file__ = str(file)
    linecache.checkcache(str(file))
    sys.modules[name] = module  # dataclasses look their module up
    try:
        exec(compile(content, str(file), "exec"), module.__dict__)  # noqa: S102 - the user's own code
    except KeyboardInterrupt:
        del sys.modules[name]
        raise
    except BaseException as error:  # noqa: BLE001 - including SystemExit
        del sys.modules[name]
        raise _failed(project, path, error, "MS831", path) from None
    return module


def _failed(project: Project, path: str, error: BaseException, code: str, what: str) -> MillstreamError:
    """Return an error at the user's line that raised the exception."""
    file = str(Path(project.root, path))
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = lines[-1] if lines and lines[-1] else 1
    content = Path(file).read_text(encoding="utf-8-sig", errors="replace")
    text = FileText(path, content).line(line)
    column = len(text) - len(text.lstrip()) + 1
    reason = " ".join(str(error).split())
    message = f"{what} failed: {type(error).__name__}{f': {reason}' if reason else ''}"
    location = Location(path, line, column, len(text) + 1)
    return MillstreamError(Diagnostic(code, message, location, "fix it, or catch the exception", text))
