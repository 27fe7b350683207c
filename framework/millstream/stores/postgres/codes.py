"""Errors of tables in PostgreSQL: those of all databases."""

from millstream.stores.databases.codes import CODES

__all__ = ["CODES"]
