"""The formats and schemas of the keys that sinks write."""

import json

import pytest
from support.shops import Shop

from millstream.compile import compile_project

ID = {
    "type": "record",
    "name": "Id",
    "fields": [{"name": "id", "type": "int"}, {"name": "kind", "type": ["null", "string"]}],
}


@pytest.fixture
def shop(tmp_path):
    project = Shop(tmp_path, "")
    project.write("schemas/id.avsc", json.dumps(ID))
    project.write("schemas/long.avsc", '"long"')
    project.write(
        "schemas/id.proto",
        'syntax = "proto3"; message Id { optional int32 id = 1; optional string kind = 2; }',
    )
    return project


def compiled(shop, options, columns="id, kind, value, named_struct('id', id) as both"):
    config = f"{{{{ config(materialized='sink', {options}) }}}}"
    shop.model("copy", f"{config} select {columns} from {{{{ source('web', 'events') }}}}")
    return compile_project(shop.root, use_cache=False)


@pytest.mark.parametrize(
    ("options", "schema"),
    [
        ("key='id', key_format='avro'", "int"),
        (
            "key=['id', 'kind'], key_format='avro'",
            {
                "type": "record",
                "name": "copy_key",
                "fields": [
                    {"name": "id", "type": ["null", "int"], "default": None},
                    {"name": "kind", "type": ["null", "string"], "default": None},
                ],
            },
        ),
        (
            "key='both', key_format='avro'",
            {
                "type": "record",
                "name": "copy_key",
                "fields": [{"name": "id", "type": ["null", "int"], "default": None}],
            },
        ),
    ],
)
def test_a_schema_is_derived(shop, options, schema):
    project = compiled(shop, options)
    assert project.diagnostics == ()
    assert json.loads(project.manifest.nodes["model.copy"].config["written_key_schema"]) == schema


@pytest.mark.parametrize(
    "options",
    [
        "key=['id', 'kind'], key_format='json'",
        "key='both', key_format='json'",
        "key=['id', 'kind'], key_format='csv', key_format_options={'header': true}",
        "key=['id', 'kind'], key_format='protobuf', key_schema='schemas/id.proto'",
        "key='value', key_format='string'",
    ],
)
def test_formats_of_keys(shop, options):
    assert compiled(shop, options).diagnostics == ()


@pytest.mark.parametrize(
    ("options", "code", "marked", "remedy"),
    [
        ("key='id', key_format='long'", "MS124", "key_format", "choose another format, or another key"),
        ("key='id', key_format='csv'", "MS124", "key_format", "choose another format, or another key"),
        (
            "key=['id', 'kind'], key_format='string'",
            "MS124",
            "key_format",
            "choose another format, or another key",
        ),
        (
            "key='id', key_format='protobuf'",
            "MS108",
            "key_format",
            "set key_schema='schemas/copy_key.proto'",
        ),
        ("key='id', key_format='lng'", "MS120", "key_format", "did you mean 'long'?"),
        ("key_format='json'", "MS121", "key_format", "set key, or remove it"),
        (
            "key='id', key_format='avro', key_subject='ids'",
            "MS121",
            "key_subject",
            "set key_framing='confluent', or remove it",
        ),
        (
            "format='xml', format_options={'header': true}",
            "MS120",
            "format_options",
            "options of xml: row_tag, namespace, envelope, envelope_namespace",
        ),
        ("subject='copies'", "MS121", "subject", "set framing='confluent', or remove it"),
        ("format='csv', framing='confluent'", "MS121", "framing", "remove it, or change the format"),
        (
            "format='string', key='id'",
            "MS124",
            "format",
            "select one column besides the key, or choose another format",
        ),
        (
            "format='long', key=['id', 'kind', 'both']",
            "MS124",
            "format",
            "cast the column to another type, or choose another format",
        ),
        ("key='id', key_framing='confluent'", "MS121", "key_framing", "set key_format"),
        (
            "key='id', key_format='string', key_framing='confluent'",
            "MS121",
            "key_framing",
            "remove it, or change key_format",
        ),
        (
            "key='id', key_format='avro', key_schema='schemas/idd.avsc'",
            "MS122",
            "key_schema",
            "did you mean 'schemas/id.avsc'?",
        ),
        (
            "key='id', key_format='avro', key_schema='schemas/long.avsc'",
            "MS124",
            "key_schema",
            "cast the columns, or change the schema",
        ),
        (
            "key=['id', 'kind'], key_format='avro', key_schema='schemas/id.avsc'",
            "MS124",
            "key_schema",
            "use coalesce(id, …), or let the field be null in the schema",
        ),
        (
            "key=['id', 'kind'], key_format='csv', key_format_options={'delimeter': 'x'}",
            "MS120",
            "key_format_options",
            "did you mean 'delimiter'?",
        ),
    ],
)
def test_mistakes_are_located(shop, options, code, marked, remedy):
    (diagnostic,) = compiled(shop, options).diagnostics
    assert (diagnostic.code, diagnostic.help) == (code, remedy), diagnostic
    assert diagnostic.line[diagnostic.location.column - 1 : diagnostic.location.end - 1] == marked
