"""Random JSON Schemas of columns: `jsonschema` judges the values, and sources read the same columns from them."""

import json
from datetime import date, datetime, timezone

import jsonschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from millstream.core.types import Array, Field, Map, Row, parse_type
from millstream.formats.json_schema import columns_of
from millstream.formats.json_schema_of import schema_of
from millstream.formats.registry import format_of

ATOMS = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    "binary": st.binary(max_size=5),
    "date": st.dates(date(1, 1, 1)),
    "timestamp": st.datetimes(datetime(1, 1, 2), timezones=st.just(timezone.utc)),  # noqa: DTZ001 - a bound
}
NAMES = st.text("abcé_ .", min_size=1, max_size=3)


def rows(of):
    """Draw fields and a strategy for rows, of strategies that draw a type with a strategy for its values."""

    @st.composite
    def drawn(draw):
        names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
        types = [draw(of) for _ in names]
        fields = tuple(Field(name, type_) for name, (type_, _) in zip(names, types, strict=True))
        values = {name: st.none() | value for name, (_, value) in zip(names, types, strict=True)}
        return fields, st.fixed_dictionaries(values)

    return drawn()


def nested(of):
    return (
        of.map(lambda sample: (Array(sample[0]), st.lists(st.none() | sample[1], max_size=3)))
        | of.map(lambda sample: (Map(parse_type("string"), sample[0]), st.dictionaries(NAMES, st.none() | sample[1], max_size=3)))
        | rows(of).map(lambda sample: (Row(sample[0]), sample[1]))
    )  # fmt: skip


TYPES = st.recursive(
    st.sampled_from([(parse_type(name), values) for name, values in ATOMS.items()]), nested, max_leaves=5
)


@st.composite
def samples(draw):
    fields, values = draw(rows(TYPES))
    required = draw(st.booleans())
    row = draw(values)
    if required and (name := next((n for n, value in row.items() if value is not None), "")):
        fields = tuple(Field(f.name, f.type, f.name != name) for f in fields)
    return fields, row


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(samples())
def test_a_derived_schema_is_true_of_what_is_written_and_has_the_same_columns(sample):
    fields, row = sample
    schema = json.loads(schema_of(fields, "orders"))
    Draft7Validator.check_schema(schema)
    value = json.loads(format_of("json").local.encode(row, fields))
    value = {name: column_value for name, column_value in value.items() if column_value is not None}
    jsonschema.validate(_without_nulls(value, schema), schema, format_checker=Draft7Validator.FORMAT_CHECKER)
    assert columns_of(json.dumps(schema)) == fields


def _without_nulls(value, schema):
    """Return a value as Spark writes it, which omits fields that are NULL, but not elements."""
    options = next((option for option in schema.get("oneOf", ()) if option != {"type": "null"}), schema)
    if isinstance(value, list):
        return [_without_nulls(element, options["items"]) for element in value]
    if not isinstance(value, dict):
        return value
    if "properties" in options:
        properties = options["properties"]
        return {k: _without_nulls(v, properties[k]) for k, v in value.items() if v is not None}
    return {k: _without_nulls(v, options["additionalProperties"]) for k, v in value.items()}
