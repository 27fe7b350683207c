"""One query of the plan on Spark: what it reads, what becomes of its batches, and what they say."""
