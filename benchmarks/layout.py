"""How good layouts are: `uv run python benchmarks/layout.py`.

Graphs of generated shapes are laid out as the site does it, and naively: the same columns, nodes in the order in
which they come, evenly apart. Counted are crossings of edges, their length in pixels, how far they go up and
down, and the seconds that it takes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import NamedTuple

from millstream.docs.layout.layers import split_layers
from millstream.docs.layout.layout import lay_out, rank_nodes
from millstream.docs.layout.order import count_crossings
from millstream.docs.layout.values import Layout, LayoutItem

HEIGHT, BETWEEN, GAP = 36, 14, 84


class Graph(NamedTuple):
    name: str
    items: list[LayoutItem]
    edges: list[tuple[int, int]]


class Quality(NamedTuple):
    crossings: int
    length: float
    climbs: float


def graphs(random: Random) -> Iterator[Graph]:
    """Yield pipelines side by side, stars around few sources, layers as of a warehouse, and pure chance."""
    for count in (50, 300, 1000):
        yield Graph(f"pipelines {count}", *_pipelines(random, count))
        yield Graph(f"stars {count}", *_stars(random, count))
        yield Graph(f"layers {count}", *_layers(random, count))
        yield Graph(f"chance {count}", *_chance(random, count))


def _items(random: Random, count: int) -> list[LayoutItem]:
    return [LayoutItem(random.randrange(90, 220), HEIGHT) for _ in range(count)]


def _shuffled(random: Random, count: int, edges: list[tuple[int, int]]):
    """Number nodes by chance, so that the naive layout does not profit from the order of making."""
    number = list(range(count))
    random.shuffle(number)
    return _items(random, count), [(number[a], number[b]) for a, b in edges]


def _pipelines(random: Random, count: int):
    edges = []
    for node in range(1, count):
        if node % 8:
            edges.append((node - 1, node))
            if random.random() < 0.25:
                edges.append((random.randrange(node - node % 8, node), node))
    return _shuffled(random, count, edges)


def _stars(random: Random, count: int):
    hubs = max(2, count // 25)
    edges = [(random.randrange(hubs), node) for node in range(hubs, count)]
    edges += [(random.randrange(hubs, count - 1), count - 1) for _ in range(5)]
    return _shuffled(random, count, edges)


def _layers(random: Random, count: int):
    width = max(2, count // 6)
    edges = []
    for node in range(width, count):
        first = (node // width - 1) * width
        near = [first + node % width + random.randrange(-4, 5) for _ in range(2)]
        edges += [(max(first, min(first + width - 1, neighbour)), node) for neighbour in near]
    return _shuffled(random, count, edges)


def _chance(random: Random, count: int):
    edges = [(random.randrange(node), node) for node in range(count // 10, count) for _ in range(2) if node]
    return _shuffled(random, count, edges)


def ours(graph: Graph) -> Quality:
    layout = lay_out(graph.items, graph.edges)
    edges = sorted(set(graph.edges))
    parts = split_layers(len(graph.items), edges, rank_nodes(len(graph.items), edges))
    heights = _heights(layout, parts.chains, parts.count)
    columns = parts.layers()
    for column in columns:
        column.sort(key=heights.__getitem__)
    return Quality(count_crossings(columns, parts.below), *_lengths(layout))


def _heights(layout: Layout, chains: list[tuple[int, ...]], count: int) -> list[float]:
    heights = [0.0] * count
    for node, box in enumerate(layout.boxes):
        heights[node] = box.y + box.height / 2
    for route, chain in zip(layout.routes, chains, strict=True):
        for bend, y in zip(chain, route.ys, strict=True):
            heights[bend] = y
    return heights


def _lengths(layout: Layout) -> tuple[float, float]:
    length = climbs = 0.0
    for route in layout.routes:
        one, other = layout.boxes[route.source], layout.boxes[route.target]
        ys = [one.y + one.height / 2, *route.ys, other.y + other.height / 2]
        climbs += sum(abs(a - b) for a, b in pairwise(ys))
        length += sum(((a - b) ** 2 + GAP**2) ** 0.5 for a, b in pairwise(ys))
    return length, climbs


def naive(graph: Graph) -> Quality:
    edges = sorted(set(graph.edges))
    parts = split_layers(len(graph.items), edges, rank_nodes(len(graph.items), edges))
    columns = parts.layers()
    heights = [0.0] * parts.count
    for column in columns:
        for row, node in enumerate(column):
            heights[node] = row * (HEIGHT + BETWEEN)
    length = climbs = 0.0
    for (source, target), chain in zip(edges, parts.chains, strict=True):
        for a, b in pairwise((source, *chain, target)):
            climbs += abs(heights[a] - heights[b])
            length += ((heights[a] - heights[b]) ** 2 + GAP**2) ** 0.5
    return Quality(count_crossings(columns, parts.below), length, climbs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    print(f"{'':16} {'crossings':>21} {'length':>23} {'up and down':>23} {'seconds':>8}")
    for graph in graphs(Random(parser.parse_args().seed)):
        before = time.perf_counter()
        lay_out(graph.items, graph.edges)
        seconds = time.perf_counter() - before
        cells = [
            f"{plain:>9,.0f} → {good:<9,.0f}" for plain, good in zip(naive(graph), ours(graph), strict=True)
        ]
        print(f"{graph.name:16} {'  '.join(cells)} {seconds:8.2f}")


if __name__ == "__main__":
    main()
