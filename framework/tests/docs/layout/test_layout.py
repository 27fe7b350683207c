"""Where nodes and edges stand."""

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.docs.layout.layers import split_layers
from millstream.docs.layout.layout import TITLE, apart_by, lay_out, rank_nodes
from millstream.docs.layout.order import count_crossings
from millstream.docs.layout.values import LayoutItem


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 24))
    pairs = [(a, b) for b in range(count) for a in range(b)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=40, unique=True)) if pairs else []
    names = st.sampled_from(["", "", "one", "two", "three"])
    items = [
        LayoutItem(draw(st.integers(40, 200)), draw(st.integers(20, 90)), draw(names)) for _ in range(count)
    ]
    return items, edges


def rectangles(items, layout):
    columns = layout.columns
    return [
        (columns[box.rank].x, box.y, columns[box.rank].x + item.width, box.y + box.height)
        for item, box in zip(items, layout.boxes, strict=True)
    ]


def meet(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@settings(max_examples=60)
@given(graphs())
def test_no_node_stands_on_another_and_all_are_within_the_picture(graph):
    items, edges = graph
    layout = lay_out(items, edges)
    boxes = rectangles(items, layout)
    assert not any(meet(one, other) for one, other in combinations(boxes, 2))
    assert all(
        x >= 0 and y >= 0 and right <= layout.width and low <= layout.height for x, y, right, low in boxes
    )


@settings(max_examples=60)
@given(graphs())
def test_edges_go_to_the_right_and_run_over_no_node(graph):
    items, edges = graph
    layout = lay_out(items, edges)
    for route in layout.routes:
        first, last = layout.boxes[route.source].rank, layout.boxes[route.target].rank
        assert len(route.ys) == last - first - 1
        for rank, y in zip(range(first + 1, last), route.ys, strict=True):
            assert not any(box.rank == rank and box.y < y < box.y + box.height for box in layout.boxes)


@settings(max_examples=60)
@given(graphs())
def test_boxes_of_clusters_hold_their_nodes_and_no_others(graph):
    items, edges = graph
    layout = lay_out(items, edges)
    boxes = rectangles(items, layout)
    frames = [(c.x, c.y, c.x + c.width, c.y + c.height) for c in layout.clusters]
    assert not any(meet(one, other) for one, other in combinations(frames, 2))
    for cluster, frame in zip(layout.clusters, frames, strict=True):
        for item, box in zip(items, boxes, strict=True):
            assert meet(frame, box) == (item.cluster == cluster.name)


@settings(max_examples=60)
@given(graphs())
def test_edges_may_go_down_instead(graph):
    items, edges = graph
    layout = lay_out(items, edges, down=True)
    # What is called a column is a row: its x is a y, and the boxes' y an x.
    boxes = [
        (box.y, layout.columns[box.rank].x, box.y + item.width, layout.columns[box.rank].x + item.height)
        for item, box in zip(items, layout.boxes, strict=True)
    ]
    assert not any(meet(one, other) for one, other in combinations(boxes, 2))
    assert all(
        x >= 0 and y >= 0 and right <= layout.height and low <= layout.width for x, y, right, low in boxes
    )
    frames = [(c.y, c.x, c.y + c.height, c.x + c.width) for c in layout.clusters]
    assert not any(meet(one, other) for one, other in combinations(frames, 2))
    for cluster, frame in zip(layout.clusters, frames, strict=True):
        for item, box in zip(items, boxes, strict=True):
            assert meet(frame, box) == (item.cluster == cluster.name)
            if item.cluster == cluster.name:
                assert box[1] - frame[1] >= TITLE


def test_a_chain_is_one_straight_line():
    items = [LayoutItem(100, 36)] * 4
    layout = lay_out(items, [(0, 1), (1, 2), (2, 3)])
    assert len({box.y for box in layout.boxes}) == 1
    assert [box.rank for box in layout.boxes] == [0, 1, 2, 3]


def test_a_source_stands_just_before_what_reads_it():
    assert rank_nodes(4, [(0, 1), (1, 2), (3, 2)]) == [0, 1, 2, 1]


def test_edges_of_one_node_share_their_way():
    graph = split_layers(4, [(0, 1), (1, 2), (2, 3), (0, 2), (0, 3)], [0, 1, 2, 3])
    assert graph.count == 6
    assert graph.chains[3] == graph.chains[4][:1]


def test_lines_that_need_not_cross_do_not():
    edges = [(0, 5), (1, 4), (2, 3)]
    layout = lay_out([LayoutItem(80, 30)] * 6, edges)
    heights = [(layout.boxes[a].y, layout.boxes[b].y) for a, b in edges]
    assert all((a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in combinations(heights, 2))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20, unique=True))
def test_crossings_are_counted_as_by_hand(pairs):
    below = [[7 + end for start, end in pairs if start == node] for node in range(7)] + [[]] * 7
    by_hand = sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(pairs, 2))
    assert count_crossings([range(7), range(7, 14)], below) == by_hand


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=12))
def test_heights_are_apart_and_in_order(heights):
    separated = apart_by([10.0] * (len(heights) - 1), heights, [1.0] * len(heights))
    assert all(lower - upper >= 10 - 1e-6 for upper, lower in pairwise(separated))
    if all(lower - upper >= 10 for upper, lower in pairwise(heights)):
        assert (
            separated == [round(height, 10) for height in heights]
            or max(abs(a - b) for a, b in zip(separated, heights, strict=True)) < 1e-6
        )


def test_an_empty_graph_is_an_empty_picture():
    layout = lay_out([], [])
    assert (layout.boxes, layout.width, layout.height) == ((), 0, 0)


def test_pipelines_in_folders_of_their_own_stand_one_below_the_other():
    items = [
        LayoutItem(90, 30, "a"),
        LayoutItem(90, 30, "a"),
        LayoutItem(90, 30, "b"),
        LayoutItem(90, 30, "b"),
    ]
    one, other = sorted(lay_out(items, [(0, 1), (2, 3)]).clusters, key=lambda cluster: cluster.y)
    assert one.y + one.height < other.y


def test_folders_that_are_layers_stand_side_by_side():
    items = [LayoutItem(90, 30, "first"), LayoutItem(90, 30, "second")]
    one, other = lay_out(items, [(0, 1)]).clusters
    assert (one.y, one.x + one.width < other.x) == (other.y, True)
