"""How a review is written: a Markdown comment, or lines for a terminal."""
