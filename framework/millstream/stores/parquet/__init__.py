"""Append-only tables of plain Parquet files, one folder per table."""
