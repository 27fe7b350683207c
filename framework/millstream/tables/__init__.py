"""State tables at rest, read without a JVM."""
