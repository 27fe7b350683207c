"""Which band each node stands in: a band is a stripe from left to right that holds one cluster or more.

Clusters that share no column may stand side by side in one band: folders that are layers of a project stand
from left to right, folders that are pipelines of their own one below the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from millstream.docs.layout.layers import LayeredGraph
from millstream.docs.layout.values import Edge, LayoutItem

Span = tuple[int, int]
Partners = dict[int, Counter[int]]
"""How many edges a band has to each other one."""


def assign_bands(items: Sequence[LayoutItem], edges: Sequence[Edge], graph: LayeredGraph) -> list[int]:
    """Return the number of each node's band, the upper ones first."""
    homes = _homes(items, graph)
    spans = _spans(zip(homes, graph.rank, strict=False))
    weights = _weights(edges, homes)
    track = _tracks(spans, weights)
    order = _ordered(track, weights)
    position = {number: index for index, number in enumerate(order)}
    node_bands = [position[track[home]] for home in homes]
    return node_bands + _of_bends(
        graph, node_bands, spans, {name: position[number] for name, number in track.items()}
    )


def _homes(items: Sequence[LayoutItem], graph: LayeredGraph) -> list[str]:
    """Return the cluster that each node goes with; one that would be inside its box goes next to it."""
    inner = _spans((item.cluster, graph.rank[node]) for node, item in enumerate(items) if item.cluster)
    homes: list[str] = []
    for node, item in enumerate(items):
        first, last = inner.get(item.near, (0, -1))
        is_inside = not item.cluster and first <= graph.rank[node] <= last
        homes.append(f"next to {item.near}" if is_inside else item.cluster or item.near)
    return homes


def _spans(ranks: Iterable[tuple[str, int]]) -> dict[str, Span]:
    """Return the first and last column of each cluster, given those of its nodes."""
    spans: dict[str, Span] = {}
    for home, rank in ranks:
        first, last = spans.get(home, (rank, rank))
        spans[home] = (min(first, rank), max(last, rank))
    return spans


def _weights(edges: Sequence[Edge], homes: Sequence[str]) -> Counter[tuple[str, str]]:
    """Return how many edges join two clusters."""
    weights: Counter[tuple[str, str]] = Counter()
    for source, target in edges:
        one, other = homes[source], homes[target]
        if one != other:
            weights[one, other] += 1
            weights[other, one] += 1
    return weights


def _tracks(spans: Mapping[str, Span], weights: Counter[tuple[str, str]]) -> dict[str, int]:
    """Put each cluster into the band with most of its neighbours in which it shares no column with others."""
    track: dict[str, int] = {}
    members: list[list[str]] = []
    for name, (first, last) in sorted(
        spans.items(), key=lambda cluster: (cluster[1][0] - cluster[1][1], cluster[0])
    ):
        best, most = None, 0
        for number, others in enumerate(members):
            if all(last < spans[other][0] or first > spans[other][1] for other in others):
                joined = sum(weights[name, other] for other in others)
                if joined > most:
                    best, most = number, joined
        if best is None:
            best = len(members)
            members.append([])
        members[best].append(name)
        track[name] = best
    return track


def _ordered(track: Mapping[str, int], weights: Counter[tuple[str, str]]) -> list[int]:
    """Return the bands in an order in which those that share many edges are close."""
    left = sorted(set(track.values()))
    partners: Partners = {band: Counter() for band in left}
    for (one, other), weight in weights.items():
        if track[one] != track[other]:
            partners[track[one]][track[other]] += weight
    order: list[int] = []
    # The edges of a band to bands that are placed already, and to the others.
    gain = dict.fromkeys(left, 0)
    rest = {band: sum(partners[band].values()) for band in left}
    while left:
        # The next band is the one with most edges to placed bands, or else the one with fewest edges.
        best = max(left, key=lambda band: (gain[band], rest[band] > 0, -rest[band], -band))
        order.append(best)
        left.remove(best)
        for near, weight in partners[best].items():
            gain[near] += weight
            rest[near] -= weight
    return _swapped(order, partners)


def _swapped(order: list[int], partners: Partners) -> list[int]:
    """Swap neighbours as long as edges between bands become shorter."""
    position = {band: index for index, band in enumerate(order)}

    def length(band: int) -> int:
        return sum(weight * abs(position[band] - position[other]) for other, weight in partners[band].items())

    for _ in range(len(order)):
        better = False
        for index in range(len(order) - 1):
            one, other = order[index], order[index + 1]
            before = length(one) + length(other)
            position[one], position[other] = index + 1, index
            if length(one) + length(other) < before:
                order[index], order[index + 1] = other, one
                better = True
            else:
                position[one], position[other] = index, index + 1
        if not better:
            break
    return order


def _of_bends(
    graph: LayeredGraph, band: Sequence[int], spans: Mapping[str, Span], bands_of: Mapping[str, int]
) -> list[int]:
    """Return the bands of bends: that where the edge begins, or the nearest that has the column."""
    present: dict[int, set[int]] = {}
    for name, (first, last) in spans.items():
        for rank in range(first, last + 1):
            present.setdefault(rank, set()).add(bands_of[name])
    bend_bands: list[int] = []
    for bend in range(graph.real, graph.count):
        before = graph.above[bend][0]
        near = band[before] if before < graph.real else bend_bands[before - graph.real]
        here = present.get(graph.rank[bend], set())
        if near not in here and here:
            near = min(here, key=lambda candidate: (abs(candidate - near), candidate))
        bend_bands.append(near)
    return bend_bands
