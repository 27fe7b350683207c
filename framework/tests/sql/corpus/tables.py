"""The relations of the corpus: as views for Spark, as columns for Millstream.

`models.t` has a column of every type, and each a second time as `…_n`, which can be NULL.
A value made of a NULL and a literal is never NULL itself, but what it holds can be: Millstream's types say no more.
"""

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.sql.values import InputRelation, RelationColumn

_VALUES = {
    "b": ("boolean", "true"),
    "y": ("tinyint", "1Y"),
    "h": ("smallint", "1S"),
    "i": ("int", "1"),
    "l": ("bigint", "1L"),
    "f": ("float", "1F"),
    "d": ("double", "1D"),
    "n": ("decimal(10,2)", "12345678.90"),
    "s": ("string", "'x'"),
    "x": ("binary", "X'00'"),
    "dt": ("date", "date'2026-01-01'"),
    "ts": ("timestamp", "timestamp'2026-01-01'"),
    "tn": ("timestamp_ntz", "timestamp_ntz'2026-01-01'"),
    "iv": ("interval day to second", "interval '1 02:03:04' day to second"),
    "ym": ("interval year to month", "interval '1-2' year to month"),
    "v": ("variant", "parse_json('1')"),
    "a": ("array<int>", "array(1)"),
    "sa": ("array<string>", "array('x')"),
    "aa": ("array<array<int>>", "array(array(1))"),
    "m": ("map<string,int>", "map('a', 1)"),
    "st": ("struct<p:int,q:string>", "named_struct('p', 1, 'q', 'x')"),
    "sts": ("array<struct<p:int,q:string>>", "array(named_struct('p', 1, 'q', 'x'))"),
}
COLUMNS = tuple(_VALUES)

WORDS = (
    "date", "timestamp", "window", "value", "key", "type", "count", "filter", "order", "start", "end", "user",
    "year", "month", "day", "hour", "index", "position", "format", "rank", "row", "first", "last", "min", "max",
    "sum", "if", "array", "map", "struct", "interval", "at", "offset", "limit", "values", "table", "any", "group",
    "comment", "status", "state", "name", "id", "data", "description", "location", "source", "model", "level",
    "action", "delay", "stream", "watermark", "current", "range", "rows", "over", "partition", "cluster", "sort",
    "column", "view", "schema", "database", "left", "right", "replace", "char", "int", "double", "string", "time",
)  # fmt: skip
"""Columns of `models.k`: names that mean something to a parser."""

_PLAIN = {
    (
        "models",
        "orders",
    ): "id bigint, customer string, amount decimal(12,2), ts timestamp, item struct<sku:string,count:int>",
    ("models", "customers"): "id bigint, customer string, country string, age int",
    ("seeds", "countries"): "country string, name string",
    ("models", "k"): ", ".join(f"`{word}` int" for word in WORDS),
}

VIEWS = (
    "create database if not exists models",
    "create database if not exists seeds",
    "create or replace view models.t as select "
    + ", ".join(
        f"{f'coalesce(cast(null as {type_}), {value})' if '<' in type_ else value} as {name}, cast(null as {type_}) as {name}_n"
        for name, (type_, value) in _VALUES.items()
    ),
    *(
        f"create or replace view {'.'.join(name)} as select "
        + ", ".join(f"cast(null as {f.type}) as `{f.name}`" for f in parse_type(f"struct<{columns}>").fields)
        for name, columns in _PLAIN.items()
    ),
)


def _type(text: str):
    return parse_type("interval" if text.startswith("interval") else text)


RELATIONS = {
    ("models", "t"): InputRelation(
        NodeId("model", "t"),
        tuple(
            RelationColumn(name + suffix, _type(type_), nullable=bool(suffix))
            for name, (type_, _) in _VALUES.items()
            for suffix in ("", "_n")
        ),
    ),
    **{
        name: InputRelation(
            NodeId.parse(f"{name[0][:-1]}.{name[1]}"),
            tuple(RelationColumn(f.name, f.type) for f in parse_type(f"struct<{columns}>").fields),
        )
        for name, columns in _PLAIN.items()
    },
}


NOT_NULL = {
    **RELATIONS,
    ("models", "t"): InputRelation(
        NodeId("model", "t"),
        tuple(column for column in RELATIONS["models", "t"].columns if not column.nullable),
    ),
}
"""The same without the columns that can be NULL."""


def empty_table(session):
    """Return the schema of a table with the columns of `models.t`: analyzing its SELECTs is faster than of a view."""
    values = (
        f"{f'coalesce(cast(null as {type_}), {value})' if '<' in type_ else value} as {name}"
        for name, (type_, value) in _VALUES.items()
    )
    return session.sql(f"select {', '.join(values)}").schema
