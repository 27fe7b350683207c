"""Which models run in which streaming query, and each query as values: SQL, sources, outputs, state."""
