"""Streaming pipelines as a folder of SQL, on Spark Structured Streaming and Kafka."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.outputs.python.batch import Batch

__all__ = ["Batch"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import what functions of projects name only for them: every command imports this module."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from millstream.outputs.python.batch import Batch

    return Batch
