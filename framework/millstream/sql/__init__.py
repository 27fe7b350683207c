"""Analyzes SQL text: columns, types and lineage. The only package that uses sqlglot."""
