"""Rows that Spark makes at a steady rate, for demos and tests."""
