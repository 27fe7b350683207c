"""Every error code, with what the reference page says of it."""

from importlib import import_module

from msgspec import Struct


class Code(Struct, frozen=True):
    title: str
    explanation: str


PARTS = (
    "project", "templates", "functions", "sql", "graph", "plan", "topics", "selectors", "machine", "kafka", "tables",
    "runner", "testing", "environment", "review",
)  # fmt: skip


def all_codes() -> dict[str, Code]:
    """Collect the codes of every part, in order."""
    found: dict[str, Code] = {}
    for part in PARTS:
        found |= import_module(f"millstream.codes.{part}").CODES
    return dict(sorted(found.items()))
