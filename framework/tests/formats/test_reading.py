"""Which changes of a schema change how old records are read, column by column."""

import json
from base64 import b64encode

import pytest

from millstream.core.types import BIGINT, STRING, Field
from millstream.formats.column_dependencies import reading_of
from millstream.formats.protobuf.compiler import compile_protos
from millstream.formats.registry import Encoding

FIELDS = (Field("a", BIGINT), Field("b", STRING))


def avro(**more):
    inner = {
        "type": "record",
        "name": "In",
        "fields": [{"name": "x", "type": "int", "default": more.pop("inner", 0)}],
    }
    fields = [{"name": "a", "type": "long", **more}, {"name": "b", "type": inner}]
    return Encoding("avro", schema=json.dumps({"type": "record", "name": "R", "fields": fields}))


def proto(tmp_path, a="int64 a = 1", inner="int32 x = 1", enum="E0 = 0; E1 = 1"):
    text = f'syntax = "proto3"; enum E {{ {enum}; }} message In {{ {inner}; repeated In more = 9; E e = 8; }} message R {{ {a}; In b = 2; }}'
    (tmp_path / "r.proto").write_text(text)
    return Encoding(
        "protobuf", schema=b64encode(compile_protos(["r.proto"], [tmp_path])).decode(), message="R"
    )


def changed(old, new):
    """Return what differs, by column."""
    both = {name: [reading_of(encoding, FIELDS, name) for encoding in (old, new)] for name in ("a", "b")}
    return {
        name: sorted(fact for fact in one.keys() | other.keys() if one.get(fact) != other.get(fact))
        for name, (one, other) in both.items()
        if one != other
    }


@pytest.mark.parametrize(
    ("more", "facts"),
    [
        ({"doc": "what it is"}, {}),
        ({"default": 1}, {"a": ["default"]}),
        ({"aliases": ["old"]}, {"a": ["aliases"]}),
        ({"inner": 5}, {"b": ["schema"]}),
        ({"type": "int"}, {"a": ["schema"], "b": ["preceding fields"]}),
    ],
)
def test_avro(more, facts):
    assert changed(avro(), avro(**more)) == facts


@pytest.mark.parametrize(
    ("more", "facts"),
    [
        ({"a": "/* the id */ int64 a = 1"}, {}),
        ({"a": "int64 a = 7"}, {"a": ["number"]}),
        ({"a": "optional int64 a = 1"}, {"a": ["schema"]}),
        ({"a": "sint64 a = 1"}, {"a": ["schema"]}),
        ({"inner": "int32 x = 2"}, {"b": ["schema"]}),
        ({"enum": "E0 = 0; E2 = 1"}, {"b": ["schema"]}),
    ],
)
def test_protobuf(tmp_path, more, facts):
    assert changed(proto(tmp_path), proto(tmp_path, **more)) == facts


def test_formats_without_names_read_by_position():
    assert [reading_of(Encoding("csv"), FIELDS, name)["position"] for name in ("a", "B")] == ["1", "2"]
    assert reading_of(Encoding("csv", options=(("header", "true"),)), FIELDS, "b") == {}
    assert reading_of(Encoding("json"), FIELDS, "b") == {}
