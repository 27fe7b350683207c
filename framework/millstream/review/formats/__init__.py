"""Formats of a review: a Markdown comment, or lines for a terminal."""
