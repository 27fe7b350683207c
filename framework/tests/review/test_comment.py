"""The comment as Markdown: nothing of a user's is markup, and it always fits."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core.node_id import NodeId
from millstream.review.formats.markdown import (
    LARGEST,
    escape_code,
    escape_sentence,
    escape_text,
    fence_code,
    write_comment,
)
from millstream.review.values import BaseVersion, ColumnChange, EditedLine, NodeChange, QueryChange, Review

EMPTY = Review(project="shop", target="local", against=BaseVersion("main", "abc"))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b*c", r"a\_b\*c"),
        ("<script>", r"\<script\>"),
        ("a | b", r"a \| b"),
        ("two\nlines", "two lines"),
        ("[x](javascript:1)", r"\[x\](javascript:1)"),
        ("@team", "@\u200bteam"),
        ("https://x.example", "https:\u200b//x.example"),
    ],
)
def test_plain_text(text, escaped):
    assert escape_text(text) == escaped


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a", "`a`"),
        ("`a`", "`` `a` ``"),
        ("a `` b", "``` a `` b ```".replace("``` a", "```a").replace("b ```", "b```")),
        ("a | b", r"`a \| b`"),
        ("a\nb", "`a b`"),
        ("", ""),
    ],
)
def test_code(text, written):
    assert escape_code(text) == written


def test_a_sentence_has_code_between_backticks():
    assert escape_sentence("keeps `a_b` of <x>") == r"keeps `a_b` of \<x\>"
    assert escape_sentence("one ` alone") == r"one \` alone"


@given(st.text(max_size=40))
def test_a_fence_is_longer_than_any_within(text):
    block = fence_code(text)
    fence = re.match("`+", block).group()
    assert fence not in text


@given(st.text(max_size=60))
def test_a_cell_stays_a_cell(text):
    for written in (escape_text(text), escape_code(text), escape_sentence(text)):
        assert "\n" not in written
        assert not re.search(r"(?<!\\)\|", written)


def test_names_that_are_markup_are_shown():
    column = ColumnChange(name="<b>|x", kind="meaning", before="a | b", after="```")
    node = NodeChange(
        id=NodeId("model", "x"), kind="model", status="changed", path="models/<i>.sql", what=("says `a|b`",),
        columns=(column,), edited_lines=(EditedLine("models/<i>.sql", 1, "x"),),
    )  # fmt: skip
    text = write_comment(Review(project="<!--", target="-->", against=BaseVersion("`main`"), nodes=(node,)))
    assert text.startswith("<!-- millstream-review ____ ___ -->\n")
    outside = re.sub(r"(`+).*?\1", "", text)
    assert "<b>" not in outside
    assert "<i>" not in outside


def test_a_very_large_change_fits_a_comment():
    columns = tuple(
        ColumnChange(name=f"c{n}", kind="meaning", before="x" * 150, after="y" * 150) for n in range(50)
    )
    nodes = tuple(
        NodeChange(id=NodeId("model", f"m{n}"), kind="model", status="changed", path="m.sql", columns=columns)
        for n in range(500)
    )
    queries = tuple(QueryChange(name=f"q{n}", status="rebuild", reasons=("x" * 300,)) for n in range(500))
    text = write_comment(
        Review(project="a", target="b", against=BaseVersion("main"), nodes=nodes, queries=queries)
    )
    assert len(text) <= LARGEST + 5000
    assert "see `--output json`" in text
    assert text.count("<details>") == text.count("</details>")


def test_nothing_has_changed():
    lines = write_comment(EMPTY).splitlines()
    assert lines[1] == "### ✅ Millstream: no effect on what runs"
    assert lines[3] == "No node changed, compared with `main` (`abc`)."
    assert "<details>" not in write_comment(EMPTY)
