"""Formats of record values: a file for each, and a line in `registry.py`.

No value is defined here: a format's module, such as `long`, would hide the type of that name from it.
"""
