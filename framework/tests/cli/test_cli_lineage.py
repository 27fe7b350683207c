"""`millstream lineage`."""

import pytest

from millstream.cli.tree import draw_lineage
from millstream.compile.lineage.draw import draw_diagram
from millstream.compile.lineage.find import find_end, lineage_of, whole_graph
from millstream.compile.lineage.values import Lineage, LineageEdge, LineageEnd
from millstream.compile.manifest import Influence, Manifest, ManifestColumn, ManifestNode
from millstream.core.diagram import write_dot, write_mermaid
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId


def node(id_: str, depends_on=(), columns=(), influences=()) -> ManifestNode:
    kind, _, name = id_.partition(".")
    return ManifestNode(
        id=NodeId.parse(id_),
        kind=kind,
        name=name.rpartition(".")[2],
        path=f"{name}.sql",
        fqn=("shop", name),
        depends_on=tuple(map(NodeId.parse, depends_on)),
        columns=tuple(columns),
        influences=tuple(
            Influence(NodeId.parse(relation), column, kind) for relation, column, kind in influences
        ),
    )


def column(name: str, *influences: tuple[str, str, str]) -> ManifestColumn:
    return ManifestColumn(
        name,
        "bigint",
        influences=tuple(
            Influence(NodeId.parse(relation), column, kind) for relation, column, kind in influences
        ),
    )


def manifest(*nodes: ManifestNode) -> Manifest:
    return Manifest(1, "0", "shop", "local", {n.id: n for n in nodes}, {})


SHOP = manifest(
    node("source.web.clicks", columns=[column("amount"), column("kind")]),
    node(
        "model.a",
        ["source.web.clicks"],
        [column("amount", ("source.web.clicks", "amount", "direct"))],
        [("source.web.clicks", "kind", "filter")],
    ),
    node("model.b", ["model.a"], [column("total", ("model.a", "amount", "computed"))]),
    node("model.c", ["model.a", "model.b"], [column("total", ("model.b", "total", "direct"))]),
    node("test.t", ["model.a"]),
)


def lines(lineage: Lineage) -> list[str]:
    return draw_lineage(lineage).plain.splitlines()


def test_nodes_above_and_below():
    assert lines(lineage_of(SHOP, LineageEnd(NodeId("model", "b")))) == [
        "model.b",
        "upstream",
        "└── model.a",
        "    └── source.web.clicks",
        "downstream",
        "└── model.c",
    ]


def test_what_was_drawn_is_not_drawn_again():
    assert lines(lineage_of(SHOP, LineageEnd(NodeId("model", "c")), downstream=False)) == [
        "model.c",
        "upstream",
        "├── model.a",
        "│   └── source.web.clicks",
        "└── model.b",
        "    └── model.a  (see above)",
    ]


def test_depth_limits_the_steps():
    assert lines(lineage_of(SHOP, LineageEnd(NodeId("model", "b")), downstream=False, depth=1))[1:] == [
        "upstream",
        "└── model.a",
    ]


def test_a_column_with_the_kinds_of_its_influences():
    assert lines(lineage_of(SHOP, LineageEnd(NodeId("model", "c"), "total"))) == [
        "model.c.total",
        "upstream",
        "└── direct model.b.total",
        "    └── computed model.a.amount",
        "        ├── direct source.web.clicks.amount",
        "        └── filter source.web.clicks.kind",
    ]


def test_what_a_column_decides_downstream():
    lineage = lineage_of(SHOP, LineageEnd(NodeId("source", "web.clicks"), "kind"))
    assert lineage.downstream == (
        LineageEdge(
            LineageEnd(NodeId("source", "web.clicks"), "kind"), LineageEnd(NodeId("model", "a")), "filter"
        ),
    )


def test_a_values_way_downstream():
    assert lines(lineage_of(SHOP, LineageEnd(NodeId("source", "web.clicks"), "amount"))) == [
        "source.web.clicks.amount",
        "downstream",
        "└── direct model.a.amount",
        "    └── computed model.b.total",
        "        └── direct model.c.total",
    ]


def test_the_whole_graph_begins_at_its_tops_and_leaves_tests_out():
    lineage = whole_graph(
        manifest(*SHOP.nodes.values(), node("seed.alone")), [*SHOP.nodes, NodeId("seed", "alone")]
    )
    assert lines(lineage) == [
        "source.web.clicks",
        "└── model.a",
        "    ├── model.b",
        "    │   └── model.c",
        "    └── model.c",
        "seed.alone",
    ]


def test_a_deep_graph_needs_no_deep_stack():
    deep = manifest(*(node(f"model.m{i}", [f"model.m{i - 1}"] if i else []) for i in range(3000)))
    assert len(lines(lineage_of(deep, LineageEnd(NodeId("model", "m2999"))))) == 3001


def test_mermaid_escapes_names():
    lineage = Lineage(
        None,
        (),
        (LineageEdge(LineageEnd(NodeId("model", '"a"')), LineageEnd(NodeId("model", "b"), "x#1"), "filter"),),
    )
    assert write_mermaid(draw_diagram(lineage)).splitlines() == [
        "flowchart LR",
        '  n0["model.#34;a#34;"]',
        '  n1["model.b.x#35;1"]',
        "  n0 -->|filter| n1",
    ]


def test_dot_escapes_names():
    lineage = Lineage(
        None, (), (LineageEdge(LineageEnd(NodeId("model", '"a"')), LineageEnd(NodeId("model", "b\\"))),)
    )
    assert '  "model.\\"a\\"" -> "model.b\\\\";' in write_dot(draw_diagram(lineage)).splitlines()


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("a", LineageEnd(NodeId("model", "a"))),
        ("model.a", LineageEnd(NodeId("model", "a"))),
        ("clicks", LineageEnd(NodeId("source", "web.clicks"))),
        ("web.clicks", LineageEnd(NodeId("source", "web.clicks"))),
        ("a.AMOUNT", LineageEnd(NodeId("model", "a"), "amount")),
        ("source.web.clicks.kind", LineageEnd(NodeId("source", "web.clicks"), "kind")),
    ],
)
def test_names_that_people_use(name, end):
    assert find_end(SHOP, name) == end


@pytest.mark.parametrize(
    ("name", "message", "remedy"),
    [
        ("clickz", "there is no model, source or seed 'clickz'", "did you mean 'clicks'?"),
        ("a.amont", "model.a has no column 'amont'", "did you mean 'amount'?"),
        ("zzz.qqq", "there is no model, source or seed 'zzz.qqq'", "`millstream ls` lists all names"),
    ],
)
def test_unknown_names_have_a_remedy(name, message, remedy):
    with pytest.raises(MillstreamError) as caught:
        find_end(SHOP, name)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message, diagnostic.help) == ("MS705", message, remedy)


def test_the_command_for_a_column(run, shop):
    assert run("lineage", "totals.total").out.splitlines() == [
        "model.totals.total  bigint",
        "upstream",
        "├── computed model.stg_clicks.amount  bigint",
        "│   ├── direct source.web.clicks.amount  bigint",
        "│   └── filter source.web.clicks.kind  string",
        "└── group model.stg_clicks.user_id  string",
    ]


def test_the_command_for_all_of_a_selection(run, shop):
    assert run("lineage", "--exclude", "source:web").out.splitlines() == [
        "model.stg_clicks",
        "└── model.totals  table",
    ]


def test_json(run, shop):
    output = run("lineage", "totals", "--format", "json", "--upstream", "--depth", "1").json
    assert output["root"] == {"id": "model.totals", "node": "model.totals", "column": None}
    assert output["upstream"] == [{"parent": "model.stg_clicks", "child": "model.totals", "kind": None}]
    assert output["downstream"] == []


def test_a_name_and_a_selection_are_too_much(run, shop):
    assert "error[MS701]" in run("lineage", "totals", "--select", "totals").err
