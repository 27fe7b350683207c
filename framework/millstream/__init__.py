"""Streaming pipelines as a folder of SQL, on Spark Structured Streaming and Kafka."""

from millstream.outputs.python.batch import Batch

__all__ = ["Batch"]
__version__ = "0.1.0"
