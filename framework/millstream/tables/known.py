"""The relations of a project that a query may name, including those that are not tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from millstream.errors import Diagnostic, did_you_mean
from millstream.manifest import ManifestNode
from millstream.materialization import KINDS, Materialization
from millstream.tables.words import mentions


class Known(Struct, frozen=True):
    id: str
    name: str
    """The name in SQL: `totals`, `shop.products`."""
    kind: str
    """`seed`, `reference`, `topic`, or the materialization of a model."""
    columns: tuple[tuple[str, str], ...] = ()
    """Names and types, according to the project."""
    options: dict[str, Any] = {}

    @property
    def stored(self) -> type[Materialization] | None:
        return KINDS.get(self.kind)

    @property
    def at_rest(self) -> bool:
        return self.stored.at_rest if self.stored is not None else self.kind in {"reference", "seed"}


def known_in(nodes: Iterable[ManifestNode]) -> dict[str, Known]:
    """Return the relations of a project by their names in lower case."""
    found = [
        Known(
            node.id,
            node.id.partition(".")[2],
            kind,
            tuple((column.name, column.type) for column in node.columns),
            node.config,
        )
        for node in nodes
        if (kind := _kind(node)) is not None
    ]
    return {known.name.lower(): known for known in found}


def _kind(node: ManifestNode) -> str | None:
    match node.kind:
        case "seed":
            return "seed"
        case "source":
            return "reference" if node.config.get("table") else "topic"
        case _:
            return node.materialization.word if node.materialization else None


def named_tables(sql: str, known: Mapping[str, Known]) -> list[Known]:
    """Return the tables and seeds that a query names, without duplicates; equal names of columns count."""
    found = (known.get(name.lower()) for name, _ in mentions(sql))
    return list({each.id: each for each in found if each is not None and each.at_rest}.values())


def missing_table(name: str, known: Mapping[str, Known]) -> Diagnostic:
    """Return why a query can't read a table of this name."""
    # `products` may mean `shop.products`.
    short = next((each for full, each in known.items() if full.endswith(f".{name.lower()}")), None)
    found = known.get(name.lower()) or (short if short and short.kind == "topic" else None)
    if found is None:
        tables = [each.name for each in known.values() if each.at_rest]
        listed = f"tables and seeds: {', '.join(tables) or 'none yet'}"
        remedy = f"did you mean '{short.name}'?" if short else did_you_mean(name, tables, listed)
        return Diagnostic("MS842", f"there is no table '{name}'", None, remedy)
    if found.kind == "reference":
        return _unstored_reference(found)
    if found.at_rest:
        remedy = f"build it first: `millstream build --select +{found.name}`"
        return Diagnostic("MS843", f"the table '{found.name}' has not been built", None, remedy)
    if found.stored is not None and not found.stored.stored_as:
        message = f"'{found.name}' is a view: its rows are not stored"
        remedy = f"see its newest rows with `millstream show {found.name}`, or materialize it as a table"
        return Diagnostic("MS844", message, None, remedy)
    remedy = f"read its records with `millstream consume {found.name}`"
    if found.stored is None:
        remedy += ", or set table: true in YAML"
    return Diagnostic("MS844", f"'{found.name}' is a Kafka topic, not a table", None, remedy)


def _unstored_reference(found: Known) -> Diagnostic:
    """Return why a reference topic is not a table; a join as of the time of a stream makes none of it."""
    message = f"'{found.name}' has not been built: no model that was built looks it up"
    if found.options.get("versions"):
        message += "; a stream that joins it FOR SYSTEM_TIME AS OF keeps the versions in its state"
    remedy = (
        f"build a model that looks it up, such as a table over it: `millstream build`; or see its records: "
        f"`millstream consume {found.name}`"
    )
    return Diagnostic("MS843", message, None, remedy)
