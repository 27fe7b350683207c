"""Nodes that read topics, seeds and tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from millstream.core.node_id import NO_NODE, NodeId
from millstream.plan.nodes.base import Node
from millstream.plan.nodes.parts import columns_text


def topics_text(topics: Sequence[str]) -> str:
    return f"topic{'s' * (len(topics) > 1)} {', '.join(topics)}"


def history_summary(history: str) -> str:
    """Return where older records are, for people: `delta data/orders until 2026-01-01`."""
    settings = json.loads(history)
    until = f" until {settings['until']}" if "until" in settings else ""
    address = settings.get("path") or f"{settings['catalog']} {settings['table']}"
    return f"{settings['kind']} {address}{until}"


class TopicScan(Node, frozen=True, eq=False, kw_only=True):
    """The records of topics as bytes: key, value, headers, topic, partition, offset, timestamp."""

    relation: NodeId
    """The id of the source, or of the model that writes the topic."""
    topics: tuple[str, ...]
    """One, unless a source reads several; or a pattern, until it is known which topics match it."""
    pattern: str = ""
    dead_letters: str
    """The topic for its records that can't be decoded, or on which a function fails."""
    relay: bool = False
    """It connects two queries of the project: nobody else reads it."""
    history: str = ""
    """Where older records are, as JSON."""

    operator = "topic"

    @property
    def summary(self) -> str:
        topics = f"topics {self.pattern}" if self.pattern else topics_text(self.topics)
        return f"{topics} after {history_summary(self.history)}" if self.history else topics


class TraitsLeaf(Node, frozen=True, eq=False, kw_only=True):
    """An input of which only the traits are known, to check a model before there is a plan."""

    relation: NodeId
    mode: Literal["append", "upsert", "static"] = "append"
    keys: tuple[str, ...] = ()
    watermarks: tuple[tuple[str, str], ...] = ()
    below: tuple[Any, ...] = ()
    """The stateful steps that its rows pass within their query (`streaming.Kind`)."""
    spacings: tuple[tuple[str, int, bool], ...] = ()
    """Times with a known minimum distance: column, microseconds, whether it is a window."""
    changes_by_itself: tuple[str, NodeId] | None = None
    """A function that gives other rows each time, and the id of the model that calls it."""
    looks_up: NodeId = NO_NODE
    """For rows at rest: a table that they are read from."""

    @property
    def summary(self) -> str:
        return f"given {self.relation}: {columns_text(self.columns)}"


class RowsScan(Node, frozen=True, eq=False, kw_only=True):
    """What has rows with columns, not records that have to be decoded."""

    relation: NodeId


class SourceScan(RowsScan, frozen=True, eq=False, kw_only=True):
    """The rows of a source other than a topic, as they come."""

    kind: str
    """Its kind in the registry of kinds of sources."""
    settings: str = ""
    """What it is read by, as text: another path is another source."""
    keys: tuple[str, ...] = ()
    """The columns that identify its rows, if rows change."""
    removes_read: bool = False
    """What was read is removed from it."""

    operator = "source"

    @property
    def summary(self) -> str:
        return f"{self.kind} {self.relation}: {columns_text(self.columns)}"


class SeedScan(RowsScan, frozen=True, eq=False, kw_only=True):
    operator = "seed"

    @property
    def summary(self) -> str:
        return f"seed {self.relation}: {columns_text(self.columns)}"


class TableScan(RowsScan, frozen=True, eq=False, kw_only=True):
    """The newest rows of a state table or reference topic, or its stream of changes."""

    changes: bool = False
    keys: tuple[str, ...] = ()
    stored: bool = True
    """Whether it is a table; otherwise, a test gives these rows for a view."""

    operator = "table"

    @property
    def summary(self) -> str:
        changes = " changes" if self.changes else ""
        return f"table {self.relation}{changes}: {columns_text(self.columns)}"
