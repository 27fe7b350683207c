"""The files of queries: records, pending swaps, versions retained for a rollback."""
