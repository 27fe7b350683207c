"""Data tests of stored relations."""
