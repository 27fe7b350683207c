"""How much the tests marked `long` do; CI does a part of it."""

import os
from zlib import crc32

import pytest

BUILDS = int(os.environ.get("MILLSTREAM_BUILDS", "4"))
"""Builds of one project; with 20, the example gets twenty thousand events."""
WAYS = [("all", "all"), ("none", "off")][: 1 if BUILDS < 4 else 2]
"""Optimization and grouping; with few builds, both at their best alone."""
EXAMPLES = int(os.environ.get("MILLSTREAM_EXAMPLES", "20000"))
"""Random plans."""
STREAMED = int(os.environ.get("MILLSTREAM_STREAMING_PROJECTS", "60"))
"""Random projects that run on Spark in several micro-batches."""
FIRST = int(os.environ.get("MILLSTREAM_STREAMING_FIRST", "0"))
"""The first of them, so that a long search goes on, or runs in two processes."""
GENERATED = int(os.environ.get("MILLSTREAM_GENERATED", "40"))
"""Models of the generated projects that are built with records in all topics."""
GENERATED_SEEDS = int(os.environ.get("MILLSTREAM_GENERATED_SEEDS", "2"))
"""How many of these projects."""
MUTANTS = int(os.environ.get("MILLSTREAM_MUTANTS", "300"))
"""Projects with a mistake that are compiled."""
MUTANTS_FIRST = int(os.environ.get("MILLSTREAM_MUTANTS_FIRST", "0"))
"""The first of them."""
FRESH = [int(seed) for seed in os.environ.get("MILLSTREAM_FRESH", "").split()]
"""Random numbers to try instead of the fixed ones: in CI the date, so that each day tries something new."""
UNITS = int(os.environ.get("MILLSTREAM_UNITS", "2"))
"""Random sequences of records that builds and unit tests of the same models get."""
ACCOUNTS = int(os.environ.get("MILLSTREAM_ACCOUNTS", "4"))
"""Builds of random good and bad records in all formats and policies, whose counts must add up."""
NATIVE = int(os.environ.get("MILLSTREAM_NATIVE_FUNCTIONS", "400"))
"""Random Python functions that are translated, and compared with Python."""
NATIVE_ROWS = int(os.environ.get("MILLSTREAM_NATIVE_ROWS", "1000"))
"""Rows on which each construct of a translated function is compared with Python."""
MAINTAINED = int(os.environ.get("MILLSTREAM_MAINTAINED", "100"))
"""Random sequences of changes of tables that other tables are computed from."""
MAINTAINED_FIRST = int(os.environ.get("MILLSTREAM_MAINTAINED_FIRST", "0"))
"""The seed of these sequences."""
VERSIONED = int(os.environ.get("MILLSTREAM_VERSIONS", "300"))
"""Random sequences of records of which all versions are kept."""
PART, PARTS = map(int, os.environ.get("MILLSTREAM_PART", "0/1").split("/"))
"""Which tests run: those of part 0 of 8, for example."""
_SIZED_PARTS = min(PARTS, 4)
"""Parts of those that the other variables make short: each of them runs every few days."""
_SIZED = (
    "framework/tests/differential/",
    "framework/tests/mutants/",
    "framework/tests/native/",
    "framework/tests/engine/test_record_outcomes.py",
    "framework/tests/streaming/",
)


def every_second_long(params):
    """Leave every second value of a parameter to the long tests."""
    params = [
        param if hasattr(param, "values") and hasattr(param, "marks") else pytest.param(param)
        for param in params
    ]
    return [
        pytest.param(*param.values, id=param.id, marks=[*param.marks, pytest.mark.long])
        if number % 2
        else param
        for number, param in enumerate(params)
    ]


def in_part(path, name):
    """Whether a long test of a file runs."""
    parts = _SIZED_PARTS if path.startswith(_SIZED) else PARTS
    return crc32(f"{path}::{name}".encode()) % parts == PART % parts


def seeds(count):
    """Return the random numbers of a test: those of the day, or else so many fixed ones."""
    return FRESH or [*range(count)]
