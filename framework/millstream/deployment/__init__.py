"""What becomes of what runs on a target: records and an intent become stages, and nothing is touched."""
