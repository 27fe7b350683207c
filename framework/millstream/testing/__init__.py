"""Tests of a project: unit tests of models, data tests of what is stored, and pytest items of both."""
