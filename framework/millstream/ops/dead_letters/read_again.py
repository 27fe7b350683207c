"""Models that have read records again after their dead letters were sent, such as rebuilt ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.files import checkpoint_folder, read_so_far, records_in
from millstream.deploy.planning.records import Offsets, QueryRecord
from millstream.ops.dead_letters.letter import DeadLetter
from millstream.project.folders import local_path
from millstream.project.values import Project
from millstream.sources.topic.positions import offsets_in
from millstream.stores.files import LocalFiles


class ReadAgain(Struct, frozen=True):
    """What a model has read of a topic from its start."""

    model: str
    topic: str
    since: datetime
    """When it began to."""
    upto: Offsets

    def has(self, letter: DeadLetter) -> bool:
        """Whether it read the record of a letter after the letter was sent."""
        origin = letter.origin
        return (
            origin is not None
            and letter.sent is not None
            and origin.topic == self.topic
            and letter.sent < self.since
            and origin.offset < self.upto.get(origin.partition, 0)
        )


def read_again(project: Project, checkpoints: str) -> Iterator[ReadAgain]:
    """Yield what each stored model has read from the start of its topics.

    Checkpoints that are not on this machine are not looked at.
    """
    if local_path(checkpoints) is None:
        return
    earliest = {
        topic
        for source in project.topics.values()
        for topic in source.topics
        if source.options.get("starting", "earliest") == "earliest"
    }
    files = LocalFiles()
    for query, record in records_in(files, checkpoints).items():
        read = offsets_in(read_so_far(files, checkpoint_folder(checkpoints, query).spark(record)))
        for model in record.stored:
            since = _since(record, model)
            for topic in read.keys() & earliest if since else ():
                yield ReadAgain(model.name, topic, datetime.fromisoformat(since), read[topic])


def _since(record: QueryRecord, model: NodeId) -> str:
    return max(record.created, record.reread.get(model, ""))
