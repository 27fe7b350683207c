"""Verdicts on schemas, next to what readers that are not ours do with records.

fastavro, jsonschema and Google's Protobuf read records of one schema by the other. What is compatible, they
read; for most of what is not, there is a record that they refuse or read as something else.
"""

import io
import json
from itertools import islice, product
from random import Random

import fastavro
import fastavro.utils
import jsonschema
import pytest
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from support.schema_cases import proto
from support.schema_pairs import PRIMITIVES, avro_pair, json_pair

from millstream.formats.compatibility import compare_schemas, find_incompatibilities
from millstream.formats.format import SchemaFiles
from millstream.formats.protobuf.files import compile_files
from millstream.formats.protobuf.schema import files_of

SUFFIXES = {"avro": ".avsc", "json": ".json", "protobuf": ".proto"}


def files(format_, text):
    return SchemaFiles(f"s{SUFFIXES[format_]}", {f"s{SUFFIXES[format_]}": text})


def rules(format_, writer, reader):
    """Return the names of the rules by which records of one schema can't be read by another."""
    differences = compare_schemas(format_, files(format_, reader), files(format_, writer), "backward")
    return {difference.rule for difference in differences if difference.breaks}


# -- Avro: https://avro.apache.org/docs/1.12.0/specification/#schema-resolution


def avro_records(schema, seed, count=30):
    """Return the bytes of records, the same ones for each run."""
    fastavro.utils.random.seed(seed)
    parsed = fastavro.parse_schema(json.loads(schema))
    for record in islice(fastavro.utils.generate_many(parsed, count), count):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, record)
        yield out.getvalue()


def avro_reads(writer, reader, record):
    """Return whether fastavro reads a record of one schema by another."""
    schemas = (fastavro.parse_schema(json.loads(schema)) for schema in (writer, reader))
    try:
        fastavro.schemaless_reader(io.BytesIO(record), *schemas)
    except UnicodeDecodeError:
        return True  # bytes that are no text: the types fit
    except (ValueError, IndexError, KeyError, TypeError, fastavro.read.SchemaResolutionError):
        return False
    return True


PROMOTIONS = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}
"""As the specification lists them."""


@pytest.mark.parametrize(("written", "read"), [*product((*PRIMITIVES, "null"), repeat=2)])
def test_avro_promotes_the_types_that_its_specification_lists(written, read):
    schemas = [
        json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": t}]})
        for t in (written, read)
    ]
    compatible = written == read or read in PROMOTIONS.get(written, ())
    assert rules("avro", *schemas) == (set() if compatible else {"type_mismatch"})
    records = list(avro_records(schemas[0], 1, 5)) if written != "bytes" else [b"\x02a"]
    assert all(avro_reads(*schemas, record) for record in records) == compatible


NOT_SEEN = {
    "name_mismatch": "fastavro compares the names of types only within unions",
    "missing_union_branch": "a record may not have the type that the reader lacks",
    "missing_enum_symbols": "a record may not have the symbol that the reader lacks",
}
"""What no record, or not each of a few, shows to fastavro."""


@pytest.mark.parametrize("seed", range(150))
def test_fastavro_reads_what_is_compatible(seed):
    old, new = avro_pair(seed)
    for writer, reader in ((old, new), (new, old)):
        broken = rules("avro", writer, reader)
        results = [avro_reads(writer, reader, record) for record in avro_records(writer, seed)]
        if not broken:
            assert all(results), (writer, reader)
        elif not broken & NOT_SEEN.keys():
            assert not all(results), (broken, writer, reader)


# -- JSON Schema


def json_value(random, schema):
    """Return a value that probably fits a schema."""
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "oneOf" in schema:
        return json_value(random, random.choice(schema["oneOf"]))
    match schema.get("type"):
        case "string":
            return random.choice(("", "a", "aaa", "abcdef", "a" * 5, "a" * 6, "a" * 20, "b"))
        case "integer":
            return random.choice((0, 1, 2, 4, 5, 6, 12, 100, 101))
        case "number":
            return random.choice((0.5, 1, 2, 6, 12, 100.5))
        case "boolean":
            return random.choice((True, False))
        case "null":
            return None
        case "array":
            return [json_value(random, schema["items"]) for _ in range(random.randint(0, 4))]
    names = [
        name for name in schema["properties"] if name in schema.get("required", ()) or random.random() < 0.7
    ]
    value = {name: json_value(random, schema["properties"][name]) for name in names}
    if random.random() < 0.3:
        value[random.choice("uvwxyzabcdef")] = random.choice(("text", 7))
    return value


@pytest.mark.parametrize("seed", range(150))
def test_values_that_fit_a_schema_fit_each_compatible_one(seed):
    old, new = json_pair(seed)
    for writer, reader in ((old, new), (new, old)):
        if rules("json", writer, reader):
            continue
        random = Random(seed)
        written, read = (jsonschema.Draft7Validator(json.loads(schema)) for schema in (writer, reader))
        values = (json_value(random, json.loads(writer)) for _ in range(200))
        assert [v for v in values if written.is_valid(v) and not read.is_valid(v)] == [], (writer, reader)


LIMITS = {
    "minLength": ("string", 2, 3, ["ab", "abc"]),
    "maxLength": ("string", 3, 2, ["abc"]),
    "minimum": ("number", 2, 3, [2]),
    "maximum": ("number", 3, 2, [3]),
    "exclusiveMinimum": ("number", 2, 3, [3]),
    "exclusiveMaximum": ("number", 3, 2, [2]),
    "multipleOf": ("integer", 2, 4, [2]),
    "minItems": ("array", 1, 2, [[1]]),
    "maxItems": ("array", 2, 1, [[1, 2]]),
    "minProperties": ("object", 1, 2, [{"a": 1}]),
    "maxProperties": ("object", 2, 1, [{"a": 1, "b": 1}]),
}
"""By keyword: a type, a limit, a stricter one, and values that only the first allows."""


@pytest.mark.parametrize("word", LIMITS)
def test_a_limit_can_be_relaxed_but_not_tightened(word):
    kind, loose, strict, values = LIMITS[word]
    plain, one, other = ({"type": kind, **limit} for limit in ({}, {word: loose}, {word: strict}))
    for wide, narrow in ((one, other), (plain, other)):
        assert not rules("json", json.dumps(narrow), json.dumps(wide))
        assert rules("json", json.dumps(wide), json.dumps(narrow))
        assert all(jsonschema.Draft7Validator(wide).is_valid(value) for value in values)
        assert any(not jsonschema.Draft7Validator(narrow).is_valid(value) for value in values)


# -- Protobuf: https://protobuf.dev/programming-guides/proto3/#updating

SCALARS = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "sint32", "sint64"), 1),
    **dict.fromkeys(("fixed32", "fixed64", "sfixed32", "sfixed64"), 1),
    **dict.fromkeys(("float", "double"), 1.0),
    "bool": True,
    "string": "a",
    "bytes": b"a",
    "E": 1,
}
"""By type: a value that all types of its kind can hold."""


def protobuf_message(schema, name):
    pool = descriptor_pool.DescriptorPool()
    for file in files_of(compile_files(files("protobuf", schema))):
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


@pytest.fixture(scope="module")
def scalars():
    """Return the schema with a field of a type, and its class."""
    schemas = {
        kind: proto(f"message A {{ {kind} a = 1; }} enum E {{ NONE = 0; ONE = 1; }}") for kind in SCALARS
    }
    return {kind: (schema, protobuf_message(schema, "shop.A")) for kind, schema in schemas.items()}


def test_protobuf_reads_what_is_compatible(scalars):
    wrong = []
    for written, read in product(SCALARS, repeat=2):
        (writer, one), (reader, other) = scalars[written], scalars[read]
        try:
            value = other.FromString(one(a=SCALARS[written]).SerializeToString()).a
        except DecodeError:
            value = None
        if (written, read) in {("sint32", "bool"), ("sint64", "bool")}:
            continue  # the bytes of no number but 0 are false, whatever the encoding
        text = value.decode() if isinstance(value, bytes) else value
        expected = "a" if written in {"string", "bytes"} else SCALARS[written]
        if (text == expected) == bool(
            find_incompatibilities(
                "protobuf", files("protobuf", reader), {1: files("protobuf", writer)}, "BACKWARD"
            )
        ):
            wrong.append((written, read, text))
    assert wrong == []


EDITS = {
    "a field is added": ("int32 a = 1;", "int32 a = 1; string b = 2;", True, True),
    "a field is removed": ("int32 a = 1; string b = 2;", "int32 a = 1;", True, True),
    "a field is renamed": ("int32 a = 1;", "int32 b = 1;", True, True),
    "a field has another number": ("int32 a = 1; string b = 2;", "int32 a = 2; string b = 1;", False, False),
    # Google's readers don't read packed numbers as one, but Confluent only compares labels that are written.
    "a field becomes repeated": ("int32 a = 1;", "repeated int32 a = 1;", True, True),
    "an optional field becomes repeated": ("optional int32 a = 1;", "repeated int32 a = 1;", False, False),
    "a text becomes repeated": ("string a = 1;", "repeated string a = 1;", True, True),
    "a field becomes optional": ("int32 a = 1;", "optional int32 a = 1;", True, True),
    "one field moves to a new oneof": ("int32 a = 1;", "oneof c { int32 a = 1; }", True, True),
    "two fields move to a new oneof": ("int32 a = 1; string b = 2;", "oneof c { int32 a = 1; string b = 2; }", False, True),
    "a field moves to an existing oneof": ("int32 a = 1; oneof c { string b = 2; }", "oneof c { int32 a = 1; string b = 2; }", False, True),
    "a field leaves a oneof": ("oneof c { int32 a = 1; string b = 2; }", "int32 a = 1; oneof c { string b = 2; }", True, False),
    "a field of a oneof is removed": ("oneof c { int32 a = 1; string b = 2; }", "oneof c { int32 a = 1; }", False, True),
    "a oneof is removed": ("int32 x = 9; oneof c { int32 a = 1; string b = 2; }", "int32 x = 9;", True, True),
}  # fmt: skip
"""By edit of a message: before, after, and whether new readers read old records, and old readers new ones."""


@pytest.mark.parametrize("edit", EDITS)
def test_edits_of_messages(edit):
    before, after, backward, forward = EDITS[edit]
    old, new = (proto(f"message A {{ {body} }}") for body in (before, after))
    assert (not rules("protobuf", old, new), not rules("protobuf", new, old)) == (backward, forward)
