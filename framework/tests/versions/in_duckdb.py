"""Keeps versions with the statements that a run uses, translated for DuckDB: that is quick."""

from datetime import datetime, timedelta, timezone

from maintained.harness import in_memory, insert, translated

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.engine.queries.differences import NEW, STORED, differences_sql
from millstream.engine.queries.version_sql import (
    BATCH_ROWS,
    TOUCHED,
    VersionHorizon,
    newest_sql,
    placed_sql,
    stored_touched_sql,
    touched_sql,
    versions_sql,
)
from millstream.plan.nodes import Column
from millstream.plan.nodes.maintenance import STORED_TOUCHED
from millstream.queries.values import RowVersions, TableOutput

COLUMNS = {"key": "string", "value": "bigint", "valid_from": "timestamp", "valid_to": "timestamp"}


class InDuckDB:
    """A table with versions; times are in UTC."""

    def __init__(self, keep=None, *, replaces=False):
        self.keep = keep
        self.versions = RowVersions(("key",), "" if keep is None else f"{keep} minutes", replaces)
        columns = tuple(Column(name, parse_type(kind)) for name, kind in COLUMNS.items())
        self.table = TableOutput(NodeId("model", "t"), ("key", "valid_from"), columns, versions=self.versions)
        self.duckdb = in_memory()
        self.rows = {}
        """By key and time."""

    def batch(self, records, now=None):
        """Store records: key, time, value; None deletes the key."""
        by = (lambda row: row[0]) if self.versions.replaces else (lambda row: row[:2])
        newest = list({by(row): row for row in records}.values())
        self._table(STORED, self.rows.values())
        rows = [(key, value, time, None, value is None) for key, time, value in newest]
        self._table(BATCH_ROWS, rows, ", _deleted boolean")
        if self.versions.replaces:
            self._create("_given", placed_sql(self.table, self.versions, _literal(now)))
            self._create(BATCH_ROWS, "select * from _given")
        horizon = self._horizon() if self.keep is not None else None
        self._create(TOUCHED, touched_sql(self.versions, horizon))
        self._create(STORED_TOUCHED, stored_touched_sql(self.versions))
        self._create(NEW, versions_sql(self.table, self.versions, horizon))
        changed = self._run(differences_sql(self.table)).fetchall()
        for *row, deleted, copies, present in changed:
            assert copies in {None, 1}, f"two rows of {row}"
            before = self.rows.pop((row[0], row[2]), None)
            assert (before is not None) == bool(present)
            assert before is not None or not deleted
            if not deleted:
                assert before != tuple(row), f"{row} is no difference"
                self.rows[row[0], row[2]] = tuple(row)
        return len(changed)

    def _horizon(self):
        before, batch_newest = (self._run(newest_sql(view)).fetchone()[0] for view in (STORED, BATCH_ROWS))
        newest = [time for time in (before, batch_newest) if time is not None]
        if not newest:
            return None
        ago = timedelta(minutes=self.keep)
        return VersionHorizon(_literal((before or max(newest)) - ago), _literal(max(newest) - ago))

    def _table(self, name, rows, more=""):
        columns = ", ".join(f'"{column}" {kind}' for column, kind in COLUMNS.items())
        self.duckdb.execute(
            f"create or replace table {name} ({columns}{more})".replace("timestamp", "timestamptz")
        )
        insert(self.duckdb, name, list(rows))

    def _create(self, name, sql):
        self._run(f"create or replace table {name} as {sql}")

    def _run(self, sql):
        return self.duckdb.execute(translated(sql))


def _literal(time: datetime) -> str:
    return f"timestamp'{time.astimezone(timezone.utc).isoformat()}'"
