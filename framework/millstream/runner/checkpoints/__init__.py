"""What is on disk of queries: records, swaps that have begun, versions kept for a rollback."""
