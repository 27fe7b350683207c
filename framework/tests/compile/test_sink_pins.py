"""Sinks that are written by what the registry has: `schema='registry'`."""

import pytest
from cli.conftest import run as run  # noqa: PLC0414 - a fixture
from support.schema_cases import CLOSED, INTEGER, STRING, field, object_, record

from millstream.compile import compile_project
from millstream.core.errors import MillstreamError
from millstream.project.pins import Subject, encode_subject, version_of

SOURCE = "sources:\n  - name: shop\n    topics:\n      - name: events\n        columns:\n          - {name: a, type: string}\n          - {name: b, type: string}\n"
MODEL = "{{{{ config(materialized='sink', topic='orders', {options}) }}}}\nselect {columns} from {{{{ source('shop', 'events') }}}}\n"
TWO = record(field("a", ["null", "string"]), field("b", ["null", "string"], default=None))
PROTO = 'syntax = "proto3"; message Other { int32 n = 1; } message Order { optional string a = 1; optional string b = 2; }'


@pytest.fixture
def sink(tmp_path, monkeypatch):
    """Return a function that writes a project with a sink and pins, each a type and texts by version."""

    def write(options, columns="a, b", **pins):
        texts = {
            "pyproject.toml": '[tool.millstream]\nname = "shop"\n',
            "models/sources.yml": SOURCE,
            "models/orders.sql": MODEL.format(options=options, columns=columns),
        }
        for name, (kind, *versions) in pins.items():
            numbered = tuple(version_of(n, 6 + n, kind, text) for n, text in enumerate(versions, 1))
            subject = name.replace("_", "-")
            texts[f"schemas/registry/{subject}.json"] = encode_subject(Subject(subject, "BACKWARD", numbered))
        for path, text in texts.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return write


def compiled(root):
    project = compile_project(root)
    assert project.diagnostics == ()
    return project.manifest.nodes["model.orders"].materialization


def errors(root):
    try:
        diagnostics = compile_project(root).diagnostics
    except MillstreamError as error:
        diagnostics = error.diagnostics
    return [(diagnostic.code, diagnostic.message, diagnostic.help) for diagnostic in diagnostics]


def test_format_framing_and_id_are_those_of_the_newest_version(sink):
    root = sink("schema='registry'", orders_value=("AVRO", record(field("a", "string")), TWO))
    sink_config = compiled(root)
    written = sink_config.encoding
    assert (written.name, written.framing, written.schema_id, written.subject) == (
        "avro",
        "confluent",
        8,
        "orders-value",
    )


def test_values_without_ids(sink):
    root = sink("schema='registry', subject='s', framing='plain'", s=("AVRO", TWO))
    sink_config = compiled(root)
    assert (sink_config.encoding.framing, sink_config.encoding.subject, sink_config.value.pinned_subject) == (
        "plain",
        "",
        "s",
    )


def test_a_message_of_several(sink):
    options = "schema='registry', message='Order'"
    sink_config = compiled(sink(options, orders_value=("PROTOBUF", PROTO)))
    assert (sink_config.encoding.name, sink_config.encoding.message) == ("protobuf", "Order")


def test_keys(sink):
    root = sink(
        "key='a', schema='registry', key_schema='registry'",
        "coalesce(a, '') as a, b",
        orders_key=("AVRO", '"string"'),
        orders_value=("JSON", object_({"b": STRING})),
    )
    sink_config = compiled(root)
    assert (
        sink_config.key_encoding.name,
        sink_config.key_encoding.framing,
        sink_config.key_encoding.single,
        sink_config.key_encoding.subject,
    ) == (
        "avro",
        "confluent",
        True,
        "orders-key",
    )
    assert (sink_config.encoding.name, sink_config.key_only, sink_config.value_columns(["a", "b"])) == (
        "json",
        ("a",),
        ("b",),
    )


@pytest.mark.parametrize(
    ("options", "columns", "pins", "expected"),
    [
        (
            "schema='registry'",
            "a, b",
            {},
            [("MS125", "no schema of subject 'orders-value' is pinned", "run `millstream schemas pull`")],
        ),
        (
            "schema='registry', format='json'",
            "a, b",
            {"orders_value": ("AVRO", TWO)},
            [
                (
                    "MS126",
                    "subject 'orders-value' is AVRO, but the format is json",
                    "omit the format, or name another subject",
                )
            ],
        ),
        (
            "schema='registry'",
            "a, b, a as c",
            {"orders_value": ("AVRO", TWO)},
            [
                (
                    "MS124",
                    "column 'c' is not in subject 'orders-value'",
                    "leave the column out, or add it to the schema",
                )
            ],
        ),
        (
            "schema='registry'",
            "1 as a, b",
            {"orders_value": ("AVRO", TWO)},
            [
                (
                    "MS124",
                    "'a' is int, but string in subject 'orders-value'",
                    "select cast(a as string) as a",
                )
            ],
        ),
        (
            "schema='registry'",
            "a",
            {"orders_value": ("JSON", object_({"a": STRING, "n": INTEGER}, required=["n"], **CLOSED))},
            [("MS124", "subject 'orders-value' requires 'n', which is not a column", "select it")],
        ),
        (
            "schema='registry'",
            "a",
            {"orders_value": ("AVRO", '{"type": "record"}')},
            [
                (
                    "MS123",
                    "version 1 of subject 'orders-value' can't be used: record has no valid name",
                    "change the schema, or name a file of the project instead of 'registry'",
                )
            ],
        ),
        (
            "schema='registry', key='a', key_schema='registry'",
            "1 as a, b",
            {"orders_value": ("AVRO", record(field("b", ["null", "string"]))), "orders_key": ("AVRO", '"string"')},
            [
                (
                    "MS124",
                    "the key is int, but string in subject 'orders-key'",
                    "cast the columns, or change the schema",
                )
            ],
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit(sink, options, columns, pins, expected):
    assert errors(sink(options, columns, **pins)) == expected


def test_the_caret_is_at_the_option(sink, run):
    sink("schema='registry', format='json'", orders_value=("AVRO", TWO))
    (diagnostic,) = run("compile", "--output", "json").json["diagnostics"]
    assert (diagnostic["path"], diagnostic["line"], diagnostic["column"]) == ("models/orders.sql", 1, 67)


def test_a_newer_pin_is_compiled_at_once(sink, run):
    root = sink("schema='registry'", orders_value=("AVRO", TWO))
    assert compiled(root).encoding.schema_id == 7
    sink("schema='registry'", orders_value=("AVRO", TWO, TWO.replace("default", "doc")))
    assert compiled(root).encoding.schema_id == 8
