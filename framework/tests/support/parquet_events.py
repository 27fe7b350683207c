"""A table of events in Parquet files, and what reads it without code of Millstream."""

from typing import ClassVar

import duckdb

from support.iceberg_events import Events


class ParquetEvents(Events):
    SETTINGS: ClassVar = {"store": "parquet", "parquet_path": "lake"}

    @property
    def pattern(self):
        return f"{self.path}/**/*.parquet"

    def read(self, columns="*"):
        """Return what DuckDB reads."""
        with duckdb.connect() as connection:
            connection.execute("set timezone = 'UTC'")
            source = f"read_parquet('{self.pattern}', hive_partitioning = true, union_by_name = true)"
            return connection.sql(f"select {columns} from {source} order by id").fetchall()

    def data_files(self):
        return sorted(self.path.glob("**/*.parquet"))
