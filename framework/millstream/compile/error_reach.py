"""How far errors reach: what they leave unknown in the models that read a wrong one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from millstream.compile.node import Model
from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.project.values import NodeReference, Project
from millstream.sql.values import InputRelation


class ErrorReach:
    """The models that errors make uncertain; each is added after those that it reads."""

    def __init__(self, relations: Mapping[NodeId, InputRelation]) -> None:
        self._relations = relations
        self._without_columns: set[NodeId] = set()
        """Models with errors, and those whose columns depend on them."""
        self._without_types: set[NodeId] = set()
        """Models with errors, and all that read them: types of their columns may be unknown."""

    def before(self, model: NodeId, relations: Mapping[NodeId, InputRelation]) -> ErrorReach:
        """Return what is known without a model, with other relations."""
        other = ErrorReach(relations)
        other._without_columns = self._without_columns - {model}
        other._without_types = self._without_types - {model}
        return other

    def add(self, model: NodeId, references: Iterable[NodeReference]) -> None:
        """Add a model before it is analyzed."""
        if self.reaches_types(references):
            self._without_types.add(model)

    def lose_columns(self, model: NodeId) -> None:
        """Note that the columns of a model are unknown because of an error."""
        self._without_columns.add(model)
        self._without_types.add(model)

    def has_lost_columns(self, model: NodeId) -> bool:
        return model in self._without_columns

    def reaches_columns(self, references: Iterable[NodeReference]) -> bool:
        """Whether an input has unknown columns because of an error elsewhere."""
        return any(
            reference.id in self._without_columns
            or (reference.id.kind == "source" and self._is_open(reference.id))
            for reference in references
        )

    def reaches_types(self, references: Iterable[NodeReference]) -> bool:
        """Whether types of an input may be unknown because of an error elsewhere."""
        return any(
            reference.id in self._without_types or self._is_open(reference.id) for reference in references
        )

    def _is_open(self, id_: NodeId) -> bool:
        relation = self._relations.get(id_)
        return relation is None or relation.open


_OF_COLUMNS = frozenset(("MS402", "MS403", "MS407", "MS409", "MS411", "MS412", "MS414"))
"""Errors of names and types, which are uncertain where models read each other in a cycle."""


def may_follow(
    model: NodeId, diagnostic: Diagnostic, unordered: AbstractSet[NodeId], unplanned: AbstractSet[NodeId]
) -> bool:
    """Whether an error or warning of a model may follow from a cycle, or from how a topic is declared."""
    of_plan = diagnostic.code.startswith("MS5") and diagnostic.code != "MS501"
    if model in unordered:
        return of_plan or diagnostic.code in _OF_COLUMNS
    return model in unplanned and of_plan


def misdeclared_topics(project: Project, diagnostics: Iterable[Diagnostic]) -> set[NodeId]:
    """Return the topics with errors in their declarations, which may have lost columns or a watermark."""
    lines: dict[str, list[tuple[int, NodeId]]] = {}
    for topic in project.sources.values():
        lines.setdefault(topic.location.path, []).append((topic.location.line, NodeId("source", topic.id)))
    topics: set[NodeId] = set()
    for diagnostic in diagnostics:
        if diagnostic.severity == "error" and diagnostic.location is not None:
            above = [
                one for one in lines.get(diagnostic.location.path, ()) if one[0] <= diagnostic.location.line
            ]
            # Before the first topic stands what is of their source.
            same_file = lines.get(diagnostic.location.path, ())
            topics |= {max(above)[1]} if above else {id_ for _, id_ in same_file}
    return topics


def readers_of(topics: AbstractSet[NodeId], models: Iterable[Model], order: Iterable[NodeId]) -> set[NodeId]:
    """Return the models that read topics, directly or by other models."""
    inputs = {model.id: {reference.id for reference in model.references} for model in models}
    reached = set(topics)
    for id_ in order:
        if not reached.isdisjoint(inputs.get(id_, ())):
            reached.add(id_)
    return reached - topics
