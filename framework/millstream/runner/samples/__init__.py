"""Rows on demand: of a model computed now, of what is stored, of rows that a test gives."""
