"""Which relations of a FROM clause can be missing in a row, since an outer join found no match."""

from __future__ import annotations

from collections.abc import Collection

from millstream.plan.maintained.names import equality
from millstream.sql.query import From, Select

HIDDEN = frozenset(("semi", "anti"))
"""Joins whose right side has no columns in the result."""


def nullable(query: Select) -> frozenset[str]:
    """Return the aliases of relations whose columns can all be NULL in a row."""
    found: set[str] = set()
    before: list[str] = []
    for each in query.relations:
        if each.join in {"left", "full"}:
            found.add(each.alias)
        if each.join in {"right", "full"}:
            found.update(before)
        if each.join not in HIDDEN:
            before.append(each.alias)
    return frozenset(found)


def always(query: Select) -> frozenset[str]:
    """Return the aliases of relations that are part of every row."""
    return frozenset(each.alias for each in query.relations if each.join not in HIDDEN) - nullable(query)


def is_possible(query: Select, present: frozenset[str], missing: frozenset[str]) -> bool:
    """Return whether a row can have some relations without others.

    NULL equals nothing, so a relation that is compared with a missing one finds no match.
    """
    missing = _missing_with(query, missing)
    if missing & (present | always(query)):
        return False
    for index, each in enumerate(query.relations):
        if each.join in {"right", "full"} and each.alias in present and _compares(each, missing):
            earlier = {other.alias for other in query.relations[:index]}
            if earlier & present:
                return False
    return True


def has_no_effect(query: Select, alias: str, missing: frozenset[str]) -> bool:
    """Return whether a relation matters to no row without these: NULL equals nothing."""
    given = next(each for each in query.relations if each.alias == alias)
    return given.join in HIDDEN and _compares(given, missing)


def _missing_with(query: Select, missing: frozenset[str]) -> frozenset[str]:
    found = set(missing)
    while True:
        more = {
            each.alias
            for each in query.relations
            if each.join in {"inner", "cross", "left"} and each.alias not in found and _compares(each, found)
        }
        if not more:
            return frozenset(found)
        found |= more


def _compares(given: From, missing: Collection[str]) -> bool:
    """Return whether a relation is joined by equality with a missing one."""
    pairs = (pair for condition in given.on if (pair := equality(condition)))
    return any(ref.relation in missing for pair in pairs for ref in pair)
