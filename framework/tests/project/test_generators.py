"""Generators of test traffic."""

import pytest

from millstream.core.text import FileText, Location
from millstream.project.generators import read_generators, topics_of

IMPORTS = """
import random as r
from collections.abc import Iterator
from datetime import datetime
from random import Random
from typing import Any
Record = tuple[str | None, dict[str, Any] | None]
"""


def read(source):
    return read_generators(FileText("seeds/g.py", IMPORTS + source))


def underlined(source):
    return [(e.code, e.line[e.location.column - 1 : e.location.end - 1]) for e in read(source)[1]]


def test_a_generator_is_named_after_its_topic():
    source = (
        "def clicks(random: Random, now: datetime) -> Iterator[Record]:\n    'Clicks.'\n    yield 'k', {}\n"
    )
    (generator,), errors = read(source)
    assert errors == []
    assert (generator.name, generator.topic, generator.path, generator.description) == (
        "clicks",
        "clicks",
        "seeds/g.py",
        "Clicks.",
    )
    assert generator.location == Location("seeds/g.py", 8, 5, 11)
    assert generator.digest


@pytest.mark.parametrize(
    "source",
    [
        "def clicks(random, now):\n    yield None, None\n",
        "def clicks(random: r.Random, now: 'datetime', users: int = 5, *, rate=2):\n    yield 'k', {}\n",
        "def Click_s(random, now, /):\n    yield from _more()\ndef _more(): ...\n",
    ],
)
def test_what_a_generator_may_be(source):
    assert underlined(source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def clicks(random, now):\n    return []", [("MS321", "clicks")]),
        ("def clicks():\n    yield 1", [("MS320", "clicks")]),
        ("def clicks(now, random):\n    yield 1", [("MS320", "clicks")]),
        ("def clicks(random, now, users):\n    yield 1", [("MS320", "users")]),
        ("def clicks(random, now, *, users):\n    yield 1", [("MS320", "users")]),
        ("def clicks(random: int, now):\n    yield 1", [("MS320", "int")]),
        ("def clicks(random, now) -> Record:\n    yield 1", [("MS320", "Record")]),
        ("async def clicks(random, now):\n    yield 1", [("MS308", "clicks")]),
        ("@r.x\ndef clicks(random, now):\n    yield 1", [("MS309", "r.x")]),
        ("def c(random, now):\n    yield 1\ndef c(random, now):\n    yield 2", [("MS322", "c")]),
        ("def clicks(random", [("MS310", "(")]),
    ],
)
def test_mistakes_are_underlined(source, expected):
    assert underlined(source) == expected


TOPICS = ["shop.clicks", "shop.page-views", "bank.clicks", "bank.payments"]


@pytest.mark.parametrize(
    ("name", "topics"),
    [
        ("payments", ("bank.payments",)),
        ("page_views", ("shop.page-views",)),
        ("clicks", ("shop.clicks", "bank.clicks")),
        ("bank__clicks", ("bank.clicks",)),
        ("shop__payments", ()),
    ],
)
def test_a_name_means_the_topics_it_fits(name, topics):
    assert topics_of(name, TOPICS) == topics
