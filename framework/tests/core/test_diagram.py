"""One writer of Mermaid and one of DOT: structure, and texts of users that must stay texts."""

from __future__ import annotations

import re

import pytest

from millstream.core.diagram import Diagram, DiagramEdge, DiagramGroup, DiagramNode, write_dot, write_mermaid

TEXTS = [
    "a \"quoted\" 'name'",
    "brackets [x] (y) {z} <b>",
    "`code` and **bold** _too_",
    "two\nlines\r\nand\ta tab",
    "</script><script>alert(1)</script>",
    "back\\slash \\n \\",
    "#35; &amp; %% end --> ;",
    "\x00\x1b[31m\ud800",
]
DIAGRAM = Diagram(
    (
        DiagramNode(
            "orders", ("orders", "x" * 200), heading=True, shape="store", tip="topic orders\nkey: id"
        ),
        DiagramNode("b", ("b",), shape="state", style="changed", notes=(("state", "a row"),)),
        DiagramNode("c", ("c",), shape="hexagon"),
    ),
    (
        DiagramEdge("orders", "b", "filter"),
        DiagramEdge("b", "c", line="added"),
        DiagramEdge("orders", "c", line="removed"),
    ),
    (DiagramGroup("query one", ("b",)),),
    {"changed": "fill:#fff", "unused": "fill:#000"},
)


def test_mermaid():
    assert write_mermaid(DIAGRAM).splitlines() == [
        "flowchart LR",
        '  subgraph q0["query one"]',
        '    n1[["b<br/>state: a row"]]:::changed',
        "  end",
        f'  n0[("<b>orders</b><br/>{"x" * 119}…")]',
        '  n2{{"c"}}',
        "  n0 -->|filter| n1",
        "  n1 ==> n2",
        "  n0 -.-> n2",
        "  classDef changed fill:#fff",
    ]


def test_dot():
    assert write_dot(DIAGRAM).splitlines() == [
        "digraph topology {",
        "  rankdir=LR;",
        '  node [shape=box, fontname="sans-serif"];',
        "  subgraph cluster_0 {",
        '    label="query one";',
        '    "b" [label="b", style=bold];',
        "  }",
        f'  "orders" [label="orders\\n{"x" * 79}…", tooltip="topic orders\\nkey: id", shape=cylinder];',
        '  "c" [label="c", shape=hexagon];',
        '  "orders" -> "b" [label="filter"];',
        '  "b" -> "c" [style=bold];',
        '  "orders" -> "c" [style=dashed];',
        "}",
    ]


def everywhere(text: str) -> Diagram:
    """Put a text wherever a user's can stand."""
    node = DiagramNode(text, (text, text), heading=True, notes=((text, text),), tip=text)
    return Diagram((node,), (DiagramEdge(text, text, text),), (DiagramGroup(text, (text,)),))


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_is_syntax_of_mermaid_or_html(text):
    label = r"(?:[\w .,:_=()…␀-␡�-]|#\d+;)*"
    lines = [
        r"flowchart LR",
        rf'  subgraph q0\["{label}"\]',
        rf'    n0\["<b>{label}</b><br/>{label}<br/>{label}: {label}"\]',
        r"  end",
        rf"  n0 -->\|{label}\| n0",
    ]
    diagram_lines = write_mermaid(everywhere(text)).split("\n")
    assert [re.fullmatch(*pair) is not None for pair in zip(lines, diagram_lines, strict=True)] == [
        True
    ] * 5, diagram_lines


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_is_syntax_of_dot(text):
    quoted = r'"(?:[^"\\\x00-\x1f]|\\["\\n])*"'
    lines = [
        r"digraph topology \{",
        r"  rankdir=LR;",
        r'  node \[shape=box, fontname="sans-serif"\];',
        r"  subgraph cluster_0 \{",
        rf"    label={quoted};",
        rf"    {quoted} \[label={quoted}, tooltip={quoted}\];",
        r"  \}",
        rf"  {quoted} -> {quoted} \[label={quoted}\];",
        r"\}",
    ]
    diagram_lines = write_dot(everywhere(text)).split("\n")
    assert [re.fullmatch(*pair) is not None for pair in zip(lines, diagram_lines, strict=True)] == [
        True
    ] * 9, diagram_lines


@pytest.mark.parametrize("text", [TEXTS[0], TEXTS[1], TEXTS[4], TEXTS[6]])
def test_a_text_is_shown_as_it_was_written(text):
    shown = re.search(r"<b>(.*)</b>", write_mermaid(everywhere(text)))
    assert shown
    assert re.sub(r"#(\d+);", lambda match: chr(int(match[1])), shown[1]) == text
    assert f'label="{text.replace(chr(34), chr(92) + chr(34))}"' in write_dot(everywhere(text))
