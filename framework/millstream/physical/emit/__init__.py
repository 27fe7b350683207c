"""Spark SQL of plan nodes: one SELECT for as many as fit into one, a CTE for what several read."""
