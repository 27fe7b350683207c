"""Lineage of nodes and columns, found in a manifest and drawn in several formats."""
