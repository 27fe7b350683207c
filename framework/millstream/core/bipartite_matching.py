"""Pairs things of two lists, of which each may fit several of the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def largest_matching(fits: Sequence[Collection[int]]) -> dict[int, int]:
    """Return the largest set of pairs in which each index occurs once: those of `fits`, by what they fit.

    This is a maximum bipartite matching, by augmenting paths.
    """
    owner: dict[int, int] = {}

    def assign(index: int, tried: set[int]) -> bool:
        for candidate in fits[index]:
            if candidate not in tried:
                tried.add(candidate)
                if candidate not in owner or assign(owner[candidate], tried):
                    owner[candidate] = index
                    return True
        return False

    for index in range(len(fits)):
        assign(index, set())
    return owner
