"""How far errors reach: what they leave unknown in the models that read a wrong one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.project.values import Reference
from millstream.sql.values import InputRelation


class ErrorReach:
    """The models that errors make uncertain; each is added after those that it reads."""

    def __init__(self, relations: Mapping[str, InputRelation]) -> None:
        self._relations = relations
        self._without_columns: set[str] = set()
        """Models with errors, and those whose columns depend on them."""
        self._without_types: set[str] = set()
        """Models with errors, and all that read them: types of their columns may be unknown."""

    def add(self, model: str, references: Iterable[Reference]) -> None:
        """Add a model before it is analyzed."""
        if self.reaches_types(references):
            self._without_types.add(model)

    def lose_columns(self, model: str) -> None:
        """Note that the columns of a model are unknown because of an error."""
        self._without_columns.add(model)
        self._without_types.add(model)

    def has_lost_columns(self, model: str) -> bool:
        return model in self._without_columns

    def reaches_columns(self, references: Iterable[Reference]) -> bool:
        """Whether an input has unknown columns because of an error elsewhere."""
        return any(
            each.id in self._without_columns or (each.id.startswith("source.") and self._is_open(each.id))
            for each in references
        )

    def reaches_types(self, references: Iterable[Reference]) -> bool:
        """Whether types of an input may be unknown because of an error elsewhere."""
        return any(each.id in self._without_types or self._is_open(each.id) for each in references)

    def _is_open(self, id_: str) -> bool:
        relation = self._relations.get(id_)
        return relation is None or relation.open
