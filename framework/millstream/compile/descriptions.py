"""Lets columns inherit the description of the column that they pass on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from millstream.compile.manifest import ManifestColumn, ManifestNode


def inherit_descriptions(nodes: Iterable[ManifestNode]) -> Iterator[ManifestNode]:
    """Yield the nodes with inherited descriptions; each must come after those that it reads."""
    descriptions: dict[tuple[str, str], str] = {}
    for node in nodes:
        columns = tuple(
            replace(column, description=inherited)
            if not column.description and (inherited := _inherited(column, descriptions))
            else column
            for column in node.columns
        )
        descriptions |= {(node.id, column.name.lower()): column.description for column in columns}
        yield node if columns == node.columns else replace(node, columns=columns)


def _inherited(column: ManifestColumn, descriptions: dict[tuple[str, str], str]) -> str:
    """Return the common description of a column's origins; empty for a computed column."""
    if any(origin.kind != "direct" for origin in column.influences):
        return ""
    inherited = {
        descriptions.get((origin.relation, origin.column.lower()), "") for origin in column.influences
    }
    return inherited.pop() if len(inherited) == 1 else ""
