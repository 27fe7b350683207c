"""A table of any store, into which a test puts batches."""

from datetime import datetime, timedelta, timezone

from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.engine.queries.newest_rows import latest_rows
from millstream.engine.queries.small_batches import evaluate_batch, plan_small
from millstream.engine.queries.tables import Tables
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.plan.nodes import Column
from millstream.plan.time_ranges import range_of
from millstream.project.values import Project, Settings, Target
from millstream.queries.values import TableOutput
from millstream.stores.query import StoredProject, run_query
from millstream.stores.registry import store_declaration
from millstream.stores.spark import TableBatch
from millstream.stores.tables.relations import StoredRelation

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
EMPTY = {
    "vars": {}, "sources": {}, "models": {}, "properties": {}, "seeds": {}, "macros": (), "functions": {},
    "generators": (), "tests": (), "unit_tests": (), "exposures": (), "metrics": (), "schemas": {}, "selectors": {},
}  # fmt: skip


def minute(number):
    return None if number is None else START + timedelta(minutes=number)


class Store:
    """The table `latest` of a store. It is written with Spark and read without."""

    def __init__(self, spark, root, message):
        tables = {key: value for key, value in message.items() if key != "catalogs"}
        target = Target("shop", "local", {"tables": tables, "catalogs": message.get("catalogs", {})})
        project = Project(root=str(root), settings=Settings("shop"), target=target, **EMPTY)
        models = {NodeId("model", "latest"): ModelSpec(NodeId("model", "latest"), "latest", None, ())}
        self.tables = Tables(spark, project, Catalog({}, {}, models))
        self.keys = () if store_declaration(message["store"]).appends_only else ("user",)
        self.spark = spark
        self.rest = StoredProject(root, target, {}, dict)
        self.number = -1
        self.new = False
        self.local = False
        """Whether rows are in the driver, as those of small batches."""

    def create(
        self, retention="10 minutes", time="timestamp", order_by="at", keys=None, delete_by=(), **more
    ):
        columns = {"user": "string", "at": time, "value": "int", **more}
        columns_of_table = tuple(Column(name, parse_type(kind)) for name, kind in columns.items())
        text = {"order_by": order_by, "retention": retention, "delete_by": delete_by}
        keys = self.keys if keys is None else keys
        self.table = TableOutput(NodeId("model", "latest"), keys, columns_of_table, text)
        self.new = self.tables.create(self.table, changes=False)

    def other(self, ending):
        return replace(self.table, model=self.table.model.with_ending(ending))

    def batch(self, *rows, number=None):
        self.number = self.number + 1 if number is None else number
        new = self.new and self.number == 0
        deletes = bool(self.table.deleted_by)
        self.merge(self.table, rows, TableBatch("latest/1", self.number, deletes=deletes, new=new))

    def merge(self, table, rows, batch):
        changes = self._changes(table, rows)
        latest = changes if table.deletes_on_request else changes.drop("_deleted")
        latest = latest if table.appends else latest_rows(changes, table.keys, "at")
        if not self.local:
            self.tables.merge(latest, table, batch)
            return
        with evaluate_batch(latest) as changed, plan_small(self.spark, changed.few):
            self.tables.merge(changed.rows, table, replace(batch, local=changed.few))

    def _changes(self, table, rows):
        schema = ", ".join(f"{c.name} {c.type}" for c in table.columns) + ", _deleted boolean"
        width = len(table.columns) + 1
        return self.spark.createDataFrame([(*row, False)[:width] for row in rows], schema).coalesce(1)

    def replace_range(self, start, end, *rows):
        """Replace the rows whose time is in a range; `start` and `end` have a zone, also those of days."""
        column = next(column for column in self.table.columns if column.name == "at")
        part = range_of(column, start, end, timezone.utc)
        changes = self._changes(self.table, rows)
        changes = changes if self.table.deletes_on_request else changes.drop("_deleted")
        self.tables.replace_range(self.tables.not_deleted(changes, self.table), self.table, part)

    def read(self, columns):
        relation = StoredRelation(
            NodeId("model", "latest"),
            "latest",
            "table",
            tuple((column.name, str(column.type)) for column in self.table.columns),
        )
        return sorted(
            run_query(
                f"select {columns} from latest", replace(self.rest, relations={"latest": relation})
            ).rows
        )

    def users(self):
        return [user for (user,) in self.read('"user"')]
