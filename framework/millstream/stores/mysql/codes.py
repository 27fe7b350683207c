"""Errors of tables in MySQL, besides those of all databases."""

from millstream.core.codes import read_codes
from millstream.stores.databases.codes import CODES as OF_DATABASES

CODES = OF_DATABASES | read_codes("""
MS627 tables in MySQL need PyMySQL
    Batches are stored in MySQL and MariaDB, and queries run there, by a library that is not installed.
""")
