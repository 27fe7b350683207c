"""Drawings and explanations in each format: golden files (UPDATE_GOLDEN=1 rewrites them), and their grammar."""

import json
import os
import re
from pathlib import Path

import pytest
import shop_plan
from msgspec.structs import replace
from shop_plan import named, stored
from support.plans import sql, topic, where

from millstream.core import diagram as diagrams
from millstream.core.node_id import NodeId
from millstream.explain.explanation import Explanation, ExplanationContext, explain_plans, explain_step
from millstream.explain.formats.diagram import draw_diagram
from millstream.explain.formats.json import as_data
from millstream.explain.formats.kafka_streams import kafka_streams
from millstream.explain.formats.text import count_cells, format_explanation, format_lines
from millstream.explain.opaque import OpaqueSql
from millstream.explain.queries import ExplainedQuery, SeparationReason
from millstream.explain.topology import Drawing, draw_plan
from millstream.plan.nodes import Plan
from millstream.plan.optimizer.context import PlanChange
from millstream.plan.optimizer.driver import OptimizedPlan, RuleStep


def mermaid(drawing: Drawing) -> str:
    return diagrams.write_mermaid(draw_diagram(drawing))


def dot(drawing: Drawing) -> str:
    return diagrams.write_dot(draw_diagram(drawing))


GOLDEN = Path(__file__).parent / "golden"
ABOUT = ExplanationContext(
    project="shop",
    target="local",
    hints=shop_plan.HINTS,
    queries=(
        ExplainedQuery("scored_and_clicks", "stateless", ("scored", "clicks"), ("events", "products"), "append", sql="select 1"),
        ExplainedQuery("counts", "stateful", ("counts",), ("events",), "update", ("counts keeps state",), "16 bytes a key"),
    ),
    separations=(SeparationReason("counts", "it keeps state, which stateless models don't share"),),
    unsupported=(
        OpaqueSql(
            "odd", "models/odd.sql", "target/compiled/models/odd.sql", 4, "GROUP BY CUBE", "cube(a, b)",
            "one model for each grouping, with a GROUP BY of its own",
        ),
    ),
)  # fmt: skip


def shop() -> Explanation:
    return explain_plans(shop_plan.optimized_plan(), ABOUT)


def golden(name: str, shown: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(shown + "\n", encoding="utf-8")
    assert shown + "\n" == path.read_text(encoding="utf-8")


EVIL = 'it\'s "q" \\ <b>x</b> {a} [b] (c) |d| #35; --> end & `e` %% $ \n ; é漢'


def evil() -> Drawing:
    """A drawing with a user's text where each format has syntax."""
    filtered = replace(where(topic("a"), "a > 1"), conditions=(sql("a = '" + EVIL.replace("'", "") + "'"),))
    return draw_plan(
        Plan((stored(named(filtered, "odd"), "odd", "sink", EVIL),)),
        [(EVIL, frozenset((NodeId("model", "odd"),)))],
    )


# -- text


@pytest.mark.parametrize("width", [80, 100, 160])
def test_text(width: int) -> None:
    golden(f"text_{width}.txt", format_explanation(shop(), width))


@pytest.mark.parametrize("width", [80, 81, 99, 100, 120, 160, 300])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(count_cells(line.text) for line in format_lines(shop(), width, sql=True)) <= width


def test_a_terminal_that_is_too_narrow_counts_as_80() -> None:
    assert format_explanation(shop(), 20) == format_explanation(shop(), 80)


def test_what_several_read_is_drawn_once() -> None:
    drawn = format_explanation(explain_plans(shop_plan.optimized_plan(), ExplanationContext()), 80)
    assert drawn.count("decode json: type, user_id, product_id, value\n") == 0
    assert drawn.count("events = decode json: type, user_id, product_id, value (read 2 times)") == 1
    assert "↑ events (above)" in drawn


def test_the_sql_of_queries_is_shown_when_asked_for() -> None:
    assert "SQL OF scored_and_clicks\nselect 1" in format_explanation(shop(), 100, sql=True)
    assert "select 1" not in format_explanation(shop(), 100)


def test_one_rule_is_shown_before_and_after() -> None:
    golden("rule.txt", format_explanation(explain_step(shop_plan.optimized_plan().steps[0], ABOUT), 100))


def test_a_change_that_names_no_model_says_where_it_is() -> None:
    plans = shop_plan.written(), shop_plan.optimized()
    changes = (
        PlanChange("two filters are one", tuple(NodeId("model", name) for name in "abcde")),
        PlanChange("a is what it reads", (NodeId("model", "a"),)),
    )
    drawn = format_explanation(
        explain_plans(OptimizedPlan(*plans, (RuleStep("r", changes, *plans),)), ExplanationContext()), 100
    )
    assert "- two filters are one (in a, b, c and 2 more)\n    - a is what it reads\n" in drawn


def test_of_many_changes_the_first_are_told() -> None:
    plans = shop_plan.written(), shop_plan.optimized()
    step = RuleStep("r", tuple(PlanChange(f"change {i:02}") for i in range(30)), *plans)
    drawn = format_explanation(explain_plans(OptimizedPlan(*plans, (step,)), ExplanationContext()), 100)
    assert "change 19\n    - and 10 more: see --rule r\n" in drawn
    assert "change 29" in format_explanation(explain_step(step, ExplanationContext()), 100)


def test_no_output() -> None:
    assert "No model is selected" in format_explanation(
        explain_plans(OptimizedPlan(Plan(()), Plan(())), ExplanationContext()), 80
    )


# -- json


def test_json() -> None:
    golden("shop.json", json.dumps(as_data(shop()), indent=1, ensure_ascii=False))


def test_json_is_versioned_and_has_all_of_the_text() -> None:
    data = as_data(shop())
    assert data["schema_version"] == 1
    assert {"written", "optimized", "rules", "queries", "apart", "calls", "unsupported", "saves"} <= set(data)


# -- mermaid

_NODE = re.compile(r'(n\d+)(?:\[\[|\[\(|\[)"((?:[^"#\n]|#\d+;)*)"(?:\]\]|\)\]|\])')


def read_mermaid(source: str) -> tuple[dict[str, str], list[tuple[str, str]], int]:
    """Return nodes with their labels, edges, and the number of subgraphs; raise if it is not a flowchart."""
    head, *rest = source.split("\n")
    assert head == "flowchart LR"
    nodes: dict[str, str] = {}
    edges: list[tuple[str, str]] = []
    depth = groups = 0
    for line in rest:
        if re.fullmatch(r'  subgraph q\d+\["(?:[^"#\n]|#\d+;)*"\]', line):
            depth, groups = depth + 1, groups + 1
        elif line == "  end":
            depth -= 1
        elif edge := re.fullmatch(r"  (n\d+) --> (n\d+)", line):
            edges.append((edge[1], edge[2]))
        else:
            node = _NODE.fullmatch(line.strip())
            assert node, line
            nodes[node[1]] = node[2]
    assert depth == 0
    assert {end for edge in edges for end in edge} <= set(nodes)
    return nodes, edges, groups


def test_mermaid() -> None:
    golden("shop.mmd", mermaid(shop().optimized))


@pytest.mark.parametrize(
    "drawing", [shop().optimized, shop().written, evil()], ids=["optimized", "written", "evil"]
)
def test_mermaid_is_a_flowchart(drawing: Drawing) -> None:
    nodes, edges, groups = read_mermaid(mermaid(drawing))
    assert (len(nodes), len(edges), groups) == (len(drawing.nodes), len(drawing.edges), len(drawing.groups))


def test_mermaid_shows_a_users_text_as_text() -> None:
    labels = "".join(read_mermaid(mermaid(evil()))[0].values())
    assert "<" not in labels.replace("<b>", "").replace("</b>", "").replace("<br/>", "")
    plain = re.sub(r"#(\d+);", lambda match: chr(int(match[1])), labels)
    assert "<b>x</b> {a} [b] (c) |d| #35; --> end & `e` %% $ ␊ ; é漢" in plain


# -- dot

_QUOTED = r'"(?:[^"\\]|\\.)*"'


def read_dot(source: str) -> tuple[set[str], list[tuple[str, str]]]:
    nodes: set[str] = set()
    edges: list[tuple[str, str]] = []
    first, *rest, last = source.split("\n")
    assert (first, last) == ("digraph topology {", "}")
    depth = 0
    for line in map(str.strip, rest):
        if re.fullmatch(r"subgraph cluster_\d+ \{", line):
            depth += 1
        elif line == "}":
            depth -= 1
        elif edge := re.fullmatch(rf"({_QUOTED}) -> ({_QUOTED});", line):
            edges.append((edge[1], edge[2]))
        elif node := re.fullmatch(
            rf"({_QUOTED}) \[\w+=(?:{_QUOTED}|\w+)(?:, \w+=(?:{_QUOTED}|\w+))*\];", line
        ):
            nodes.add(node[1])
        else:
            assert re.fullmatch(rf"(label={_QUOTED}|rankdir=LR|node \[.*\]);", line), line
    assert depth == 0
    assert {end for edge in edges for end in edge} <= nodes
    return nodes, edges


def test_dot() -> None:
    golden("shop.dot", dot(shop().optimized))


@pytest.mark.parametrize(
    "drawing", [shop().optimized, shop().written, evil()], ids=["optimized", "written", "evil"]
)
def test_dot_is_a_graph(drawing: Drawing) -> None:
    nodes, edges = read_dot(dot(drawing))
    assert (len(nodes), len(edges)) == (len(drawing.nodes), len(drawing.edges))


# -- kafka-streams


def read_topology(source: str) -> list[dict[str, tuple[str, list[str], list[str], list[str]]]]:
    """Return sub-topologies: nodes with kind, topics or stores, next and previous ones; as a viewer reads them."""
    head, *rest = source.split("\n")
    assert head == "Topologies:"
    groups: list[dict[str, tuple[str, list[str], list[str], list[str]]]] = []
    for line in rest:
        if sub := re.fullmatch(r" {2,3}Sub-topology: (\d+)", line):
            assert int(sub[1]) == len(groups)
            groups.append({})
        elif node := re.fullmatch(
            r" {4}(Source|Processor|Sink): (\S+) \((topics|stores|topic): (.*)\)", line
        ):
            name = node[2]
            assert node[3] == {"Source": "topics", "Processor": "stores", "Sink": "topic"}[node[1]]
            groups[-1][name] = (node[1], [x for x in node[4].strip("[]").split(", ") if x], [], [])
        elif arrow := re.fullmatch(r" {6}(-->|<--) (\S+(?:, \S+)*)", line):
            side = 2 if arrow[1] == "-->" else 3
            groups[-1][name][side].extend(x for x in arrow[2].split(", ") if x != "none")
        else:
            assert line == ""
    return groups


def test_kafka_streams() -> None:
    golden("shop.kafka-streams.txt", kafka_streams(shop().optimized))


@pytest.mark.parametrize(
    "drawing", [shop().optimized, shop().written, evil()], ids=["optimized", "written", "evil"]
)
def test_kafka_streams_arrows_agree_from_both_ends(drawing: Drawing) -> None:
    for nodes in read_topology(kafka_streams(drawing)):
        onward = {(name, other) for name, (_, _, after, _) in nodes.items() for other in after}
        backward = {(other, name) for name, (_, _, _, before) in nodes.items() for other in before}
        assert onward == backward
        assert {end for edge in onward for end in edge} <= set(nodes)


def test_kafka_streams_has_a_sub_topology_for_each_query() -> None:
    first, second = read_topology(kafka_streams(shop().optimized))
    assert [topics for kind, topics, _, _ in first.values() if kind == "Sink"] == [["scored"], ["all_clicks"]]
    assert [stores for kind, stores, _, _ in second.values() if kind == "Processor" and stores] == [
        ["counts.aggregate.state"],
        ["counts"],
    ]


def test_kafka_streams_joins_read_stores() -> None:
    first, _ = read_topology(kafka_streams(shop().optimized))
    assert first["scored.lookup_products"][1] == ["products"]


def test_kafka_streams_gives_no_processor_the_name_of_a_topic_or_store() -> None:
    groups = read_topology(kafka_streams(shop().optimized))
    nodes = {name for group in groups for name in group}
    outside = {name for group in groups for _, names, _, _ in group.values() for name in names}
    assert nodes.isdisjoint(outside)
