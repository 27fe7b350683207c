"""Splits each edge at the columns that it crosses, so that every piece joins neighbouring columns."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from millstream.docs.layout.values import Edge


class LayeredGraph(Struct):
    """Nodes from number `real` on are bends, where an edge crosses a column."""

    real: int
    rank: list[int]
    above: list[list[int]]
    below: list[list[int]]
    chains: list[tuple[int, ...]]
    """The bends of each edge."""

    @property
    def count(self) -> int:
        return len(self.rank)


def split_layers(count: int, edges: Sequence[Edge], rank: Sequence[int]) -> LayeredGraph:
    """Split the edges; edges of one node share bends as long as possible, for a calmer picture."""
    graph = LayeredGraph(count, list(rank), [[] for _ in rank], [[] for _ in rank], [])
    trunks: dict[tuple[int, int], int] = {}
    for source, target in edges:
        chain: list[int] = []
        last = source
        for column in range(rank[source] + 1, rank[target]):
            bend = trunks.get((source, column))
            if bend is None:
                bend = trunks[source, column] = graph.count
                graph.rank.append(column)
                graph.above.append([])
                graph.below.append([])
                _join(graph, last, bend)
            chain.append(bend)
            last = bend
        _join(graph, last, target)
        graph.chains.append(tuple(chain))
    return graph


def _join(graph: LayeredGraph, source: int, target: int) -> None:
    graph.below[source].append(target)
    graph.above[target].append(source)
