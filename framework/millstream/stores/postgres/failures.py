"""Why queries that read or write tables of PostgreSQL fail."""

from millstream.stores.failures import missing_table

FAILURES = (missing_table(r'ERROR: relation "([^"\n]+)" does not exist'),)
