"""What the stores in SQL databases share: tables, batches and queries, in the SQL of a `Dialect`."""
