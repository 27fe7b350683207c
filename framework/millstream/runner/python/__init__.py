"""The project's Python functions in Spark."""
