"""The columns that the expressions of one SELECT can read, and the node that has them."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.expressions import Expression, Ref, column, replace_columns
from millstream.plan.nodes import Column, Item, Node


class Scope:
    """Aliases and columns of a SELECT under the names that they have in the plan."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str], Column] = {}
        """(alias, column), both in lower case, to the column of the node."""

    def add(self, alias: str, column: str, found: Column) -> None:
        self.names[alias.lower(), column.lower()] = found

    def rename(self, renamed: dict[str, Column]) -> None:
        """Follow the columns of a node to those of one above it."""
        self.names = {key: renamed.get(found.name, found) for key, found in self.names.items()}

    def bind(self, expression: Expression) -> Expression:
        """Let an expression read the node's columns."""
        return replace_columns(expression, self._of)

    def bind_all(self, expressions: Iterable[Expression]) -> tuple[Expression, ...]:
        return tuple(map(self.bind, expressions))

    def _of(self, ref: Ref) -> Expression | None:
        found = self.names.get((ref.relation.lower(), ref.column.lower()))
        return column(found.name, found.type, nullable=found.nullable) if found else None


def unused(name: str, used: Iterable[str], prefix: str = "") -> str:
    """Return a name that is not used yet, in any case."""
    folded = {each.lower() for each in used}
    candidate = name
    if candidate.lower() in folded and prefix:
        candidate = f"{prefix}_{name}"
    while candidate.lower() in folded:
        candidate += "_"
    return candidate


def kept(node: Node) -> list[Item]:
    """Return the items that keep a node's columns as they are."""
    return [Item(c.name, column(c.name, c.type, nullable=c.nullable)) for c in node.columns]
