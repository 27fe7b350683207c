"""Lineage as edges between ends, found in a manifest and drawn in several formats."""
