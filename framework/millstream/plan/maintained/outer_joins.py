"""Which relations of a FROM clause can be missing in a row, since an outer join found no match."""

from __future__ import annotations

from collections.abc import Collection

from millstream.plan.maintained.names import compared_relations
from millstream.sql.query import From, Select

HIDDEN = frozenset(("semi", "anti"))
"""Joins whose right side has no columns in the result."""


def nullable_aliases(query: Select) -> frozenset[str]:
    """Return the aliases of relations whose columns can all be NULL in a row."""
    aliases: set[str] = set()
    before: list[str] = []
    for relation in query.relations:
        if relation.join in {"left", "full"}:
            aliases.add(relation.alias)
        if relation.join in {"right", "full"}:
            aliases.update(before)
        if relation.join not in HIDDEN:
            before.append(relation.alias)
    return frozenset(aliases)


def required_aliases(query: Select) -> frozenset[str]:
    """Return the aliases of relations that are part of every row."""
    return frozenset(
        relation.alias for relation in query.relations if relation.join not in HIDDEN
    ) - nullable_aliases(query)


def is_possible(query: Select, present: frozenset[str], missing: frozenset[str]) -> bool:
    """Return whether a row can have some relations without others.

    NULL equals nothing, so a relation that is compared with a missing one finds no match.
    """
    missing = _missing_with(query, missing)
    if missing & (present | required_aliases(query)):
        return False
    for index, relation in enumerate(query.relations):
        if relation.join in {"right", "full"} and relation.alias in present and _compares(relation, missing):
            earlier = {other.alias for other in query.relations[:index]}
            if earlier & present:
                return False
    return True


def has_no_effect(query: Select, alias: str, missing: frozenset[str]) -> bool:
    """Return whether a relation matters to no row without these: NULL equals nothing."""
    relation = next(relation for relation in query.relations if relation.alias == alias)
    return relation.join in HIDDEN and _compares(relation, missing)


def _missing_with(query: Select, missing: frozenset[str]) -> frozenset[str]:
    aliases = set(missing)
    while True:
        more = {
            relation.alias
            for relation in query.relations
            if relation.join in {"inner", "cross", "left"}
            and relation.alias not in aliases
            and _compares(relation, aliases)
        }
        if not more:
            return frozenset(aliases)
        aliases |= more


def _compares(relation: From, missing: Collection[str]) -> bool:
    """Return whether a relation is joined by equality with a missing one."""
    pairs = (pair for condition in relation.on if (pair := compared_relations(condition)))
    return any(ref.relation in missing for pair in pairs for ref in pair)
