"""Every error code, with what the reference page says of it.

A code is a line with its title, and below it the indented explanation, whose line ends are spaces.
"""

import re
from importlib import import_module

from msgspec import Struct

from millstream.stores.registry import STORES, store_module


class ErrorCode(Struct, frozen=True):
    title: str
    explanation: str


def read_codes(text: str) -> dict[str, ErrorCode]:
    codes: dict[str, ErrorCode] = {}
    for entry in re.split(r"\n(?=\S)", text.strip()):
        head, *explanation = entry.splitlines()
        name, _, title = head.partition(" ")
        codes[name] = ErrorCode(title, " ".join(map(str.strip, explanation)))
    return codes


PARTS = (
    "project", "templates", "functions", "sql", "graph", "plan", "state", "topics", "selectors", "machine",
    "kafka", "dead_letters", "registry", "tables", "runner", "testing", "logs", "package", "environment",
    "review",
)  # fmt: skip


def all_codes() -> dict[str, ErrorCode]:
    """Collect the codes of every part and store, in order."""
    codes: dict[str, ErrorCode] = {}
    for name in PARTS:
        codes |= import_module(f"millstream.core.codes.{name}").CODES
    for store in STORES:
        codes |= store_module(store, "codes").CODES
    return dict(sorted(codes.items()))
