"""Removes from an environment what it no longer builds: production has the same by now, or it is gone."""

from __future__ import annotations

from millstream.deploy.checkpoints.files import checkpoint_folder, records_in
from millstream.deploy.engine import Engine
from millstream.kafka.clients import admin_of
from millstream.kafka.environment_removal import remove_topics
from millstream.queries.values import TableOutput


def drop_no_longer_built(engine: Engine) -> None:
    """Remove tables, topics and checkpoints of models that the environment built before."""
    environment = engine.job.project.target.environment
    if environment is None:
        return
    built = {id_ for query in engine.job.physical.queries for id_ in query.stored}
    for name, record in records_in(engine.files, engine.checkpoints).items():
        gone = {id_: topic for id_, topic in (record.outputs or {}).items() if id_ not in built}
        for id_, topic in gone.items():
            if not topic:
                engine.tables.drop(TableOutput(id_))
        topics = [topic for topic in gone.values() if topic.startswith(environment.prefix)]
        remove_topics(admin_of(engine.kafka.cluster), topics)
        if gone.keys() == (record.outputs or {}).keys():
            engine.files.remove(checkpoint_folder(engine.checkpoints, name).folder)
