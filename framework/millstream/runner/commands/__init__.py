"""`build` and `run`: queries in order, until they have caught up, or until they are asked to stop."""
