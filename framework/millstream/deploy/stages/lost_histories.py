"""Refuses to remove what can't be read again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.engine import Engine
from millstream.project.folders import absolute_path, local_path
from millstream.project.values import Project, Topic
from millstream.queries.values import Query
from millstream.stores.local import all_local_tables


def check_reset(engine: Engine, queries: Iterable[Query]) -> None:
    """Raise if queries that start over would lose records that their topics no longer have."""
    project = engine.job.project
    of_topics = _histories(project)
    stores = all_local_tables(project.target, Path(project.root))
    for query in queries:
        engine.histories(query)
        for table in query.tables:
            for store in stores:
                folder = store.folder and _resolved(f"{store.folder}/{table.model.name}", project)
                if topic := of_topics.get(folder or store.in_catalog(table.model)):
                    raise MillstreamError(_lost(table.model.name, topic))


def _histories(project: Project) -> dict[Path | tuple[str, str] | None, Topic]:
    """Return the topics that have a history, by its folder, or its catalog and its name there."""
    histories = [(topic.history.settings, topic) for topic in project.topics.values() if topic.history]
    return {
        _resolved(settings["path"], project)
        if "path" in settings
        else (settings["catalog"], settings["table"]): topic
        for settings, topic in histories
    }


def _resolved(path: str, project: Project) -> Path | None:
    folder = local_path(absolute_path(path, Path(project.root)))
    return folder.resolve() if folder else None


def _lost(model: str, topic: Topic) -> Diagnostic:
    message = (
        f"the rows of '{model}' are the history of the topic '{topic.topics[0]}': --full-refresh would "
        "remove them"
    )
    remedy = (
        f"start over without it: `millstream build --full-refresh --exclude {model}` (first removes what "
        "else is stored)"
    )
    return Diagnostic("MS646", message, topic.history.location if topic.history else None, remedy)
