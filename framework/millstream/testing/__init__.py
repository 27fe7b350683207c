"""Tests of a project: unit tests of models and data tests of stored rows, both as pytest items."""
