"""The keys of topics: their formats, types and schemas."""

import json

import pytest
from support.loading import summaries, topics

from millstream.formats.registry import KEY, Encoding
from millstream.project.pins import Subject, encode_subject, version_of

ID = '{"type": "record", "name": "Id", "fields": [{"name": "shop", "type": "string"}, {"name": "n", "type": "long"}]}'
FILES = {
    "schemas/id.avsc": ID,
    "schemas/long.avsc": '{"type": "long"}',
    "schemas/tags.json": '{"type": "array", "items": {"type": "string"}}',
    "schemas/id.proto": 'syntax = "proto3"; message Id { string shop = 1; int64 n = 2; }',
}
VALUE = "columns: [{name: a, type: int}]"


def loaded(root, key, more=""):
    return topics(root, f"name: t, key: {key}, {more}{VALUE}", **FILES)


@pytest.mark.parametrize(
    ("key", "type_"),
    [
        ("k", "string"),
        ("{name: k, type: binary}", "binary"),
        ("{name: k, type: 'decimal(10,2)'}", "decimal(10,2)"),
        ("{name: k, format: long}", "bigint"),
        ("{name: k, format: binary}", "binary"),
        ("{name: k, format: json, type: 'map<string,int>'}", "map<string,int>"),
        ("{name: k, format: json, schema: schemas/tags.json}", "array<string>"),
        ("{name: k, format: avro, schema: schemas/long.avsc}", "bigint"),
        ("{name: k, format: avro, schema: schemas/id.avsc}", "struct<shop:string,n:bigint>"),
        ("{name: k, format: protobuf, schema: schemas/id.proto}", "struct<shop:string,n:bigint>"),
        ("{name: k, format: csv, type: 'struct<a:int>'}", "struct<a:int>"),
    ],
)
def test_the_type_is_that_of_the_schema_or_of_the_format(tmp_path, key, type_):
    project, errors = loaded(tmp_path, key)
    assert errors == []
    assert str(project.sources["shop.t"].key.type) == type_


def test_a_key_is_decoded_as_strictly_as_the_values(tmp_path):
    key = "{name: k, format: avro, framing: confluent, schema: schemas/long.avsc}"
    project, _ = loaded(tmp_path, key, "decoding: lenient, ")
    key_format = project.sources["shop.t"].key.format
    assert (key_format.name, key_format.decoding, key_format.framing, key_format.single) == (
        "avro",
        "lenient",
        "confluent",
        True,
    )
    project, _ = loaded(tmp_path, "k")
    assert project.sources["shop.t"].key.format == KEY == Encoding("string")


def test_a_key_is_that_of_a_pinned_subject(tmp_path):
    versions = (
        version_of(1, 5, "AVRO", '{"type": "int"}'),
        version_of(2, 9, "AVRO", '{"type": "long"}'),
    )
    pins = {"schemas/registry/t-key.json": encode_subject(Subject("t-key", "BACKWARD", versions))}
    key = "{name: k, format: avro, schema: registry}"
    project, errors = topics(tmp_path, f"name: t, key: {key}, {VALUE}", **FILES, **pins)
    assert errors == []
    topic = project.sources["shop.t"]
    assert str(topic.key.type) == "bigint"
    key_format = topic.key.format
    assert (key_format.framing, key_format.single, key_format.schema_id) == ("confluent", True, 9)
    assert [writer.id for writer in key_format.writers] == [5, 9]
    assert [use.subject for use in topic.registry_uses] == ["t-key"]


def test_a_subject_of_keys_that_is_not_pinned(tmp_path):
    key = "{name: k, format: avro, schema: {subject: ids}}"
    _, (diagnostic,) = loaded(tmp_path, key)
    assert (diagnostic.code, diagnostic.help) == ("MS125", "run `millstream schemas pull`")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("{name: k, format: avro}", ("MS108", "k", "add `schema: schemas/k.avsc`")),
        ("{name: k, format: json}", ("MS108", "k", "add `type: …`: json values have no types")),
        ("{name: k, format: long, type: string}", ("MS107", "string", "change its type or its format")),
        ("{name: k, format: csv, type: int}", ("MS107", "int", "change its type or its format")),
        ("{name: k, type: 'array<int>'}", ("MS107", "'array<int>'", "change its type or its format")),
        ("{name: k, framing: confluent}", ("MS107", "confluent", "remove it, or change the format")),
        ("{name: k, format: lng}", ("MS107", "lng", "did you mean 'long'?")),
        (
            "{name: k, format: csv, type: 'struct<a:int>', format_options: {delimeter: x}}",
            ("MS106", "{", "did you mean 'delimiter'?"),
        ),
        (
            "{name: k, format: long, schema: schemas/id.avsc}",
            ("MS122", "schemas/id.avsc", "remove it, or set format: json or avro or protobuf"),
        ),
        (
            "{name: k, format: avro, schema: schemas/it.avsc}",
            ("MS122", "schemas/it.avsc", "did you mean 'schemas/id.avsc'?"),
        ),
        (
            "{name: k, format: avro, schema: schemas/id.avsc, type: string}",
            ("MS123", "string", "remove the type here, or change the schema"),
        ),
    ],
)
def test_mistakes_are_located(tmp_path, key, expected):
    _, errors = loaded(tmp_path, key)
    (diagnostic,) = errors
    line = (tmp_path / diagnostic.location.path).read_text().splitlines()[diagnostic.location.line - 1]
    marked_text = line[diagnostic.location.column - 1 : diagnostic.location.end - 1]
    code, marked, remedy = expected
    assert (diagnostic.code, diagnostic.help) == (code, remedy), summaries(errors)
    assert marked_text.startswith(marked)


COLUMNS = "[{name: shop, type: string}, {name: n, type: bigint}, {name: upper, from: upper(shop)}]"


def test_a_key_in_debezium_can_be_several_columns(tmp_path):
    text = f"name: t, format: debezium, table: true, key: [n, Shop], columns: {COLUMNS}"
    project, errors = topics(tmp_path, text)
    assert errors == []
    key = project.sources["shop.t"].key
    assert (str(key.type), key.columns) == ("struct<n:bigint,shop:string>", ("n", "shop"))
    assert key.format == Encoding("debezium", single=True)
    project, _ = topics(tmp_path, text.replace("[n, Shop]", "[n]"))
    assert (str(project.sources["shop.t"].key.type), project.sources["shop.t"].key.columns) == (
        "bigint",
        ("n",),
    )


@pytest.mark.parametrize(
    ("wrong", "code", "message", "right"),
    [
        (
            "format: json, key: [n, shop]",
            "MS107",
            "a list of columns is a key only in Debezium's topics: the keys of this one are in string",
            "format: json, key: {name: k, type: 'struct<n: bigint, shop: string>', format: json}",
        ),
        ("format: debezium, key: [n, chop]", "MS117", "the key has 'chop', which is not a column with a type", "format: debezium, key: [n, shop]"),
        ("format: debezium, key: [n, upper]", "MS117", "the key has 'upper', which is not a column with a type", "format: debezium, key: [n, shop]"),
    ],
)  # fmt: skip
def test_a_list_that_is_not_a_key_is_reported(tmp_path, wrong, code, message, right):
    _, (diagnostic,) = topics(tmp_path, f"name: t, {wrong}, columns: {COLUMNS}")
    assert (diagnostic.code, diagnostic.message) == (code, message)
    _, errors = topics(tmp_path, f"name: t, {right}, columns: {COLUMNS}")
    assert errors == []


def pairs(key="long", row="long", field="shop"):
    """Return the pinned schemas of a table whose key has two columns."""
    columns = [{"name": "n", "type": key}, {"name": field, "type": "string"}]
    of_row = [{"name": "n", "type": row}, {"name": "shop", "type": "string"}]
    before = ["null", {"type": "record", "name": "Value", "fields": of_row}]
    envelope = [
        {"name": "before", "type": before, "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "op", "type": "string"},
    ]
    pinned = {
        "t-key": {"type": "record", "name": "Key", "fields": columns},
        "t-value": {"type": "record", "name": "Envelope", "fields": envelope},
    }
    return {
        f"schemas/registry/{subject}.json": encode_subject(
            Subject(subject, "NONE", (version_of(1, 7, "AVRO", json.dumps(schema)),))
        )
        for subject, schema in pinned.items()
    }


IN_REGISTRY = "name: t, format: debezium, schema: registry, table: true, key: "


def test_a_key_of_several_columns_in_a_registry(tmp_path):
    project, errors = topics(tmp_path, f"{IN_REGISTRY}[SHOP, n]", **pairs())
    assert errors == []
    key = project.sources["shop.t"].key
    assert (str(key.type), key.columns) == ("struct<n:bigint,shop:string>", ("n", "shop"))


@pytest.mark.parametrize(
    ("key", "pinned", "message", "help_"),
    [
        ("[n, word]", pairs(), "the key has the columns n, shop in subject 't-key'", "write `key: [n, shop]`"),
        ("[n, shop]", pairs(row="string"), "'n' is bigint in the schema of keys, and string in that of rows", "pull both again: `millstream schemas pull`"),
    ],
)  # fmt: skip
def test_a_registry_with_another_key_is_reported(tmp_path, key, pinned, message, help_):
    _, (diagnostic,) = topics(tmp_path, f"{IN_REGISTRY}{key}", **pinned)
    assert (diagnostic.code, diagnostic.message, diagnostic.help) == ("MS123", message, help_)
    _, errors = topics(tmp_path, f"{IN_REGISTRY}[n, shop]", **pairs())
    assert errors == []
