"""Which topics of the cluster match the patterns of a project's sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.kafka.clients import Admin
from millstream.kafka.topics import user_topics
from millstream.outputs.kinds import DEAD_LETTER_SUFFIX, HANDLED_SUFFIX
from millstream.outputs.registry import Materialization
from millstream.plan.from_sql.catalog import RELAYS, Catalog
from millstream.project.names import Environment, is_environments
from millstream.project.values import Project

_OWN_SUFFIXES = (DEAD_LETTER_SUFFIX, f"{DEAD_LETTER_SUFFIX}{HANDLED_SUFFIX}")


def match_catalog(catalog: Catalog, admin: Admin) -> Catalog:
    """Return a catalog with the topics that match its patterns now; raise if there are none.

    Those that matched before stay: a query that has read one of them can't go on without it.
    """
    if not catalog.has_patterns:
        return catalog
    stored = (spec.materialization for spec in catalog.models.values())
    others = OtherTopics(catalog.project, written_topics(stored, catalog.environment), user_topics(admin))
    topics = {
        id_: replace(topic, matching=tuple(sorted({*topic.matching, *others.matching(topic.pattern)})))
        if topic.pattern
        else topic
        for id_, topic in catalog.topics.items()
    }
    missing = [
        Diagnostic(
            "MS872",
            f"no topic matches '{topic.pattern}', the pattern of source {id_.name}",
            None,
            "create one, or fix `topic_pattern:` of the source: it matches whole names",
        )
        for id_, topic in topics.items()
        if topic.pattern and not topic.matching
    ]
    if missing:
        raise MillstreamError(*missing)
    return replace(catalog, topics=topics)


def match_project(project: Project, nodes: Mapping[NodeId, ManifestNode], admin: Admin) -> Project:
    """Return a project with the topics that match its patterns now; a pattern stays if none does."""
    if not any(topic.pattern for topic in project.topics.values()):
        return project
    stored = (node.materialization for node in nodes.values() if node.materialization is not None)
    written = written_topics(stored, project.target.environment)
    others = OtherTopics(project.settings.name, written, user_topics(admin))
    sources = {
        id_: replace(topic, topics=others.matching(topic.pattern) or topic.topics) if topic.pattern else topic
        for id_, topic in project.topics.items()
    }
    return replace(project, sources={**project.sources, **sources})


class OtherTopics(Struct, frozen=True):
    """The topics of a cluster that can match a pattern: those that a project does not write itself."""

    project: str
    written: frozenset[str]
    on_cluster: tuple[str, ...]

    def matching(self, pattern: str) -> tuple[str, ...]:
        return tuple(
            name for name in self.on_cluster if re.fullmatch(pattern, name) and not self._is_own(name)
        )

    def _is_own(self, name: str) -> bool:
        environments = is_environments(name, self.project)
        return environments or name in self.written or name.startswith(RELAYS) or name.endswith(_OWN_SUFFIXES)


def written_topics(stored: Iterable[Materialization], environment: Environment | None) -> frozenset[str]:
    """Return the topics that models write in production; those of environments have names of their own."""
    prefix = "" if environment is None else environment.prefix
    return frozenset(kind.topic.removeprefix(prefix) for kind in stored if kind.topic)
