"""Runs one query on Spark: its reads, its batches and their progress."""
