"""Whether two versions of a model have the same rows, so that a query can keep the SQL that runs.

Whether its state fits is decided by `queries/verdict.py`.
"""
