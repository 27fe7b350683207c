"""Models whose rows a Python function of the project writes, batch by batch."""
