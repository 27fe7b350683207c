"""Python functions of a project in Spark."""
