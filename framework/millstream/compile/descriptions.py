"""Lets columns inherit the description of the column that they pass on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from millstream.manifest import ManifestColumn, ManifestNode


def inherit_descriptions(nodes: Iterable[ManifestNode]) -> Iterator[ManifestNode]:
    """Yield the nodes with inherited descriptions; each must come after those that it reads."""
    known: dict[tuple[str, str], str] = {}
    for node in nodes:
        columns = tuple(
            replace(column, description=found)
            if not column.description and (found := _inherited(column, known))
            else column
            for column in node.columns
        )
        known |= {(node.id, column.name.lower()): column.description for column in columns}
        yield node if columns == node.columns else replace(node, columns=columns)


def _inherited(column: ManifestColumn, known: dict[tuple[str, str], str]) -> str:
    """Return the common description of a column's origins; empty for a computed column."""
    if any(origin.kind != "direct" for origin in column.influences):
        return ""
    found = {known.get((origin.relation, origin.column.lower()), "") for origin in column.influences}
    return found.pop() if len(found) == 1 else ""
