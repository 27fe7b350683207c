"""Stores next to the checkpoints up to which offsets the dead letters of each source were sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints import files as checkpoints
from millstream.deploy.planning.records import Offsets
from millstream.plan.nodes import Column
from millstream.sources.topic.positions import offsets_in
from millstream.stores.files import Files, path_in, read_json, write_json

_ENDING = ".letters"
_OF_TOPIC = "@"
"""Precedes the topic in the file names of a source that reads several; no topic has it in its name."""


class SentDeadLetters(Struct, frozen=True):
    """The records of a topic of a source whose dead letters were sent."""

    topic: str
    began: Offsets
    """The first offset of each partition that a query read."""
    columns: tuple[Column, ...]
    """The columns that the records were decoded to."""
    upto: Offsets = {}
    """The dead letters of all records before these offsets were sent."""
    id: str = ""
    """Kafka's id of the topic. In a recreated topic, the same offsets are other records."""
    readers: tuple[str, ...] = ()
    """Checkpoints and models that read the source when `columns` was recorded."""
    checkpoint: str = ""
    """The checkpoint of the query that sends them now and may be further; a path within the checkpoints."""
    end: Offsets = {}
    """The end of the dead letter topic, at a time when it held only dead letters of records before `upto`."""


def sources_in(files: Files, folder: str) -> Iterator[tuple[NodeId, str]]:
    """Yield the sources of which something is stored, each with the path of its file."""
    for name in files.names(folder):
        if name.endswith(_ENDING):
            yield NodeId.parse(name.removesuffix(_ENDING).partition(_OF_TOPIC)[0]), path_in(folder, name)


def settle_offsets(files: Files, folder: str) -> None:
    """Record how far dead letters were sent, before the checkpoints that know it can change."""
    for _, path in sources_in(files, folder):
        sent = read_json(files, path, SentDeadLetters)
        if sent is not None and (now := settle_sent(files, folder, sent)) != sent:
            write_json(files, path, now)


def query_progress(files: Files, spark: str, topic: str) -> tuple[Offsets | None, Offsets]:
    """Return the offsets at which a query continues (None if it is new), and the end of a batch to repeat."""
    done, begun = checkpoints.last_done(files, spark), checkpoints.last_begun(files, spark)
    read = None if done is None else checkpoints.read_up_to(files, spark, done)
    again = None if begun in {None, done} else checkpoints.read_up_to(files, spark, begun or 0)
    offsets = offsets_in(again or {}).get(topic, {})
    return None if read is None else offsets_in(read).get(topic, {}), offsets


def settle_sent(files: Files, folder: str, sent: SentDeadLetters) -> SentDeadLetters:
    done, _ = query_progress(files, path_in(folder, sent.checkpoint), sent.topic)
    return replace(sent, upto=later_offsets(sent.upto, done or {})) if sent.checkpoint else sent


def later_offsets(one: Mapping[int, int], other: Mapping[int, int]) -> Offsets:
    return {n: max(one.get(n, 0), other.get(n, 0)) for n in sorted({*one, *other})}


def read_sent(files: Files, folder: str, source: NodeId, topic: str) -> SentDeadLetters | None:
    """Return what is stored of a topic, also by a source that had another number of topics."""
    for name in (f"{source}{_OF_TOPIC}{topic}", str(source)):
        sent = read_json(files, path_in(folder, f"{name}{_ENDING}"), SentDeadLetters)
        if sent is not None and sent.topic == topic:
            return sent
    return None


def write_sent(files: Files, folder: str, source: NodeId, sent: SentDeadLetters, *, alone: bool) -> None:
    """Store what was sent of a topic; `alone` if the source has no other one."""
    of_topic = path_in(folder, f"{source}{_OF_TOPIC}{sent.topic}{_ENDING}")
    has_own_file = alone and files.read(of_topic) is None
    write_json(files, path_in(folder, f"{source}{_ENDING}") if has_own_file else of_topic, sent)
