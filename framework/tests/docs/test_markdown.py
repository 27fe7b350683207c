"""Descriptions as trees of elements."""

import pytest

from millstream.docs.markdown import ELEMENTS, first_sentence, parse_markup, plain_text


def names(tree):
    for node in tree:
        if isinstance(node, list):
            yield node[0]
            yield from names(node[1:])


def test_plain_text_is_a_paragraph():
    assert parse_markup("Totals of users") == [["p", "Totals of users"]]


def test_emphasis_lists_and_code():
    assert parse_markup("**a** _b_ `c`\n\n- d") == [
        ["p", ["strong", "a"], " ", ["em", "b"], " ", ["code", "c"]],
        ["ul", ["li", "d"]],
    ]


def test_a_table():
    assert list(names(parse_markup("| a |\n|---|\n| 1 |"))) == [
        "table",
        "thead",
        "tr",
        "th",
        "tbody",
        "tr",
        "td",
    ]


def test_headings_stand_below_those_of_the_page():
    assert parse_markup("# A") == [["h3", "A"]]


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "a <b>c</b>", "<img src=x onerror=y>", "&lt;i&gt;"]
)
def test_html_is_text(text):
    assert plain_text(parse_markup(text)).strip() == text.replace("&lt;", "<").replace("&gt;", ">")
    assert set(names(parse_markup(text))) <= {"p"}


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x"]
)
def test_a_link_goes_to_the_web_or_nowhere(address):
    assert "a" not in set(names(parse_markup(f"[here]({address})")))


def test_a_link_to_the_web():
    assert parse_markup("[book](https://books.example)") == [
        ["p", ["a", {"href": "https://books.example"}, "book"]]
    ]


def test_a_picture_is_a_link_since_nobody_is_asked():
    assert parse_markup("![chart](https://x.example/a.png)") == [
        ["p", ["a", {"href": "https://x.example/a.png"}, "chart"]]
    ]


def test_only_known_elements_are_made():
    text = "# a\n\n> b\n\n1. c\n\n```\nd\n```\n\n---\n\n~~e~~  \nf\n\n###### g"
    assert set(names(parse_markup(text))) <= ELEMENTS


def test_the_first_sentence():
    assert first_sentence(parse_markup("It counts **users**. And more.")) == "It counts users."
    assert first_sentence(parse_markup("x" * 300), 10) == "xxxxxxxxx…"
