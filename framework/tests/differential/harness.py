"""The rows of a project's models: as written, by Spark alone; and by a plan."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from pathlib import Path

from support.plan_text import plan_text
from support.sql_plans import project as write

from millstream.compile import compile_project
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Decode, Node, Plan, SeedScan, TableScan
from millstream.queries.emit.steps import DedupeView, SqlView, in_steps
from millstream.queries.topology import read_catalog, written_plan

_NAMES = re.compile(r"\b(?:models\.(\w+)|sources\.shop\.(\w+)|seeds\.(\w+))\b")
_META = (
    "cast(null as string) as _key, '' as _topic, 0 as _partition, 0L as _offset, timestamp '2024-01-01' as _timestamp, "
    "cast(null as array<struct<key: string, value: binary>>) as _headers"
)

Rows = dict[str, Counter[str]]


class Project:
    """A compiled project and its plan as written."""

    def __init__(self, models: dict[str, str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            compiled = compile_project(write(Path(folder), models), use_cache=False)
        self.diagnostics = [d for d in compiled.diagnostics if d.severity == "error"]
        if not self.diagnostics:
            self.sql = {id_.removeprefix("model."): text for id_, text in compiled.sql.items()}
            self.catalog = read_catalog(compiled)
            self.plan: Plan = written_plan(self.catalog)


def prepare(spark, lines: dict[str, list[str]]) -> None:
    """Make views of the data of topics and of the seed."""
    types = {
        "events": "user_id string, type string, product_id string, value double, amount bigint, tags array<string>, "
        "at timestamp",
        "hits": "visitor string, path string, seen timestamp",
        "users": "user_id string, segment string",
        "products": "product_id string, category string",
    }
    for name, ddl in types.items():
        columns = [part.split(" ")[0] for part in ddl.split(", ")]
        values = ", ".join(lines.get(name, []))
        if values:
            text = f"select * from values {values} as t({', '.join(columns)})"
        else:
            text = "select " + ", ".join(f"cast(null as {part.split(' ', 1)[1]}) as {part.split(' ')[0]}" for part in ddl.split(", ")) + " where false"  # fmt: skip
        casts = ", ".join(f"cast({part.split(' ')[0]} as {part.split(' ', 1)[1]}) as {part.split(' ')[0]}" for part in ddl.split(", "))  # fmt: skip
        meta = "" if name == "products" else f", {_META}"
        spark.sql(f"select {casts}{meta} from ({text})").createOrReplaceTempView(f"given_{name}")


def as_written(spark, project: Project) -> Rows:
    """Run each model's own SQL, each over the results of those before it."""
    for model in project.catalog.models.values():
        sql = _NAMES.sub(_view, project.sql[model.name])
        spark.sql(sql).createOrReplaceTempView(f"made_{model.name}")
        # The records that a topic has of these rows.
        spark.sql(f"select *, {_META} from made_{model.name}").createOrReplaceTempView(f"sent_{model.name}")
    names = [output.model.name for output in project.plan.outputs]
    return _collected(spark, [(name, f"select * from made_{name}") for name in names])


def _view(match: re.Match[str]) -> str:
    model, source, seed = match.groups()
    return f"made_{model}" if model else f"given_{source or seed}"


def by_plan(spark, plan: Plan) -> Rows:
    """Run a plan; `as_written` must have run before, since topics and tables are read as that made them."""
    roots = [output.input for output in plan.outputs]
    executable = in_steps(roots, _leaf, reads=_read)
    for step in executable.steps:
        match step:
            case SqlView():
                spark.sql(step.sql).createOrReplaceTempView(step.name)
            case DedupeView():
                spark.table(step.of).dropDuplicates(list(step.keys)).createOrReplaceTempView(step.name)
    names = [output.model.name for output in plan.outputs]
    finals = [
        f"select {', '.join(f'`{column.name}`' for column in output.columns)} from ({final.sql})"
        for output, final in zip(plan.outputs, executable.emitted.finals, strict=True)
    ]
    ctes = (
        "with " + ",\n".join(f"`{cte.name}` as (\n{cte.sql}\n)" for cte in executable.emitted.ctes)
        if executable.emitted.ctes
        else ""
    )
    return _collected(spark, list(zip(names, finals, strict=True)), ctes)


def _leaf(node: Node) -> str | None:
    match node:
        case Decode():
            return _read(node.relation).replace("made_", "sent_")
        case TableScan() | SeedScan():
            return _read(node.relation)
    return None


def _read(relation: NodeId) -> str:
    kind, name = relation.kind, relation.name
    return f"made_{name}" if kind == "model" else f"given_{name.rpartition('.')[2]}"


def _collected(spark, queries: list[tuple[str, str]], ctes: str = "") -> Rows:
    parts = [f"select '{name}' as model, to_json(struct(*), map('ignoreNullFields', 'false')) as row from ({sql})" for name, sql in queries]  # fmt: skip
    rows_by_model: Rows = {name: Counter() for name, _ in queries}
    for row in spark.sql(f"{ctes}\n" + "\nunion all\n".join(parts)).collect():
        rows_by_model[row.model][row.row] += 1
    return rows_by_model


def differences(expected: Rows, actual: Rows, plan: Plan) -> str:
    """Say which rows differ, and under which plan; nothing where none do."""
    message = [
        f"{name}: missing {dict(list((rows - actual[name]).items())[:5])}, extra {dict(list((actual[name] - rows).items())[:5])}"
        for name, rows in expected.items()
        if rows != actual[name]
    ]
    return "\n".join([*message, plan_text(plan)]) if message else ""
