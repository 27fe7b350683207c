"""What a test can give of each relation: its columns, and metadata of its records."""

from __future__ import annotations

from msgspec import Struct

from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.from_sql.plan import StandIn, traits_of_models
from millstream.plan.nodes import Column
from millstream.testing.units.values import DELETED
from millstream.types import Type

RECORD = ("_key", "_partition", "_timestamp", "_headers", "_value")
"""What can be given of a record; `_value` are its bytes, whatever a format makes of them."""


class Relation(Struct, frozen=True):
    id: str
    columns: dict[str, Type]
    """By name, those that rows can give."""
    derived: dict[str, str] = {}
    """Columns that are calculated when a record is decoded, and what from."""
    about: tuple[str, ...] = ()
    """Names besides the columns."""

    def column(self, name: str) -> str | None:
        """Return the column of a name in any case."""
        folded = name.lower()
        return next((each for each in self.columns if each.lower() == folded), None)


class Relations:
    """What a compiled project has."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.traits = traits_of_models(catalog)

    def stand_in(self, id_: str) -> StandIn:
        return StandIn(self.catalog.models[id_], self.traits[id_])

    def find(self, id_: str) -> Relation | None:
        """Return a relation by its id; `model.x` is a seed where no model has that name."""
        if id_ in self.catalog.topics:
            return self._topic(id_)
        if id_ in self.catalog.models:
            changing = self.traits[id_].mode == "upsert"
            return Relation(
                id_, _typed(self.catalog.models[id_].columns), about=(DELETED,) if changing else ()
            )
        seed = f"seed.{id_.partition('.')[2]}"
        if seed in self.catalog.seeds:
            return Relation(seed, _typed(self.catalog.seeds[seed].columns))
        return None

    def _topic(self, id_: str) -> Relation:
        topic = self.catalog.topics[id_]
        columns = _typed((topic.key,) if topic.key else ()) | _typed(topic.fields)
        derived = {name: ", ".join(sorted(each.columns)) for name, each in topic.derived}
        return Relation(id_, columns, derived, RECORD)


def _typed(columns: tuple[Column, ...]) -> dict[str, Type]:
    return {column.name: column.type for column in columns}
