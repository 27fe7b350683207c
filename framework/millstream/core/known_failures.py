"""Failures of queries that are recognized by their text: kinds of sources and stores add theirs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

END = r"(?: SQLSTATE|\n|$)"
"""Where the message of an error ends, in a pattern."""


class KnownFailure(NamedTuple):
    code: str
    pattern: re.Pattern[str]
    message: Callable[[re.Match[str]], str]
    remedy: str | Callable[[re.Match[str]], str]
    raised: bool = False
    """Only `raise_error` raises it."""
    joined: bool = False
    """One error names the file, and what caused it says why."""


def first_group(match: re.Match[str]) -> str:
    return match.group(1).strip()
