"""State tables in a database of MySQL or MariaDB."""
