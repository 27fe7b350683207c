"""Replaces queries of a run by those of another version of the project, while the others continue."""
