"""State tables in a schema of a PostgreSQL database."""
