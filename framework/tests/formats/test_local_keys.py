"""Keys in Python, for `produce`, `consume` and unit tests, next to other software."""

import io
import json
import struct
from pathlib import Path

import fastavro
import pytest

from millstream.core.text import Location
from millstream.core.types import Field, parse_type
from millstream.formats.keys import KeyFormat, any_value, key_misfit, written_key
from millstream.formats.registry import KEY, Encoding
from millstream.formats.values import UnfitError
from millstream.kafka.keys import encode_key, key_format_of
from millstream.project.values import Topic, TopicKey

RECORD = json.dumps(
    {
        "type": "record",
        "name": "Id",
        "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}],
    }
)
STRUCT = parse_type("struct<a: bigint, b: string>")
JSON = any_value(Encoding("json"))


def read_avro(schema):
    return lambda data: fastavro.schemaless_reader(
        io.BytesIO(data), fastavro.parse_schema(json.loads(schema)), None
    )


CASES = {
    "text": (KEY, "string", "ü", lambda data: data.decode()),
    "number": (KEY, "bigint", -7, int),
    "bytes": (KEY, "binary", b"\xff", bytes),
    "long": (Encoding("long"), "bigint", -7, lambda data: struct.unpack(">q", data)[0]),
    "JSON text": (JSON, "string", 'a"', json.loads),
    "JSON number": (JSON, "int", 12, json.loads),
    "JSON map": (JSON, "map<string,int>", {"a": 1}, json.loads),
    "JSON struct": (JSON, str(STRUCT), {"a": 1, "b": "x"}, json.loads),
    "Avro long": (Encoding("avro", schema='"long"', single=True), "bigint", -7, read_avro('"long"')),
    "Avro map": (
        Encoding("avro", schema='{"type": "map", "values": "int"}', single=True),
        "map<string,int>",
        {"a": 1},
        read_avro('{"type": "map", "values": "int"}'),
    ),
    "Avro record": (Encoding("avro", schema=RECORD), str(STRUCT), {"a": 1, "b": "x"}, read_avro(RECORD)),
    "framed": (
        Encoding("json", framing="confluent", schema_id=7, single=True),
        "int",
        12,
        lambda data: data[:5] == b"\0\0\0\0\7" and json.loads(data[5:]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_keys_are_read_by_other_software_and_by_us(name):
    encoding, type_, value, read = CASES[name]
    key = KeyFormat(encoding, parse_type(type_))
    data = key.encode(value)
    assert read(data) == value
    assert key.decode(data) == value


@pytest.mark.parametrize(
    ("encoding", "type_", "data"),
    [(KEY, "string", b"\xff"), (KEY, "int", b"x"), (Encoding("long"), "bigint", b"1"), (JSON, "int", b"{")],
)
def test_bad_keys_have_a_reason(encoding, type_, data):
    with pytest.raises(UnfitError):
        KeyFormat(encoding, parse_type(type_)).decode(data)


def test_generators_write_keys_in_the_format_of_the_topic():
    def topic(type_, encoding):
        key = TopicKey("k", parse_type(type_), encoding)
        return Topic("web", "t", ("t",), Location(str(Path("x.yml")), 1, 1, 2), key=key)

    assert encode_key(258, topic("bigint", Encoding("long"))) == bytes((0, 0, 0, 0, 0, 0, 1, 2))
    assert encode_key("a", topic("string", JSON)) == b'"a"'
    assert encode_key(b"as it is", topic("string", JSON)) == b"as it is"
    assert encode_key(None, topic("string", JSON)) is None
    assert encode_key(12, topic("string", KEY)) == b"12"
    assert key_format_of(topic("bigint", Encoding("long"))).decode(bytes(8)) == 0


def test_sinks_write_a_column_as_it_is_and_several_as_a_row():
    a, b = Field("a", parse_type("int")), Field("b", STRUCT)
    assert written_key(None, [a]) == KeyFormat(KEY, a.type)
    assert str(written_key(None, [b]).type) == "struct<b:struct<a:bigint,b:string>>"
    assert str(written_key(None, [a, b]).type) == "struct<a:int,b:struct<a:bigint,b:string>>"
    assert written_key(JSON, [b]) == KeyFormat(JSON, STRUCT)


@pytest.mark.parametrize(
    ("encoding", "type_", "reason"),
    [
        (Encoding("csv"), "int", "csv has rows of columns, and the key is int"),
        (Encoding("long"), "int", "long can't hold int"),
        (KEY, "array<int>", "string can't hold array<int>"),
        (JSON, "array<int>", ""),
        (Encoding("csv"), "struct<a:int>", ""),
    ],
)
def test_types_that_a_format_does_not_have(encoding, type_, reason):
    assert key_misfit(KeyFormat(encoding, parse_type(type_))) == reason
