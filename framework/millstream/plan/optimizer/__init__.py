"""Rules that rewrite a plan into a better one that gives the same rows."""
