"""All error codes: those of each part of Millstream, of stores, and of kinds of sources."""

from importlib import import_module

from millstream.core.codes import ErrorCode
from millstream.sources.registry import modules_of_kinds
from millstream.stores.registry import STORES, store_module

PARTS = (
    "project", "templates", "functions", "sql", "graph", "plan", "state", "topics", "selectors", "machine",
    "kafka", "dead_letters", "registry", "tables", "runner", "testing", "logs", "package", "environment",
    "review", "formatting", "linting",
)  # fmt: skip


def all_codes() -> dict[str, ErrorCode]:
    """Collect the codes of every part, store and kind of source, in order."""
    codes: dict[str, ErrorCode] = {}
    for name in PARTS:
        codes |= import_module(f"millstream.core.codes.{name}").CODES
    for store in STORES:
        codes |= store_module(store, "codes").CODES
    for kind in modules_of_kinds("codes"):
        codes |= kind.CODES
    return dict(sorted(codes.items()))
