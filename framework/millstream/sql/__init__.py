"""SQL text becomes columns, types and lineage; the only package that knows sqlglot."""
