"""A kind of source for tests: the rows of a folder's Parquet files, of which new ones are read."""
