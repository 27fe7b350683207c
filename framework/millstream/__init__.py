"""Streaming pipelines as a folder of SQL, on Spark Structured Streaming and Kafka."""

__version__ = "0.1.0"
