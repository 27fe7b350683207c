"""Which band each node stands in: a band is a stripe from left to right that holds one cluster or more.

Clusters that share no column may stand side by side in one band: folders that are layers of a project stand
from left to right, folders that are pipelines of their own one below the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from millstream.docs.layout.layers import Layered
from millstream.docs.layout.values import Edge, Item

Span = tuple[int, int]
Partners = dict[int, Counter[int]]
"""How many edges a band has to each other one."""


def bands(items: Sequence[Item], edges: Sequence[Edge], graph: Layered) -> list[int]:
    """Return the number of each node's band, the upper ones first."""
    homes = _homes(items, graph)
    spans = _spans(zip(homes, graph.rank, strict=False))
    weights = _weights(edges, homes)
    track = _tracks(spans, weights)
    order = _ordered(track, weights)
    place = {number: index for index, number in enumerate(order)}
    found = [place[track[home]] for home in homes]
    return found + _of_bends(graph, found, spans, {name: place[number] for name, number in track.items()})


def _homes(items: Sequence[Item], graph: Layered) -> list[str]:
    """Return the cluster that each node goes with; one that would be inside its box goes next to it."""
    inner = _spans((item.cluster, graph.rank[node]) for node, item in enumerate(items) if item.cluster)
    found: list[str] = []
    for node, item in enumerate(items):
        first, last = inner.get(item.near, (0, -1))
        beside = not item.cluster and first <= graph.rank[node] <= last
        found.append(f"next to {item.near}" if beside else item.cluster or item.near)
    return found


def _spans(ranks: Iterable[tuple[str, int]]) -> dict[str, Span]:
    """Return the first and last column of each cluster, given those of its nodes."""
    found: dict[str, Span] = {}
    for home, rank in ranks:
        first, last = found.get(home, (rank, rank))
        found[home] = (min(first, rank), max(last, rank))
    return found


def _weights(edges: Sequence[Edge], homes: Sequence[str]) -> Counter[tuple[str, str]]:
    """Return how many edges join two clusters."""
    found: Counter[tuple[str, str]] = Counter()
    for source, target in edges:
        one, other = homes[source], homes[target]
        if one != other:
            found[one, other] += 1
            found[other, one] += 1
    return found


def _tracks(spans: Mapping[str, Span], weights: Counter[tuple[str, str]]) -> dict[str, int]:
    """Put each cluster into the band with most of its neighbours in which it shares no column with others."""
    found: dict[str, int] = {}
    members: list[list[str]] = []
    for name, (first, last) in sorted(spans.items(), key=lambda each: (each[1][0] - each[1][1], each[0])):
        best, most = None, 0
        for number, others in enumerate(members):
            if all(last < spans[each][0] or first > spans[each][1] for each in others):
                joined = sum(weights[name, each] for each in others)
                if joined > most:
                    best, most = number, joined
        if best is None:
            best = len(members)
            members.append([])
        members[best].append(name)
        found[name] = best
    return found


def _ordered(track: Mapping[str, int], weights: Counter[tuple[str, str]]) -> list[int]:
    """Return the bands in an order in which those that share many edges are close."""
    left = sorted(set(track.values()))
    partners: Partners = {each: Counter() for each in left}
    for (one, other), weight in weights.items():
        if track[one] != track[other]:
            partners[track[one]][track[other]] += weight
    order: list[int] = []
    # The edges of a band to bands that are placed already, and to the others.
    gain = dict.fromkeys(left, 0)
    rest = {each: sum(partners[each].values()) for each in left}
    while left:
        # The next band is the one with most edges to placed bands, or else the one with fewest edges.
        best = max(left, key=lambda each: (gain[each], rest[each] > 0, -rest[each], -each))
        order.append(best)
        left.remove(best)
        for near, weight in partners[best].items():
            gain[near] += weight
            rest[near] -= weight
    return _swapped(order, partners)


def _swapped(order: list[int], partners: Partners) -> list[int]:
    """Swap neighbours as long as edges between bands become shorter."""
    place = {each: index for index, each in enumerate(order)}

    def length(each: int) -> int:
        return sum(weight * abs(place[each] - place[other]) for other, weight in partners[each].items())

    for _ in range(len(order)):
        better = False
        for index in range(len(order) - 1):
            one, other = order[index], order[index + 1]
            before = length(one) + length(other)
            place[one], place[other] = index + 1, index
            if length(one) + length(other) < before:
                order[index], order[index + 1] = other, one
                better = True
            else:
                place[one], place[other] = index, index + 1
        if not better:
            break
    return order


def _of_bends(
    graph: Layered, band: Sequence[int], spans: Mapping[str, Span], bands_of: Mapping[str, int]
) -> list[int]:
    """Return the bands of bends: that where the edge begins, or the nearest that has the column."""
    present: dict[int, set[int]] = {}
    for name, (first, last) in spans.items():
        for rank in range(first, last + 1):
            present.setdefault(rank, set()).add(bands_of[name])
    found: list[int] = []
    for bend in range(graph.real, graph.count):
        before = graph.above[bend][0]
        near = band[before] if before < graph.real else found[before - graph.real]
        here = present.get(graph.rank[bend], set())
        if near not in here and here:
            near = min(here, key=lambda each: (abs(each - near), each))
        found.append(near)
    return found
