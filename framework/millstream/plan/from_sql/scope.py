"""The columns that the expressions of one SELECT can read."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.core.expressions import Expression, Ref, replace_columns
from millstream.plan.nodes import Column, Item, Node


class PlanScope:
    """Maps aliases and columns of a SELECT to columns of the plan."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str], Column] = {}
        """By alias and column, both in lower case, the column of the node."""

    def add(self, alias: str, column: str, node_column: Column) -> None:
        self.names[alias.lower(), column.lower()] = node_column

    def rename(self, renamed: dict[str, Column]) -> None:
        """Replace the columns of a node by those of the node above it."""
        self.names = {
            key: renamed.get(node_column.name, node_column) for key, node_column in self.names.items()
        }

    def bind(self, expression: Expression) -> Expression:
        """Return an expression over the node's columns."""
        return replace_columns(expression, self._of)

    def bind_all(self, expressions: Iterable[Expression]) -> tuple[Expression, ...]:
        return tuple(map(self.bind, expressions))

    def _of(self, ref: Ref) -> Expression | None:
        node_column = self.names.get((ref.relation.lower(), ref.column.lower()))
        return node_column.expression if node_column else None


def unused_name(name: str, used: Iterable[str], prefix: str = "") -> str:
    """Return an unused name, ignoring case."""
    return added_name(name, {used_name.lower() for used_name in used}, prefix)


def added_name(name: str, folded: set[str], prefix: str = "") -> str:
    """Return an unused name, and add it to those that are used, in lower case."""
    candidate = name
    if candidate.lower() in folded and prefix:
        candidate = f"{prefix}_{name}"
    while candidate.lower() in folded:
        candidate += "_"
    folded.add(candidate.lower())
    return candidate


def identity_items(node: Node) -> list[Item]:
    """Return items that pass on a node's columns."""
    return [column.item for column in node.columns]
