"""Models by the names that people know."""

from __future__ import annotations

from collections.abc import Iterable


def plain(models: Iterable[str]) -> tuple[str, ...]:
    return tuple(model.removeprefix("model.").removeprefix("source.") for model in models)
