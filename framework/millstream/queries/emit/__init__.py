"""Spark SQL of plan nodes: as few SELECTs as possible, and a CTE for each node that several read."""
