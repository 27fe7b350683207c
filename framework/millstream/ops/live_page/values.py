"""What the live page shows; its script reads these values as JSON."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, field

from millstream.core.node_id import NodeId
from millstream.stores.tables.values import Answer


class LiveRelation(Struct, frozen=True):
    """A table or topic whose newest rows are shown."""

    id: NodeId
    name: str
    kind: str
    """`table` or `topic`."""
    about: str
    read: Callable[[int], Answer]
    """Return up to so many rows, the newest first."""


class LineageNode(Struct, frozen=True):
    """A source, seed or model in the lineage."""

    id: NodeId
    name: str
    kind: str
    stored: str
    x: int
    y: int
    width: int
    height: int
    page: str
    """Its address on the project's site."""


class DrawnEdge(Struct, frozen=True):
    source: NodeId
    target: NodeId
    points: list[tuple[int, int]]


class DrawnLineage(Struct, frozen=True):
    """The lineage with its layout."""

    width: int
    height: int
    nodes: list[LineageNode]
    edges: list[DrawnEdge]


class ShownQuery(Struct, frozen=True):
    name: str
    models: tuple[str, ...]
    status: str
    rows: int
    rate: float
    batch: float | None
    latency: float | None
    lag: int
    late: int
    bad: int
    failures: int
    keys: int
    message: str = field(default="", name="problem")


class ShownRows(Struct, frozen=True):
    """The newest rows of a relation as texts; None is NULL."""

    id: NodeId
    name: str
    kind: str
    about: str
    columns: tuple[str, ...] = ()
    rows: list[list[str | None]] = []
    message: str = field(default="", name="problem")


class ShownRun(Struct, frozen=True):
    project: str
    stage: str
    seconds: float
    """Since the page is there."""
    queries: list[ShownQuery]
    nodes: dict[NodeId, tuple[int, float]]
    """Records of each source and rows of each model, and how many per second."""
    relations: list[ShownRows]
    ended: bool = False


def page_text(value: Any) -> str | None:
    """Return a value as a text for a cell."""
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case datetime():
            text = f"{value:%Y-%m-%d %H:%M:%S}"
            return f"{text}.{value.microsecond // 1000:03}" if value.microsecond else text
        case dict() | list() | tuple():
            return msgspec.json.encode(value, enc_hook=str).decode()
        case bytes():
            return f"{len(value):,} bytes"
        case _:
            return str(value)
