"""Topics whose columns come from a schema."""

import pytest
from msgspec.structs import replace
from support.loading import SCHEMA, load, summaries, topics

from millstream.formats.registry import Encoding


def test_columns_are_the_fields_of_the_schema(tmp_path):
    row = (
        "name: orders, schema: ./schemas/orders.json, framing: confluent, "
        "columns: [{name: TOTAL, description: in euros}, {name: day, from: date(at)}]"
    )
    project, errors = topics(tmp_path, row)
    assert errors == []
    topic = project.sources["shop.orders"]
    assert topic.format == Encoding(framing="confluent")
    assert [(c.name, str(c.type or ""), c.nullable, c.description) for c in topic.columns] == [
        ("id", "bigint", False, ""),
        ("total", "double", True, "in euros"),
        ("at", "timestamp", True, ""),
        ("day", "", True, ""),
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            "name: t, schema: schemas/order.json",
            ("MS122", "schemas/order.json", "did you mean 'schemas/orders.json'?"),
        ),
        (
            "name: t, schema: schemas/orders.json, format: csv",
            ("MS122", "schemas/orders.json", "remove it, or set format: json or avro or protobuf"),
        ),
        (
            "name: t, schema: schemas/orders.json, columns: [{name: id, type: string}]",
            ("MS123", "id", "remove the type here, or change the schema"),
        ),
        (
            "name: t, schema: schemas/orders.json, columns: [{name: totl}]",
            ("MS117", "totl", "did you mean 'total'?"),
        ),
        (
            "name: t, format: string, framing: confluent",
            ("MS107", "confluent", "remove it, or change the format"),
        ),
    ],
)
def test_mistakes_are_located(tmp_path, row, expected):
    _, errors = topics(tmp_path, row)
    code, location, remedy = expected
    assert summaries(errors) == [(code, f"models/s.yml: {location}", remedy)]


def test_a_changed_schema_is_read_again(tmp_path):
    memo = {}
    row = {"models/s.yml": "sources: [{name: s, topics: [{name: t, schema: schemas/t.json}]}]"}
    first, _ = load(tmp_path, {**row, "schemas/t.json": SCHEMA}, memo)
    second, _ = load(tmp_path, {**row, "schemas/t.json": SCHEMA.replace("total", "amount")}, memo)
    names = [[column.name for column in project.sources["s.t"].columns] for project in (first, second)]
    assert names == [["id", "total", "at"], ["id", "amount", "at"]]
    assert replace(second.sources["s.t"], columns=()) == replace(first.sources["s.t"], columns=())
