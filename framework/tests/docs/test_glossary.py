"""Each term of the glossary is listed once, in alphabetical order, and links to an existing section."""

import re
from itertools import pairwise

from docs.test_links import anchors
from example.generated import ROOT

DOCS = ROOT / "docs"
TEXT = (DOCS / "glossary.md").read_text()
PUBLIC, CONTRIBUTORS = TEXT.split("## For contributors")
ENTRIES = re.findall(r"^\*\*(.+?)\.\*\* (.*?)(?=\n\n)", PUBLIC, re.MULTILINE | re.DOTALL)


def test_terms_stand_once_and_in_order():
    terms = [term for term, _ in ENTRIES]
    assert len(terms) > 70
    assert len(terms) == len(set(terms))
    for section in PUBLIC.split("\n## ")[1:]:
        names = re.findall(r"^\*\*(.+?)\.\*\*", section, re.MULTILINE)
        assert [(a, b) for a, b in pairwise(names) if a > b] == []


def test_each_term_leads_to_the_section_that_explains_it():
    missing = []
    for term, text in ENTRIES:
        links = re.findall(r"\]\(([\w.]+)(?:#([^)]+))?\)", text)
        assert links, term
        for page, anchor in links:
            there = (DOCS / page).is_file() and (not anchor or anchor in anchors((DOCS / page).read_text()))
            missing += [] if there else [(term, page, anchor)]
    assert missing == []


def test_words_of_the_code_stand_once():
    words = re.findall(r"^\| ([^|]+?) \|", CONTRIBUTORS, re.MULTILINE)
    assert len(words) == len(set(words))
