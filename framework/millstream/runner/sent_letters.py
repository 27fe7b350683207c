"""Up to where the dead letters of each source are sent: a note next to the checkpoints."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.deployment.records import Offsets
from millstream.plan.nodes import Column
from millstream.runner import checkpoints
from millstream.stores.files import Files

_ENDING = ".letters"


class Sent(Struct, frozen=True):
    """Which records of a source have their letters."""

    topic: str
    began: Offsets
    """Where the first query began, by partition."""
    columns: tuple[Column, ...]
    """What the records were checked for."""
    upto: Offsets = {}
    """The records before it have their letters."""
    id: str = ""
    """Kafka's id of the topic: in one that was deleted and created again, offsets mean other records."""
    readers: tuple[str, ...] = ()
    """Checkpoints and models that read the source when the columns were looked at."""
    checkpoint: str = ""
    """Of the query that sends them now, and has gone on since; within the folder of checkpoints."""
    end: Offsets = {}
    """Of the topic of dead letters, when it held no letter of a record that is not before `upto`."""


def settle(files: Files, folder: str) -> None:
    """Note how far letters are sent, before anything happens to the checkpoints that say so."""
    for name in files.names(folder):
        if name.endswith(_ENDING):
            source = name.removesuffix(_ENDING)
            found = read(files, folder, source)
            if found is not None and (now := settled(files, folder, found)) != found:
                write(files, folder, source, now)


def progress(files: Files, spark: str, topic: str) -> tuple[Offsets | None, Offsets]:
    """Return where a query goes on, None where it begins, and up to where it runs a batch again."""
    done, begun = checkpoints.last_done(files, spark), checkpoints.last_begun(files, spark)
    read = None if done is None else checkpoints.read_up_to(files, spark, done)
    again = None if begun in {None, done} else checkpoints.read_up_to(files, spark, begun or 0)
    return None if read is None else read.get(topic, {}), (again or {}).get(topic, {})


def settled(files: Files, folder: str, found: Sent) -> Sent:
    done, _ = progress(files, f"{folder.rstrip('/')}/{found.checkpoint}", found.topic)
    return replace(found, upto=later(found.upto, done or {})) if found.checkpoint else found


def later(one: Mapping[int, int], other: Mapping[int, int]) -> Offsets:
    return {n: max(one.get(n, 0), other.get(n, 0)) for n in sorted({*one, *other})}


def read(files: Files, folder: str, source: str) -> Sent | None:
    content = files.read(_path(folder, source))
    return None if content is None else msgspec.json.decode(content, type=Sent)


def write(files: Files, folder: str, source: str, found: Sent) -> None:
    files.write(_path(folder, source), msgspec.json.format(msgspec.json.encode(found), indent=1))


def _path(folder: str, source: str) -> str:
    return f"{folder.rstrip('/')}/{source}{_ENDING}"
