"""The queries on Spark."""
