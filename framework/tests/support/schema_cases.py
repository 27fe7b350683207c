"""Pairs of schemas at the corners of the rules: format, older, newer, and whether each direction is compatible."""

import json


def record(*fields, **more):
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields), **more})


def field(name, type_, **more):
    return {"name": name, "type": type_, **more}


def object_(properties, **more):
    return json.dumps({"type": "object", "properties": properties, **more})


def proto(body, package="shop", syntax="proto3"):
    return f'syntax = "{syntax}";\npackage {package};\n{body}\n'


CLOSED = {"additionalProperties": False}
STRING, NUMBER, INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
NODE = record(field("id", "int"), field("next", ["null", "Order"], default=None))
WIDER_NODE = record(field("id", "long"), field("next", ["null", "Order"], default=None))
LINK = {"$ref": "#/definitions/tree"}
TREE = object_(
    {"tree": LINK}, definitions={"tree": {"type": "object", "properties": {"id": INTEGER, "next": LINK}}}
)
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}

CASES = {
    "avro: an alias of a renamed field": ("avro", record(field("a", "int")), record(field("b", "int", aliases=["a"])), True, False),
    "avro: a renamed record": ("avro", record(), record(name="Purchase"), False, False),
    "avro: a renamed record with an alias": ("avro", record(), record(name="Purchase", aliases=["Order"]), True, False),
    "avro: another namespace": ("avro", record(namespace="a"), record(namespace="b"), True, True),
    "avro: a record within itself": ("avro", NODE, WIDER_NODE, True, False),
    "avro: null added": ("avro", record(field("a", "int")), record(field("a", ["null", "int"])), True, False),
    "avro: an int read as a union of long and text": ("avro", record(field("a", "int")), record(field("a", ["string", "long"])), True, False),
    "avro: bytes and text": ("avro", record(field("a", "bytes")), record(field("a", "string")), True, True),
    "avro: a logical type": ("avro", record(field("a", {"type": "int", "logicalType": "date"})), record(field("a", "int")), True, True),
    "avro: no enum default": ("avro", record(field("a", {"type": "enum", "name": "E", "symbols": ["A"]})), record(field("a", {"type": "enum", "name": "E", "symbols": ["A", "B"]})), True, False),
    "avro: an enum default": ("avro", record(field("a", {"type": "enum", "name": "E", "symbols": ["A"], "default": "A"})), record(field("a", {"type": "enum", "name": "E", "symbols": ["A", "B"], "default": "A"})), True, True),
    "avro: a map of arrays": ("avro", record(field("a", {"type": "map", "values": {"type": "array", "items": "int"}})), record(field("a", {"type": "map", "values": {"type": "array", "items": "float"}})), True, False),
    "json: a closed object gets a property": ("json", object_({"a": STRING}, **CLOSED), object_({"a": STRING, "b": STRING}, **CLOSED), True, False),
    "json: an open object gets a property": ("json", object_({"a": STRING}), object_({"a": STRING, "b": STRING}), False, True),
    "json: a closed object gets a required property": ("json", object_({"a": STRING}, **CLOSED), object_({"a": STRING, "b": STRING}, required=["b"], **CLOSED), False, False),
    "json: a partially open object gets a fitting property": ("json", object_({}, additionalProperties=STRING), object_({"b": STRING}, additionalProperties=STRING), True, True),
    "json: a partially open object gets another property": ("json", object_({}, additionalProperties=STRING), object_({"b": INTEGER}, additionalProperties=STRING), False, False),
    "json: an object is closed": ("json", object_({"a": STRING}), object_({"a": STRING}, **CLOSED), False, True),
    "json: a reference to itself": ("json", TREE, TREE.replace("integer", "number"), True, False),
    "json: a constant": ("json", object_({"a": {"const": 1}}, **DRAFT_7), object_({"a": {"const": 2}}, **DRAFT_7), False, False),
    "json: a text of an enum": ("json", object_({"a": {"type": "string", "enum": ["x"]}}), object_({"a": {"type": "string", "enum": ["x", "y"]}}), True, False),
    "json: an enum is lifted": ("json", object_({"a": {"type": "string", "enum": ["x"]}}), object_({"a": STRING}), True, False),
    "json: null is added to the types": ("json", object_({"a": {"type": ["string", "integer"]}}), object_({"a": {"type": ["string", "integer", "null"]}}), True, False),
    "json: fewer values are forbidden": ("json", object_({"a": {"not": {"type": "number"}}}), object_({"a": {"not": {"type": "integer"}}}), True, False),
    "json: a tuple gets an item": ("json", object_({"a": {"type": "array", "items": [STRING], "additionalItems": False}}), object_({"a": {"type": "array", "items": [STRING, STRING], "additionalItems": False}}), True, False),
    "json: a dependency": ("json", object_({"a": STRING}), object_({"a": STRING}, dependencies={"a": ["b"]}), False, True),
    "json: anyOf instead of oneOf": ("json", object_({"a": {"oneOf": [STRING, INTEGER]}}), object_({"a": {"anyOf": [STRING, INTEGER]}}), True, False),
    "json: anything": ("json", object_({"a": STRING}), object_({"a": {}}), True, False),
    "json: nothing": ("json", object_({"a": False}), object_({"a": STRING}), True, False),
    "json: a pattern": ("json", object_({"a": {**STRING, "pattern": "a"}}), object_({"a": {**STRING, "pattern": "b"}}), False, False),
    "json: a format": ("json", object_({"a": STRING}), object_({"a": {**STRING, "format": "date"}}), True, True),
    "json: defaults and descriptions": ("json", object_({"a": STRING}), object_({"a": {**STRING, "default": "x", "description": "y"}}, title="z"), True, True),
    "protobuf: another number": ("protobuf", proto("message A { int32 a = 1; }"), proto("message A { string a = 1; }"), False, False),
    "protobuf: a message is added": ("protobuf", proto("message A { int32 a = 1; }"), proto("message A { int32 a = 1; }\nmessage B { int32 b = 1; }"), True, False),
    "protobuf: a nested message is removed": ("protobuf", proto("message A { message B { int32 b = 1; } }"), proto("message A { }"), False, True),
    "protobuf: a required field is added": ("protobuf", proto("message A { optional int32 a = 1; }", syntax="proto2"), proto("message A { optional int32 a = 1; required int32 b = 2; }", syntax="proto2"), False, False),
    "protobuf: a map instead of a text": ("protobuf", proto("message A { string a = 1; }"), proto("message A { map<string, string> a = 1; }"), False, False),
    "protobuf: other values of a map": ("protobuf", proto("message A { map<string, int32> a = 1; }"), proto("message A { map<string, string> a = 1; }"), False, False),
    "protobuf: another message": ("protobuf", proto("message A { B a = 1; } message B {} message C {}"), proto("message A { C a = 1; } message B {} message C {}"), False, False),
}  # fmt: skip
"""With Confluent's verdicts."""

DIFFERENT = {
    "json: a required property with a default": (
        ("json", object_({"a": STRING}), object_({"a": {**STRING, "default": "x"}}, required=["a"]), True, True),
        (False, True),
        "Apicurio ignores defaults: Confluent's clients fill them in",
    ),
    "json: an open object gets a property with any value": (
        ("json", object_({"a": STRING}), object_({"a": STRING, "b": {}}), True, True),
        (False, True),
        "Apicurio does not see that it allows as much as before",
    ),
    "json: null is allowed": (
        ("json", object_({"a": INTEGER}), object_({"a": {"type": ["integer", "null"]}}), True, False),
        (False, False),
        "Apicurio compares a single type with several for texts only",
    ),
    "json: a condition": (
        ("json", object_({}), object_({}, **DRAFT_7, **{"if": {"required": ["a"]}, "then": {"required": ["b"]}}), False, True),
        (False, False),
        "Apicurio compares conditions, Confluent's rules do not",
    ),
    "protobuf: another package": (
        ("protobuf", proto("message A { int32 a = 1; }"), proto("message A { int32 a = 1; }", package="store"), False, False),
        (True, True),
        "Apicurio ignores the package",
    ),
    "protobuf: independent fields become a oneof": (
        ("protobuf", proto("message A { int32 a = 1; int32 b = 2; }"), proto("message A { oneof c { int32 a = 1; int32 b = 2; } }"), False, True),
        (True, True),
        "Apicurio ignores oneofs",
    ),
    "protobuf: a field is added": (
        ("protobuf", proto("message A { int32 a = 1; }"), proto("message A { int32 a = 1; int32 b = 2; }"), True, True),
        (True, False),
        "Apicurio sees a removed field without a reservation",
    ),
    "protobuf: a wider number": (
        ("protobuf", proto("message A { int32 a = 1; }"), proto("message A { int64 a = 1; }"), True, True),
        (False, False),
        "Apicurio accepts no other type, although these are encoded alike",
    ),
    "protobuf: a symbol is added": (
        ("protobuf", proto("enum E { X = 0; } message A { E a = 1; }"), proto("enum E { X = 0; Y = 1; } message A { E a = 1; }"), True, True),
        (True, False),
        "Apicurio refuses that a symbol is removed",
    ),
    "protobuf: a field is renamed": (
        ("protobuf", proto("message A { int32 a = 1; }"), proto("message A { int32 b = 1; }"), True, True),
        (False, False),
        "Apicurio identifies fields by their names, too",
    ),
}  # fmt: skip
"""Cases in which Apicurio's verdict differs from Confluent's: the case, Apicurio's verdicts, the reason."""
