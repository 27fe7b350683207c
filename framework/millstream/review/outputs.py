"""Names of models and sources without the prefix of their ids."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.core.node_id import NodeId


def plain_names(models: Iterable[NodeId]) -> tuple[str, ...]:
    return tuple(model.name if model.kind == "source" else model.shown_name for model in models)
