"""Codes of the dependency graph."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS501 Nodes depend on each other in a cycle
    Following the refs from one of them leads back to it, so no order of computation exists. Remove one of the
    refs on the path, or move what both sides need into a separate model.
""")
