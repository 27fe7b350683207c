"""Values and helpers that every other package uses."""
