"""The dependency graph, its walks and its cycles."""

import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.compile.graph import Graph, GraphNode, build_graph, find_cycles, walk_graph
from millstream.core.cycles import shortest_cycles
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.text import Location


def models(edges: Mapping[str, list[str]]) -> dict[NodeId, GraphNode]:
    """Make models of `{child: parents}`."""
    return {
        NodeId("model", name): GraphNode(
            id=NodeId("model", name),
            kind="model",
            name=name,
            path=f"models/{name}.sql",
            fqn=("shop", name),
            depends_on=tuple(NodeId("model", parent) for parent in parents),
        )
        for name, parents in edges.items()
    }


def graph(edges: Mapping[str, list[str]]) -> Graph:
    return build_graph(models(edges))


def test_order_is_topological_and_sorted_within_a_level():
    dag = graph({"z": [], "b": ["z", "a"], "a": [], "c": ["b"], "d": ["a"]})
    assert dag.levels == (("model.a", "model.z"), ("model.b", "model.d"), ("model.c",))
    assert dag.order == ("model.a", "model.z", "model.b", "model.d", "model.c")


def test_the_order_of_the_nodes_does_not_matter():
    assert graph({"a": [], "b": ["a"], "c": ["a"]}) == graph({"c": ["a"], "b": ["a"], "a": []})


def test_parents_and_children_are_sorted_and_named_once():
    dag = graph({"a": [], "b": [], "c": ["b", "a", "b"]})
    assert dag.parents["model.c"] == ("model.a", "model.b")
    assert dag.children == {"model.a": ("model.c",), "model.b": ("model.c",), "model.c": ()}


def test_what_nobody_defines_is_left_out():
    dag = graph({"a": ["missing"]})
    assert dag.parents == {"model.a": ()}


def test_depth_limits_ancestors_and_descendants():
    dag = graph({"a": [], "b": ["a"], "c": ["b"], "d": ["c", "a"]})
    assert dag.ancestors(NodeId("model", "d")) == {"model.a", "model.b", "model.c"}
    assert walk_graph((NodeId("model", "d"),), dag.parents, 1) == {"model.a", "model.c"}
    assert walk_graph((NodeId("model", "a"),), dag.children, 1) == {"model.b", "model.d"}
    assert walk_graph((NodeId("model", "a"),), dag.children, 0) == frozenset()


def test_a_cycle_is_shown_as_a_path_with_files_at_the_ref():
    positions = {("model.a", "model.b"): Location("models/a.sql", 3, 8, 20)}
    nodes = models({"a": ["b"], "b": ["a"], "c": []})
    (diagnostic,) = find_cycles(nodes, lambda child, parent: positions.get((child, parent)))
    assert diagnostic.code == "MS501"
    assert "model.a (models/a.sql) → model.b (models/b.sql) → model.a" in diagnostic.message
    assert diagnostic.location == Location("models/a.sql", 3, 8, 20)


def test_the_other_refs_of_a_cycle_are_notes():
    nodes = models({"a": ["b"], "b": ["c"], "c": ["a"]})
    (diagnostic,) = find_cycles(nodes, lambda child, _parent: Location(f"{child}.sql", 1, 1, 2))
    assert [note.location.path for note in diagnostic.notes if note.location] == [
        "model.b.sql",
        "model.c.sql",
    ]


def test_a_model_that_refs_itself_is_a_cycle():
    (diagnostic,) = find_cycles(models({"a": ["a"]}))
    assert diagnostic.message == "model.a depends on itself: model.a (models/a.sql) → model.a"


def test_all_independent_cycles_are_reported_by_their_shortest_path():
    edges = {
        "a": ["b"],
        "b": ["c"],
        "c": ["a", "b"],
        "d": ["e", "a"],
        "e": ["d"],
        "f": ["f", "e"],
        "g": ["f"],
    }
    paths = shortest_cycles(edges)
    assert paths == [("b", "c"), ("d", "e"), ("f",)]


def test_a_cycle_is_the_users_error():
    with pytest.raises(MillstreamError) as caught:
        graph({"a": ["b"], "b": ["a"]})
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["MS501"]


def test_a_long_cycle_is_cut_short_in_its_message():
    (diagnostic,) = find_cycles(models({f"m{i:02}": [f"m{(i + 1) % 30:02}"] for i in range(30)}))
    assert (
        "model.m09 (models/m09.sql) → … 19 more … → model.m29 (models/m29.sql) → model.m00"
        in diagnostic.message
    )
    assert diagnostic.message.startswith("30 nodes")


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n)
    )
)
def test_cycles_agree_with_mutual_reachability(rows):
    edges = {str(i): [str(j) for j in row] for i, row in enumerate(rows)}
    reachable = {node: set(others) for node, others in edges.items()}
    for _ in edges:
        reachable = {n: o.union(*(reachable[m] for m in o)) for n, o in reachable.items()}
    knots = {frozenset(m for m in edges if m in reachable[n] and n in reachable[m]) for n in edges} - {
        frozenset()
    }
    paths = shortest_cycles(edges)
    for cycle in paths:
        assert all(b in edges[a] for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
    assert sum(len(cycle) > 1 for cycle in paths) == sum(len(knot) > 1 for knot in knots)
    assert [cycle for cycle in paths if len(cycle) == 1] == [(n,) for n in edges if n in edges[n]]


@pytest.mark.parametrize("shape", ["chain", "ring", "dense ring"])
def test_five_thousand_nodes_are_fast_and_do_not_recurse(shape):
    size = 5000
    edges = {f"m{i:04}": [f"m{i - 1:04}"] if i else [] for i in range(size)}
    if shape != "chain":
        edges["m0000"] = [f"m{size - 1:04}"]
    if shape == "dense ring":
        edges = {f"m{i:04}": [f"m{(i + k) % size:04}" for k in range(1, 4)] for i in range(size)}
    nodes = models(edges)
    start = time.process_time()
    diagnostics = find_cycles(nodes)
    assert time.process_time() - start < 3
    assert len(diagnostics) == (shape != "chain")
    if shape == "chain":
        assert build_graph(nodes).order[-1] == "model.m4999"
