"""Every error code, with what the reference page says of it."""

from importlib import import_module

from msgspec import Struct

from millstream.stores.registry import STORES, part


class Code(Struct, frozen=True):
    title: str
    explanation: str


PARTS = (
    "project", "templates", "functions", "sql", "graph", "plan", "state", "topics", "selectors", "machine", "kafka",
    "tables",
    "runner", "testing", "environment", "review",
)  # fmt: skip


def all_codes() -> dict[str, Code]:
    """Collect the codes of every part and store, in order."""
    found: dict[str, Code] = {}
    for name in PARTS:
        found |= import_module(f"millstream.codes.{name}").CODES
    for store in STORES:
        found |= part(store, "codes").CODES
    return dict(sorted(found.items()))
