"""Rules make one plan into a better one that gives the same rows."""
