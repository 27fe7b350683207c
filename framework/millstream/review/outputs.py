"""Names of models and sources without the prefix of their ids."""

from __future__ import annotations

from collections.abc import Iterable


def plain_names(models: Iterable[str]) -> tuple[str, ...]:
    return tuple(model.removeprefix("model.").removeprefix("source.") for model in models)
