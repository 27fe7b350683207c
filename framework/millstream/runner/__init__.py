"""What commands do with queries: build and run them, and compute samples."""
