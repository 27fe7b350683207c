"""What the writer of a kind gets of a batch, for kinds that have neither a sink nor a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct


def no_function(name: str) -> Callable[..., Any]:
    raise KeyError(name)


def write_nothing(rows: Any) -> None:
    """Compute all rows of a DataFrame: Spark stores the state of a batch only then."""
    rows.write.format("noop").mode("overwrite").save()


class WriterBatch(Struct, frozen=True):
    """A batch of a model, and what its writer may need."""

    model: str
    """The name of the model."""
    id: str
    """Identifies the batch among all of all models; a repeated one has it again."""
    is_repeated: bool = False
    """It was begun before, and may have been written."""
    environment: str = ""
    """The isolated environment; empty in production."""
    function: Callable[[str], Callable[..., Any]] = no_function
    """Loads a function of the project by its name."""
