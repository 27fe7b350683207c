"""Random JSON Schemas as sources: `jsonschema` judges which values are good, and Python's JSON what they hold."""

import json
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from datetime import date, datetime, timezone

import pytest
from hypothesis import strategies as st
from jsonschema import Draft7Validator, FormatChecker
from support.avro import comparable
from support.avro_spark import batches, call, decoded
from support.long import EXAMPLES

from millstream.formats.json_schema import columns_of
from millstream.formats.sql import fields_to_ddl

pytestmark = pytest.mark.long

BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
INTEGERS = st.sampled_from(
    [0, 1, -1, 127, 128, 2**31 - 1, 2**31, -(2**63), 2**63 - 1, 2**63, 2**70, 5.0, 1e3, 1e30]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(timezone.utc))  # noqa: DTZ001 - bounds
ODD = st.sampled_from(
    [None, True, 0, 1.5, -7, 10**20, "", "x", "1", "true", "2026-01-02", "20260102", "2026-01-02T03:04:05", [], [1], {}, {"a": 1}]
)  # fmt: skip
SCALARS = {
    "integer": INTEGERS,
    "number": st.floats(allow_nan=False, allow_infinity=False) | INTEGERS,
    "boolean": st.booleans(),
    "string": TEXTS,
}
FORMATS = {
    "date": st.dates().map(date.isoformat),
    "date-time": TIMES.map(lambda moment: moment.isoformat()),
    "base64": st.binary(max_size=4).map(lambda data: b64encode(data).decode()),
}
RULES = {
    "integer": {"minimum": 0},
    "number": {"exclusiveMaximum": 100},
    "string": {"pattern": "^[a-z]*$", "maxLength": 3},
    "array": {"maxItems": 1},
    "object": {"additionalProperties": False},
}
"""Rules that sources don't check."""
NAMES = st.sampled_from(["a", "b", "é", "c d", "A"])


@st.composite
def scalars(draw):
    kind = draw(st.sampled_from([*SCALARS, *FORMATS, "int", "enum", "any"]))
    match kind:
        case "int":
            return {"type": "integer", "connect.type": draw(st.sampled_from(list(BITS)))}
        case "enum":
            return draw(
                st.sampled_from([{"enum": ["x", "y"]}, {"const": 5}, {"type": "string", "enum": ["x", ""]}])
            )
        case "any":
            return {}
        case "base64":
            return {"type": "string", "contentEncoding": "base64"}
        case "date" | "date-time":
            return {"type": "string", "format": kind}
        case _:
            return {"type": kind} | (RULES.get(kind, {}) if draw(st.booleans()) else {})


@st.composite
def nullable(draw, of):
    schema = draw(of)
    if "type" not in schema or schema["type"] == "null":
        return schema
    match draw(st.sampled_from(["as it is", "as it is", "list", "oneOf", "anyOf"])):
        case "list" if "enum" not in schema:
            return schema | {"type": draw(st.permutations(["null", schema["type"]]))}
        case "oneOf" | "anyOf" as word:
            return {word: draw(st.permutations([{"type": "null"}, schema]))}
        case _:
            return schema


@st.composite
def objects(draw, of):
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique_by=str.lower))
    required = [name for name in names if draw(st.booleans())]
    schema = {"type": "object", "properties": {name: draw(of) for name in names}}
    return (
        schema
        | ({"required": required} if required else {})
        | (RULES["object"] if draw(st.booleans()) else {})
    )


def nested(of):
    return nullable(
        st.one_of(
            st.builds(lambda items: {"type": "array", "items": items}, of),
            st.builds(lambda values: {"type": "object", "additionalProperties": values}, of),
            objects(of),
        )
    )


@st.composite
def samples(draw):
    """Draw the schema of an object, and values of which some have something odd within."""
    part = st.recursive(nullable(scalars()), nested, max_leaves=4)
    schema = draw(objects(part))
    if draw(st.booleans()):  # a part of it is a definition
        name = draw(st.sampled_from(list(schema["properties"])))
        schema["definitions"] = {"part": schema["properties"][name]}
        schema["properties"][name] = {"$ref": "#/definitions/part"}
    return schema, [draw(values(schema, schema)) for _ in range(8)]


@st.composite
def values(draw, schema, root):
    if draw(st.integers(0, 11)) == 0:
        return draw(ODD)
    schema, may_be_null = bare(schema, root)
    if may_be_null and draw(st.integers(0, 3)) == 0:
        return None
    match kind_of(schema):
        case "array":
            return [draw(values(schema["items"], root)) for _ in range(draw(st.integers(0, 2)))]
        case "object":
            members = {}
            for name, member_schema in schema.get("properties", {}).items():
                if name in schema.get("required", ()) or draw(st.booleans()):
                    members[name] = draw(values(member_schema, root))
            if "properties" not in schema:
                for name in draw(st.lists(TEXTS, max_size=2, unique=True)):
                    members[name] = draw(values(schema["additionalProperties"], root))
            return members
        case "any":
            return draw(ODD)
        case "enum":
            return draw(st.sampled_from(schema.get("enum", [schema.get("const")])))
        case kind:
            return draw((SCALARS | FORMATS)[kind])


def bare(schema, root):
    """Return a schema without references and null, and whether null is a value of it."""
    if "$ref" in schema:
        return bare(root["definitions"]["part"], root)
    for word in ("oneOf", "anyOf"):
        if word in schema:
            (other,) = (alternative for alternative in schema[word] if alternative != {"type": "null"})
            return bare(other, root)[0], True
    kind = schema.get("type")
    if isinstance(kind, list):
        return schema | {"type": next(type_name for type_name in kind if type_name != "null")}, True
    return schema, not schema


def kind_of(schema):
    if not schema:
        return "any"
    if "enum" in schema or "const" in schema:
        return "enum"
    return schema.get("format") or schema.get("contentEncoding") or schema["type"]


CHECKER = FormatChecker(["date"])
MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})")


@CHECKER.checks("date-time")
def _is_moment(text):
    return not isinstance(text, str) or MOMENT.fullmatch(text) is not None


def errors(schema, value):
    """Yield what is wrong with a value, within unions too."""
    for error in Draft7Validator(schema, format_checker=CHECKER).iter_errors(value):
        yield from leaves(error)


def leaves(error):
    parts = [part for part in error.context if part.schema != {"type": "null"}]
    if not parts:
        yield error
    for part in parts:
        yield from leaves(part)


def is_checked(error, schema):
    """Whether a source refuses what is wrong; the docs list what it does not check."""
    path = list(error.absolute_path)
    match error.validator:
        case "required":
            missing = re.match(r"'(.*)' is a required property", error.message)[1]
            return not path and not bare(schema["properties"][missing], schema)[1]
        case "type" if not path:
            return True
        case "type" if error.instance is None:
            return len(path) == 1 and path[0] in schema.get("required", ())
        case "type":
            expected = bare(error.schema, schema)[0]
            if kind_of(expected) == "date-time":
                return type(error.instance) is not int and error.instance != 5.0
            return kind_of(expected) != "string" and not (
                kind_of(expected) == "enum" and expected.get("type") == "string"
            )
        case "format":
            return error.schema["format"] == "date" or not re.match(r"\d{4}-\d\d-\d\d", error.instance)
        case _:
            return False


class TooLargeError(Exception):
    """A value that is valid, and that no column holds."""


def column_of(schema, value, root):
    """Return what a column holds of a valid value; texts of any value are JSON."""
    schema, _ = bare(schema, root)
    if value is None:
        return None
    match kind_of(schema):
        case "object" if "properties" in schema:
            return {
                name: column_of(member_schema, value.get(name), root)
                for name, member_schema in schema["properties"].items()
            }
        case "object":
            return {
                name: column_of(schema["additionalProperties"], member, root)
                for name, member in value.items()
            }
        case "array":
            return [column_of(schema["items"], element, root) for element in value]
        case "integer" | "enum" if not isinstance(value, str):
            limit = 2 ** (BITS[schema.get("connect.type", "int64")] - 1)
            if not -limit <= value < limit:
                raise TooLargeError
            return int(value)
        case "number":
            return float(value)
        case "date":
            return date.fromisoformat(value)
        case "date-time":
            return datetime.fromisoformat(value)
        case "base64":
            try:
                return b64decode(value, validate=True)
            except Base64Error:
                raise TooLargeError from None
        case "any":
            return value if isinstance(value, str) else Text(value)
        case _:
            return value


class Text:
    """The text of a JSON value."""

    def __init__(self, value):
        self.value = value


def same(actual, expected):
    match expected:
        case Text(value=value):
            return isinstance(actual, str) and json.loads(actual) == value
        case dict():
            return actual.keys() == expected.keys() and all(
                same(actual[name], member) for name, member in expected.items()
            )
        case list():
            return len(actual) == len(expected) and all(map(same, actual, expected))
        case _:
            return actual == comparable(expected)


def test_values_are_what_jsonschema_says(first_spark):
    counts = {"good": 0, "refused": 0, "not checked": 0, "too large": 0}
    for drawn in batches(samples(), max(25, EXAMPLES // 40)):
        calls = [
            call("decode_json", f"v{n}", fields_to_ddl(columns_of(json.dumps(schema))), "plain")
            for n, (schema, _) in enumerate(drawn)
        ]
        texts = [
            [json.dumps(value, ensure_ascii=False).encode() for value in instances] for _, instances in drawn
        ]
        for (schema, instances), rows in zip(drawn, decoded(first_spark, calls, texts), strict=True):
            for value, row in zip(instances, rows, strict=True):
                counts[verdict(schema, value, row)] += 1
    assert min(counts.values()) > 0, counts


def verdict(schema, value, row):
    """Check what a source makes of a value; return which case it was."""
    wrong = list(errors(schema, value))
    reason = row.pop("_bad")
    if any(is_checked(error, schema) for error in wrong):
        assert reason, (schema, value, wrong)
        return "refused"
    if wrong:
        return "not checked"
    try:
        expected = column_of(schema, value, schema)
    except TooLargeError:
        assert reason, (schema, value)
        return "too large"
    assert reason is None, (schema, value, reason)
    assert same(row, expected), (schema, value, row)
    return "good"
