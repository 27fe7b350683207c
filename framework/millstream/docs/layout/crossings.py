"""How many pairs of edges cross between neighbouring columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def crossings(layers: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> int:
    return sum(between(upper, lower, below) for upper, lower in pairwise(layers))


def between(upper: Sequence[int], lower: Sequence[int], below: Sequence[Sequence[int]]) -> int:
    """Count by a tree of sums (Barth, Mutzel, Jünger): an edge crosses those from above that end below it."""
    place = {node: index for index, node in enumerate(lower)}
    size = 1
    while size < len(lower):
        size *= 2
    tree = [0] * (2 * size)
    found = 0
    for node in upper:
        ends = [place[each] for each in below[node] if each in place]
        for end in ends:
            at = end + size
            while at > 1:
                if at % 2 == 0:
                    found += tree[at + 1]
                at //= 2
        for end in ends:
            at = end + size
            while at >= 1:
                tree[at] += 1
                at //= 2
    return found
