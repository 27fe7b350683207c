"""A page on this machine that shows a run: its figures, its lineage and the newest rows of what it stores."""
