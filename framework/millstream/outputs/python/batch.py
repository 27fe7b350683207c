"""What a function of the project learns of the batch that it writes. Projects import it from `millstream`."""

from __future__ import annotations

from msgspec import Struct


class Batch(Struct, frozen=True):
    """A batch of a model's rows."""

    id: str
    """Identifies it among all batches of all models; a repeated one has the same id, and the same rows."""
    is_repeated: bool
    """It was handed over before, and may have been written: completely, in part, or not at all."""
    model: str
    """The name of the model."""
    environment: str = ""
    """The isolated environment in which the model runs; empty in production."""
