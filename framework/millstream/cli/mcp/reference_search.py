"""Finds sections of the reference: commands, configuration and errors."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

_WORD = re.compile(r"[a-z0-9_]+")
_LONGEST = 3000


class Section(Struct, frozen=True):
    page: str
    title: str
    text: str
    words: frozenset[str]
    title_words: frozenset[str]


@cache
def reference_sections() -> tuple[Section, ...]:
    from millstream.cli.reference import cli_reference, configuration_reference, errors_reference

    pages = {
        "commands": cli_reference(),
        "configuration": configuration_reference(""),
        "errors": errors_reference(),
    }
    return tuple(section for page, text in pages.items() for section in _sections(page, text))


def _sections(page: str, text: str) -> list[Section]:
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return [
        Section(page, title, body.strip(), frozenset(_words(body)), frozenset(_words(title)))
        for title, body in zip(parts[1::2], parts[2::2], strict=True)
        if body.strip()
    ]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def search_reference(query: str, count: int = 5) -> list[dict[str, str]]:
    """Return the sections that have most words of a query; those of a title count more, rare ones too."""
    sections = reference_sections()
    words = set(_words(query))
    weights = {word: 1 / (1 + sum(word in section.words for section in sections)) for word in words}
    scores = [
        sum(
            weights[w] * (4 if w in section.title_words else 1)
            for w in words & (section.words | section.title_words)
        )
        for section in sections
    ]
    ranked = sorted(zip(scores, sections, strict=True), key=lambda pair: -pair[0])
    return [
        {"page": section.page, "title": section.title, "text": section.text[:_LONGEST]}
        for score, section in ranked[:count]
        if score
    ]
