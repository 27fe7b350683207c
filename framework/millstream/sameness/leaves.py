"""What decides the rows and values of sources and seeds, besides their names."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from millstream.core.expressions import Expression, render_sql
from millstream.core.node_id import NodeId
from millstream.core.types import Field
from millstream.formats.column_dependencies import reading_of
from millstream.plan.from_sql.catalog import Catalog, RowSpec, TopicSpec
from millstream.plan.nodes import Node, TableScan
from millstream.queries.meanings import digest_text


class LeafMeanings(Struct, frozen=True):
    """Texts that are equal if the rows and the columns of relations are read alike."""

    rows: dict[NodeId, str]
    columns: dict[NodeId, dict[str, str]]
    """By relation and name in lower case; of a seed, its rows say all."""
    tables: dict[NodeId, str]
    """What decides which rows the table of a reference topic has."""

    def column(self, relation: NodeId, name: str) -> str:
        columns = self.columns.get(relation)
        return self.rows.get(relation, "") if columns is None else columns.get(name.lower(), "")

    def rows_of(self, node: Node) -> str:
        rows = self.tables.get(node.relation) if isinstance(node, TableScan) else None
        return self.rows.get(node.relation, "") if rows is None else rows

    def rows_and_columns(self, relation: NodeId) -> str:
        """Return what decides all rows and columns of a relation that is read as it is at rest."""
        columns = sorted(self.columns.get(relation, {}).items())
        rows = self.tables.get(relation, self.rows.get(relation, ""))
        return f"{rows} {columns}" if columns else rows


def leaves_of(catalog: Catalog, seeds: Mapping[NodeId, str]) -> LeafMeanings:
    """Return the facts of all sources and seeds; `seeds` has digests of rows by id."""
    functions = {name: function.digest for name, function in catalog.functions.items()}
    rows = {id_: seeds.get(id_, "") for id_ in catalog.seeds}
    columns: dict[NodeId, dict[str, str]] = {}
    tables: dict[NodeId, str] = {}
    for id_, topic in catalog.topics.items():
        names = topic.pattern or ", ".join(sorted(topic.topics))
        rows[id_] = f"{names} {topic.format.identity} {topic.key_type} {topic.key_format.identity}"
        rows[id_] += " versions" if topic.versions else ""
        rows[id_] += f" {topic.history}" if topic.history else ""
        columns[id_] = columns_of_topic(topic, functions)
        if topic.table:
            tables[id_] = _table(topic, rows[id_], columns[id_])
    for id_, source in catalog.row_sources.items():
        rows[id_] = f"{source.kind} {source.settings}"
        columns[id_] = _columns_of_rows(source, functions)
        if source.unique_by:
            tables[id_] = f"{rows[id_]} {source.unique_by}"
    return LeafMeanings(rows, columns, tables)


def _columns_of_rows(source: RowSpec, functions: Mapping[str, str]) -> dict[str, str]:
    columns = {
        column.name.lower(): f"{column.type} {column.nullable}"
        for column in (*source.columns, *source.metadata)
    }
    calculated = {
        name.lower(): _calculation(expression, columns, functions) for name, expression in source.derived
    }
    return columns | calculated


def columns_of_topic(topic: TopicSpec, functions: Mapping[str, str]) -> dict[str, str]:
    """Return what decides the values of each column: its type, where records have it, how it is computed."""
    fields = [Field(column.name, column.type) for column in topic.fields]
    columns: dict[str, str] = {}
    for field in topic.fields:
        facts = sorted(reading_of(topic.format, fields, field.name).items())
        columns[field.name.lower()] = f"{field.type} {field.nullable} {facts}"
    if topic.key is not None:
        facts = sorted(reading_of(topic.key_format, [Field(topic.key.name, topic.key.type)], "").items())
        columns[topic.key.name.lower()] = f"key {topic.key.type} {topic.key.nullable} {facts}"
    # A computed column may have the name of a field, which it reads.
    calculated = {
        name.lower(): _calculation(expression, columns, functions) for name, expression in topic.derived
    }
    return columns | calculated


def _calculation(expression: Expression, read: Mapping[str, str], functions: Mapping[str, str]) -> str:
    columns = [f"{name.lower()} {read.get(name.lower(), '')}" for name in sorted(expression.columns)]
    called = [f"{name} {functions.get(name, '')}" for name in sorted(expression.functions)]
    return digest_text("\n".join([render_sql(expression, lambda ref: ref.column), *columns, *called]))


def _table(topic: TopicSpec, rows: str, columns: Mapping[str, str]) -> str:
    # A reference topic's table has all columns: wrong values of any of them make a record bad.
    bad = sorted(columns.items()) if topic.on_bad_record != "fail" else []
    time = topic.watermark if topic.versions else None
    return f"{rows} {topic.unique_by} {topic.versions} {topic.on_bad_record} {time} {bad}"
