"""State tables in Delta Lake, one folder per table."""
