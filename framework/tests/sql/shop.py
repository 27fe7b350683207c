"""A small shop's relations, and the analysis of SQL over them."""

from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.core.types import DOUBLE, Row, Type, parse_type
from millstream.project.values import Function, FunctionParameter
from millstream.sql.analyze import analyze_sql
from millstream.sql.values import Analysis, InputRelation, RelationColumn


def _columns(text: str, *hidden: str) -> tuple[RelationColumn, ...]:
    row = parse_type(f"struct<{text}>")
    assert isinstance(row, Row)
    shown = tuple(RelationColumn(field.name, field.type, field.name != "id") for field in row.fields)
    return shown + tuple(RelationColumn(name, parse_type("bigint"), hidden=True) for name in hidden)


RELATIONS = {
    ("sources", "shop", "events"): InputRelation(
        NodeId("source", "shop.events"),
        _columns(
            "id bigint, type string, user_id string, value double, price decimal(10,2), ts timestamp, "
            "tags array<string>, labels map<string,int>, meta struct<device:string,os:string>, v variant",
            "_offset",
        ),
    ),
    ("models", "users"): InputRelation(
        NodeId("model", "users"), _columns("id bigint, name string, country string, age int")
    ),
    ("seeds", "countries"): InputRelation(
        NodeId("seed", "countries"), _columns("country string, region string")
    ),
    ("models", "free"): InputRelation(NodeId("model", "free"), _columns("id bigint"), open=True),
}
EVENTS, USERS, COUNTRIES = "source.shop.events", "model.users", "seed.countries"


def _function(
    name: str, *parameters: FunctionParameter, table: bool = False, returns: Type = DOUBLE
) -> Function:
    return Function(
        name, f"macros/{name}.py", Location("macros/x.py", 1, 1), parameters, returns, table=table
    )


FUNCTIONS = {
    "score": _function(
        "score",
        FunctionParameter("type", parse_type("string")),
        FunctionParameter("value", DOUBLE, required=False),
    ),
    "split_up": _function(
        "split_up",
        FunctionParameter("text", parse_type("string")),
        table=True,
        returns=parse_type("struct<word:string,n:int>"),
    ),
}


def analysis(sql: str) -> Analysis:
    return analyze_sql(sql, RELATIONS.get, lambda: ["users", "countries", "events"], FUNCTIONS)


def columns(sql: str) -> str:
    """Return the columns as DDL, with `!` after what is never NULL; there must be nothing wrong."""
    analyzed = analysis(sql)
    assert not analyzed.diagnostics, analyzed.diagnostics
    return ", ".join(f"{c.name} {c.type}{'' if c.nullable else '!'}" for c in analyzed.columns)


def type_of(expression: str) -> str:
    return columns(f"select {expression} as x from sources.shop.events").removeprefix("x ")


def influences(sql: str) -> dict[str, str]:
    """Return each column's sources as text, `*` for the rows'."""
    analyzed = analysis(sql)
    assert not analyzed.diagnostics, analyzed.diagnostics
    short = {EVENTS: "e", USERS: "u", COUNTRIES: "c", "model.free": "f"}

    def as_text(sources) -> str:
        return " ".join(sorted(f"{short[node]}.{column}:{kind}" for node, column, kind in sources))

    return {column.name: as_text(column.sources) for column in analyzed.columns} | {
        "*": as_text(analyzed.rows)
    }


def errors(sql: str) -> list[tuple[str, str]]:
    """Return the code of what is wrong, and the piece of SQL that it points at."""
    return [
        (diagnostic.code, sql[diagnostic.start : diagnostic.stop]) for diagnostic in analysis(sql).diagnostics
    ]
