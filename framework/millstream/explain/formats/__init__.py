"""Formats of an explanation, one file each."""
