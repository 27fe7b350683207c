"""The facts on the page of an entry: settings as text, with secrets masked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from millstream.compile.manifest import ManifestNode
from millstream.docs.values import Fact
from millstream.explain.queries import ExplainedQuery
from millstream.project.secrets import MASK, Secret, is_secret_setting

_FIRST = (
    "materialized", "topic", "format", "key", "key_format", "unique_key", "emit", "tombstones", "window",
    "watermark", "dedupe", "partitions", "replication", "topic_config", "retention", "versions", "order_by",
    "delete_when", "delete_by", "on_bad_record",
)  # fmt: skip
_OMITTED = frozenset(("enabled", "tags", "owner", "meta", "opaque", "severity"))
"""Settings that are shown elsewhere on the page, or not of interest."""


def of_config(config: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Return the settings of a node: the most important ones first, then the rest by name."""
    first = [name for name in _FIRST if name in config]
    rest = sorted(set(config) - set(first) - _OMITTED)
    settings = [(name, config[name]) for name in (*first, *rest)]
    return tuple(
        Fact(name.replace("_", " "), text) for name, value in settings if (text := as_text(name, value))
    )


def of_mapping(values: Mapping[str, Any]) -> tuple[Fact, ...]:
    return tuple(Fact(str(name), as_text(str(name), value)) for name, value in values.items())


def as_text(name: str, value: Any) -> str:
    """Return a setting as text; masked if its name or value looks like a secret."""
    match value:
        case None:
            return ""
        case Secret():
            return MASK
        case bool():
            return "yes" if value else "no"
        case str():
            return MASK if is_secret_setting(name, value) else value
        case Mapping():
            return ", ".join(f"{key}: {as_text(str(key), setting)}" for key, setting in value.items())
        case list() | tuple():
            return ", ".join(as_text(name, setting) for setting in value)
        case _:
            return str(msgspec.to_builtins(value, enc_hook=str))


def of_query(query: ExplainedQuery, shuffle_partitions: int) -> Iterator[Fact]:
    yield Fact("reads", ", ".join(query.sources))
    yield Fact("output mode", query.mode)
    if query.kind == "stateful" or query.memory:
        yield Fact("partitions of its state", str(shuffle_partitions))
    if query.memory:
        yield Fact("state", query.memory)
    for memory in query.state_memory:
        yield Fact("memory", memory)
    if query.dead_letters:
        yield Fact("dead letters", ", ".join(query.dead_letters))
    if query.keeps:
        yield Fact("keeps as a table", query.keeps)
    yield Fact("real-time mode", "; ".join(query.realtime) or "possible")


def of_test(node: ManifestNode) -> Iterable[Fact]:
    """Return what a data test checks."""
    if node.test:
        yield Fact("checks", node.test.replace("_", " "))
    if column := node.meta.get("column"):
        yield Fact("column", str(column))
    for name, value in (node.meta.get("arguments") or {}).items():
        yield Fact(str(name), as_text(str(name), value))
    if severity := node.config.get("severity"):
        yield Fact("severity", str(severity))
