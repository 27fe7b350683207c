"""Rows on demand: a model computed now, stored rows, and rows of a test."""
