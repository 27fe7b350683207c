"""Expressions and queries whose names, types and NULLs Spark and Millstream must agree on."""
