"""Removes from an environment what it no longer builds: production has the same by now, or it is gone."""

from __future__ import annotations

from millstream.deploy.checkpoints.files import checkpoint_folder, records_in
from millstream.deploy.engine import Engine
from millstream.kafka.clients import admin_of
from millstream.kafka.removing import remove_topics
from millstream.queries.values import TableOutput


def drop_no_longer_built(running: Engine) -> None:
    """Remove tables, topics and checkpoints of models that the environment built before."""
    environment = running.job.project.target.environment
    if environment is None:
        return
    built = {id_ for query in running.job.physical.queries for id_ in query.stored}
    for name, record in records_in(running.files, running.checkpoints).items():
        gone = {id_: topic for id_, topic in (record.outputs or {}).items() if id_ not in built}
        for id_, topic in gone.items():
            if not topic:
                running.tables.drop(TableOutput(id_))
        topics = [topic for topic in gone.values() if topic.startswith(environment.prefix)]
        remove_topics(admin_of(running.kafka.cluster), topics)
        if gone.keys() == (record.outputs or {}).keys():
            running.files.remove(checkpoint_folder(running.checkpoints, name).folder)
