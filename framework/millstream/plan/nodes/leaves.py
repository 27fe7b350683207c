"""Nodes that read what is outside of the plan: topics, seeds, tables."""

from __future__ import annotations

from typing import Any, Literal

from millstream.plan.nodes.base import Node
from millstream.plan.nodes.parts import columns_text


class TopicScan(Node, frozen=True, eq=False, kw_only=True):
    """The records of a topic as bytes: key, value, headers, topic, partition, offset, timestamp."""

    relation: str
    """Id of the source, or of the model whose sink it is."""
    topic: str

    @property
    def operator(self) -> str:
        return "topic"

    @property
    def summary(self) -> str:
        return f"topic {self.topic}"


class Given(Node, frozen=True, eq=False, kw_only=True):
    """A relation of which only this is known: what a model is checked against before there is a plan."""

    relation: str
    mode: Literal["append", "upsert", "static"] = "append"
    keys: tuple[str, ...] = ()
    watermarks: tuple[tuple[str, str], ...] = ()
    below: tuple[Any, ...] = ()
    """The steps with state that its rows pass in the query that makes them (`streaming.Kind`)."""
    spaced: tuple[tuple[str, int, bool], ...] = ()
    """Times of which it is known how far apart they are: column, microseconds, whether it is a window."""

    @property
    def summary(self) -> str:
        return f"given {self.relation}: {columns_text(self.columns)}"


class SeedScan(Node, frozen=True, eq=False, kw_only=True):
    relation: str

    @property
    def operator(self) -> str:
        return "seed"

    @property
    def summary(self) -> str:
        return f"seed {self.relation}: {columns_text(self.columns)}"


class TableScan(Node, frozen=True, eq=False, kw_only=True):
    """The newest rows of a state table or reference topic; or its changes, as they come."""

    relation: str
    changes: bool = False
    keys: tuple[str, ...] = ()
    stored: bool = True
    """Whether it is a table; else these are rows of a view that a test gives."""

    @property
    def operator(self) -> str:
        return "table"

    @property
    def summary(self) -> str:
        changes = " changes" if self.changes else ""
        return f"table {self.relation}{changes}: {columns_text(self.columns)}"
