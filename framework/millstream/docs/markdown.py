"""Turns Markdown descriptions into a tree of a few kinds of elements, never into HTML.

The page creates elements from the tree by name, so that user text is never parsed as HTML. Images become
links, because the site makes no requests to other servers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from millstream.docs.values import Markup

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

ELEMENTS = frozenset(
    (
        "p", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "br", "a",
        "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
    )
)  # fmt: skip
_HEADINGS = {"h1": "h3", "h2": "h4", "h3": "h5"}
"""Headings start at h3, because the page has headings above a description."""
_SCHEMES = re.compile(r"(https?|mailto):", re.IGNORECASE)
_PLAIN = re.compile(r"[^\n`*_\[\]<>&\\#!|~:]*\Z")


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])


def parse_markup(text: str) -> Markup:
    """Return a description as a tree; one plain line is itself."""
    text = text.strip()
    if not text:
        return []
    if _PLAIN.match(text) and not re.match(r"\d+[.)]|[-+=] ?", text):
        return [["p", text]]
    return _tree(_parser().parse(text))


def _tree(tokens: Sequence[Token]) -> Markup:
    root: Markup = []
    open_: list[Markup] = [root]
    for token in tokens:
        if token.hidden:
            continue
        if token.type == "inline":
            open_[-1] += _tree(token.children or ())
        elif token.nesting == 1:
            element: Markup = _element(token)
            open_[-1].append(element)
            open_.append(element)
        elif token.nesting == -1:
            open_.pop()
        else:
            open_[-1] += _single(token)
    return root


def _element(token: Token) -> Markup:
    name = _HEADINGS.get(token.tag, token.tag)
    if name not in ELEMENTS:
        return ["p"]
    if name == "a":
        href = str(token.attrs.get("href", ""))
        return ["a", {"href": href}] if _SCHEMES.match(href) else ["em"]
    return [name]


def _single(token: Token) -> Markup:
    match token.type:
        case "code_inline":
            return [["code", token.content]]
        case "fence" | "code_block":
            return [["pre", ["code", token.content]]]
        case "softbreak":
            return [" "]
        case "hardbreak":
            return [["br"]]
        case "hr":
            return [["hr"]]
        case "image":
            source = str(token.attrs.get("src", ""))
            return [["a", {"href": source}, token.content]] if _SCHEMES.match(source) else [token.content]
        case _:
            return [token.content] if token.content else []


def plain_text(tree: Markup) -> str:
    parts: list[str] = []
    for element in tree:
        if isinstance(element, str):
            parts.append(element)
        elif isinstance(element, list):
            parts.append(plain_text(element[1:]) + (" " if element[0] in {"p", "li", "br", "pre"} else ""))
    return "".join(parts)


def first_sentence(tree: Markup, most: int = 160) -> str:
    text = " ".join(plain_text(tree).split())
    end = re.search(r"[.!?](\s|\Z)", text)
    text = text[: end.start() + 1] if end else text
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
