"""Tables in Apache Iceberg, one folder per table."""
