"""Delta tables that other programs write."""
