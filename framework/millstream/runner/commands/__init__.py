"""`build` and `run`: queries in order, until they have caught up or are stopped."""
