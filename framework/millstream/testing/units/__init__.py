"""Unit tests of models: read, planned, run, compared."""
