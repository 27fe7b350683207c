"""Tables in a database with Spark."""
