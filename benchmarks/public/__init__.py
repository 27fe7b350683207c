"""Queries that others published, as tables over tables."""
