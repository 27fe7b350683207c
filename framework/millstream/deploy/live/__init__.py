"""Keeps the queries of a run running."""
