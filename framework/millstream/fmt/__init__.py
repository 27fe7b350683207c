"""Formats the SQL of models, macros and tests, and proves that their meaning is the same."""
