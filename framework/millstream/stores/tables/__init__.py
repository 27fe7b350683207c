"""SQL over state tables at rest, reference topics and seeds, without a JVM."""
