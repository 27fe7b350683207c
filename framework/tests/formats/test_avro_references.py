"""Schemas that refer to others, as Confluent's registry stores them; fastavro judges, which is given the parts."""

import io
import json

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st

from millstream.formats.avro.references import self_contained
from millstream.formats.format import SchemaError


def record(name, *fields, **more):
    declared = [{"name": f"f{number}", "type": type_} for number, type_ in enumerate(fields)]
    return {"type": "record", "name": name, "fields": declared, **more}


def bundled(main, others):
    return json.loads(
        self_contained(json.dumps(main), {name: json.dumps(schema) for name, schema in others.items()})
    )


def agreed(main, others, value):
    """Write a value by the separate schemas, and read it by the single one."""
    named = {}
    for schema in others.values():
        parse_schema(schema, named)
    stream = io.BytesIO()
    schemaless_writer(stream, parse_schema(main, named), value)
    stream.seek(0)
    assert schemaless_reader(stream, bundled(main, others)) == value
    assert not stream.read()


A = record("A", "long", namespace="n")
PLAIN = record("P", "int")
COLOR = {"type": "enum", "name": "n.Color", "symbols": ["red", "blue"]}
INNER = record("m.Outer", record("Inner", "string"))
ALL = {"n.A": A, "P": PLAIN, "n.Color": COLOR, "m.Outer": INNER}


@pytest.mark.parametrize(
    ("main", "value"),
    [
        (record("n.B", "A", "n.A"), {"f0": {"f0": 1}, "f1": {"f0": 2}}),
        (record("B", "n.A", "P"), {"f0": {"f0": 1}, "f1": {"f0": 2}}),
        (
            record("k.B", {"type": "array", "items": "n.Color"}, ["null", "n.Color"]),
            {"f0": ["red"], "f1": "blue"},
        ),
        (
            record("B", {"type": "map", "values": "P"}, "P"),
            {"f0": {"x": {"f0": 1}}, "f1": {"f0": 3}},
        ),
        (record("k.B", "m.Outer", "m.Inner"), {"f0": {"f0": {"f0": "x"}}, "f1": {"f0": "y"}}),
        (
            record("k.B", record("P", "n.A", namespace="own"), "own.P"),
            {"f0": {"f0": {"f0": 1}}, "f1": {"f0": {"f0": 2}}},
        ),
    ],
)
def test_a_value_means_the_same(main, value):
    agreed(main, ALL, value)


SPACES = st.sampled_from(["", "a", "a.b"])


@given(st.lists(SPACES, min_size=2, max_size=6), st.booleans())
def test_chains_through_any_namespaces(spaces, nullable):
    others, value = {}, {"f0": 5}
    last = "long"
    # A type without a namespace can't be named inside of one.
    for number, space in enumerate(sorted(spaces, key=lambda name: not name)):
        full = f"{space}.R{number}" if space else f"R{number}"
        schema = record(f"R{number}", ["null", last] if nullable else last, namespace=space)
        value = 5 if number == 0 else value
        value = {"f0": value}
        others[full], last = schema, full
    main = others.pop(last)
    agreed(main, others, value)


@pytest.mark.parametrize(
    ("main", "expected"), [("n.Color", COLOR), (["null", "n.Color", "n.Color"], ["null", COLOR, "n.Color"])]
)
def test_schemas_that_are_no_records(main, expected):
    assert bundled(main, ALL) == expected


def test_nothing_to_refer_to():
    text = '{ "type": "string" }'
    assert self_contained(text, {}) == text


def test_a_broken_part():
    with pytest.raises(SchemaError, match="not JSON"):
        self_contained('"x"', {"x": "{"})
