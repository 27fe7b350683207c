"""Schemas of Protobuf: compiled, mapped to columns, and derived from columns."""

from base64 import b64encode

import pytest
from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.confluent.type import decimal_pb2, variant_pb2
from confluent_kafka.schema_registry.confluent.types import decimal_pb2 as old_decimal_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from millstream.core.text import Location
from millstream.core.types import Array, Decimal, Field, Map, Row, parse_type
from millstream.formats.format import SchemaError, SchemaFiles
from millstream.formats.protobuf.compiler import ProtoErrors, compile_protos
from millstream.formats.protobuf.derived import derived_schema
from millstream.formats.protobuf.files import read_files
from millstream.formats.protobuf.mapping import columns_of, is_lossless
from millstream.formats.protobuf.schema import files_of, message_indexes, message_type
from millstream.formats.registry import Encoding, format_of
from millstream.formats.values import UnfitError
from millstream.project.pinned_schemas import pinned_schema
from millstream.project.pins import Subject, version_of
from millstream.project.values import RegistryUse


def compiled(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.proto").write_text(text, encoding="utf-8")
    return compile_protos([f"{next(iter(files))}.proto"], [folder])


def columns(descriptors, message):
    fields = columns_of(descriptors, message)
    return {field.name: f"{field.type}{'' if field.nullable else ' not null'}" for field in fields}


def test_columns_of_proto3(tmp_path):
    text = """
    syntax = "proto3";
    package shop;
    import "google/protobuf/any.proto";
    import "google/protobuf/duration.proto";
    import "google/protobuf/empty.proto";
    import "google/protobuf/field_mask.proto";
    import "google/protobuf/struct.proto";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    import "parts.proto";
    enum Status { UNKNOWN = 0; PAID = 1; }
    message Order {
      message Item { string sku = 1; parts.Part part = 2; }
      double a = 1; float b = 2;
      int32 c = 3; sint32 d = 4; sfixed32 e = 5;
      int64 f = 6; sint64 g = 7; sfixed64 h = 8;
      uint32 i = 9; fixed32 j = 10;
      uint64 k = 11; fixed64 l = 12;
      bool m = 13; string n = 14; bytes o = 15;
      Status p = 16; optional Status q = 17;
      Item r = 18; repeated Item s = 19; repeated uint64 t = 20;
      map<uint32, Item> u = 21;
      oneof one { string v = 22; Item w = 23; }
      google.protobuf.Timestamp x = 24; google.protobuf.Duration y = 25;
      google.protobuf.Int32Value z = 26; google.protobuf.UInt64Value aa = 27; repeated google.protobuf.StringValue ab = 28;
      google.protobuf.Struct ac = 29; google.protobuf.Value ad = 30; repeated google.protobuf.ListValue ae = 31;
      google.protobuf.Any af = 32; google.protobuf.FieldMask ag = 33; google.protobuf.Empty ah = 34;
    }
    """
    parts = 'syntax = "proto3"; package parts; message Part { int32 id = 1; }'
    descriptors = compiled(tmp_path, order=text, parts=parts)
    item = "struct<sku:string,part:struct<id:int>>"
    assert columns(descriptors, "shop.Order") == {
        "a": "double not null",
        "b": "float not null",
        **dict.fromkeys("cde", "int not null"),
        **dict.fromkeys("fgh", "bigint not null"),
        **dict.fromkeys("ij", "bigint not null"),
        **dict.fromkeys("kl", "decimal(20,0) not null"),
        "m": "boolean not null",
        "n": "string not null",
        "o": "binary not null",
        "p": "string not null",
        "q": "string",
        "r": item,
        "s": f"array<{item}> not null",
        "t": "array<decimal(20,0)> not null",
        "u": f"map<bigint,{item}> not null",
        "v": "string",
        "w": item,
        "x": "timestamp",
        "y": "interval",
        "z": "int",
        "aa": "decimal(20,0)",
        "ab": "array<string> not null",
        "ac": "string",
        "ad": "string",
        "ae": "array<string> not null",
        "af": "struct<type_url:string,value:binary>",
        "ag": "struct<paths:array<string>>",
    }
    assert message_indexes(message_type(descriptors, "shop.Order.Item")) == (0, 0)


def test_columns_of_proto2(tmp_path):
    text = """
    syntax = "proto2";
    message M {
      required int32 a = 1; optional int32 b = 2; optional int32 c = 3 [default = 5];
      optional group G = 4 { optional string x = 1; }
      repeated group H = 5 { optional string x = 1; }
    }
    """
    assert columns(compiled(tmp_path, m=text), "M") == {
        "a": "int not null",
        "b": "int",
        "c": "int not null",
        "g": "struct<x:string>",
        "h": "array<struct<x:string>> not null",
    }


RECURSIVE = """
syntax = "proto3";
message Tree { string name = 1; Tree left = 2; repeated Node nodes = 3; map<string, Tree> more = 4; }
message Node { int32 id = 1; Tree tree = 2; }
"""


def test_a_message_within_its_own_type_is_a_text(tmp_path):
    descriptors = compiled(tmp_path, tree=RECURSIVE)
    assert columns(descriptors, "Tree") == {
        "name": "string not null",
        "left": "string",
        "nodes": "array<struct<id:int,tree:string>> not null",
        "more": "map<string,string> not null",
    }
    tree = "struct<name:string,left:string,nodes:array<string>,more:map<string,string>>"
    assert columns(descriptors, "Node") == {"id": "int not null", "tree": tree}


def test_an_unknown_message(tmp_path):
    with pytest.raises(SchemaError, match="the schema has no message Bush"):
        columns_of(compiled(tmp_path, tree=RECURSIVE), "Bush")


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ('syntax = "proto3";\nmessage M {\n\t/* é */ int32 a == 1;\n}', [(3, 19, "Expected field number.")]),
        ('syntax = "proto3";\nmessage M {\n\tint32 a == 1;\n}', [(3, 11, "Expected field number.")]),
        ('syntax = "proto3";\nmessage M { A a = 1; }\nmessage M {}', [(3, 9, '"M" is already defined.'), (2, 13, '"A" is not defined.')]),
        ('syntax = "proto3";\nimport "none.proto";', [(0, 0, "File not found."), (2, 1, 'Import "none.proto" was not found or had errors.')]),
    ],
)  # fmt: skip
def test_errors_have_a_place(tmp_path, text, errors):
    with pytest.raises(ProtoErrors) as raised:
        compiled(tmp_path, bad=text)
    assert [(error.line, error.column, error.message) for error in raised.value.errors] == errors
    assert raised.value.errors[-1].file == str(tmp_path / "bad.proto")


def test_errors_in_an_imported_file_are_there(tmp_path):
    with pytest.raises(ProtoErrors) as raised:
        compiled(tmp_path, a='syntax = "proto3"; import "b.proto";', b='syntax = "proto3";\nmessage { }')
    first = raised.value.errors[0]
    assert (first.file, first.line, first.column) == (str(tmp_path / "b.proto"), 2, 9)


def test_a_missing_file(tmp_path):
    with pytest.raises(ProtoErrors, match=r"none\.proto: the file does not exist"):
        compile_protos(["none.proto"], [tmp_path])


MONEY = """
syntax = "proto3";
import "google/type/money.proto";
import "confluent/meta.proto";
import "confluent/types/decimal.proto";
message M {
  google.type.Money price = 1 [(confluent.field_meta).doc = "in euros"];
  confluent.type.Decimal exact = 2;
}
"""


def test_files_that_registries_have_no_copies_of(tmp_path):
    assert columns(compiled(tmp_path, m=MONEY), "M") == {
        "price": "struct<currency_code:string,units:bigint,nanos:int>",
        "exact": "struct<value:binary,precision:bigint,scale:int>",
    }


@pytest.mark.parametrize(
    "module", [meta_pb2, decimal_pb2, old_decimal_pb2, variant_pb2], ids=lambda module: module.__name__
)
def test_files_of_confluent_are_the_ones_of_its_client(tmp_path, module):
    expected = FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(expected)
    text = f'syntax = "proto3"; import "{expected.name}";'
    actual = next(file for file in files_of(compiled(tmp_path, m=text)) if file.name == expected.name)
    expected.ClearField("options")
    for message in (
        *actual.message_type,
        *(nested for outer in actual.message_type for nested in outer.nested_type),
    ):
        for field in message.field:
            field.ClearField("json_name")
    for field in actual.extension:
        field.ClearField("json_name")
    assert actual == expected


PART = 'syntax = "proto3"; package p; message Part { int32 n = 1; }'
MAIN = 'syntax = "proto3"; import "p/part.proto"; import "google/protobuf/timestamp.proto"; message M { p.Part part = 1; google.protobuf.Timestamp at = 2; }'


@pytest.mark.parametrize(("is_main_encoded", "is_part_encoded"), [(True, True), (True, False), (False, True)])
def test_schemas_that_are_descriptors_in_base64(tmp_path, is_main_encoded, is_part_encoded):
    """Confluent's serializer for Python registers them so."""
    (tmp_path / "p").mkdir()
    (tmp_path / "p/part.proto").write_text(PART)
    imported, _, main = files_of(compiled(tmp_path, whole=MAIN))
    assert (imported.name, main.name) == ("p/part.proto", "whole.proto")
    texts = {
        "schema.proto": b64encode(main.SerializeToString()).decode() if is_main_encoded else MAIN,
        "p/part.proto": b64encode(imported.SerializeToString()).decode() if is_part_encoded else PART,
    }
    schema = read_files(SchemaFiles("schema.proto", texts))
    assert [(column.name, str(column.type)) for column in schema.columns] == [
        ("part", "struct<n:int>"),
        ("at", "timestamp"),
    ]
    del texts["p/part.proto"]
    with pytest.raises(SchemaError, match=r"p/part\.proto"):
        read_files(SchemaFiles("schema.proto", texts))


CLICK, OTHER = "message Click { int64 id = 1; }", "message Other { int64 id = 1; }"
VERSIONS = (f"{CLICK} {OTHER}", f"{OTHER} {CLICK}", OTHER, f"message Outer {{ int32 n = 1; {CLICK} }}", f"{OTHER} {CLICK} message More {{}}")  # fmt: skip


def test_messages_are_where_the_schema_of_their_id_has_them():
    texts = [f'syntax = "proto3"; {message}' for message in VERSIONS]
    versions = tuple(version_of(n, n, "PROTOBUF", text) for n, text in enumerate(texts, 1))
    use = RegistryUse("s", Location("s.yml", 1, 1, 2), message="Click")
    pins = {"s": Subject("s", "NONE", versions)}
    pinned = pinned_schema(
        use, Encoding(framing="confluent"), pins, lambda language, files: language.read(files)
    )
    positions = [(writer.id, writer.schema) for writer in pinned.encoding.writers]
    assert positions == [(1, "0"), (2, "1"), (3, ""), (4, ""), (5, "1")]
    decode = format_of(pinned.encoding).local.decode

    def read(id_, *indexes):
        return decode(bytes((0, 0, 0, 0, id_, *indexes, 8, 5)), pinned.schema.columns)

    first, second = (0,), (2, 2)
    click = {"id": 5}
    assert [read(1, *first), read(2, *second), read(5, *second)] == [click] * 3
    for id_, indexes, reason in (
        (1, second, "the value has message indexes 1, not 0 of message Click"),
        (2, first, "the value has message indexes 0, not 1 of message Click"),
        (3, first, "the schema of the value has no message Click"),
        (4, (4, 0, 0), "the schema of the value has no message Click"),
    ):
        with pytest.raises(UnfitError, match=reason):
            read(id_, *indexes)


def test_files_may_have_any_name(tmp_path):
    (tmp_path / "-I ö.proto").write_text('syntax = "proto3"; message M { int32 x = 1; }')
    assert columns(compile_protos(["-I ö.proto"], [tmp_path]), "M") == {"x": "int not null"}


SIMPLE = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp", "timestamp_ntz", "interval", "decimal(38,10)"]  # fmt: skip
NAMES = st.sampled_from(
    ["a", "b", "a_b", "A", "B", "_a", "items", "Items", "Entry", "a_entry", "AEntry", "x1"]
)
KEYS = st.sampled_from(["string", "int", "bigint", "boolean"]).map(parse_type)


def rows(types):
    fields = st.lists(
        st.tuples(NAMES, types), min_size=1, max_size=6, unique_by=lambda field: json_name(field[0])
    )
    return fields.map(lambda pairs: Row(tuple(Field(*pair) for pair in pairs)))


def json_name(name):
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


SINGLE = st.recursive(
    st.sampled_from(SIMPLE).map(parse_type),
    lambda inner: rows(st.one_of(inner, inner.map(Array), st.builds(Map, KEYS, inner))),
    max_leaves=8,
)
ROWS = rows(st.one_of(SINGLE, SINGLE.map(Array), st.builds(Map, KEYS, SINGLE)))


def read_back(type_):
    """Return the type of a column that is read from a derived message, by its schema alone."""
    match type_:
        case Array(element=element):
            return Array(read_back(element))
        case Map(key=key, value=value):
            return Map(key, read_back(value))
        case Row(fields=fields):
            return Row(tuple(Field(field.name, read_back(field.type)) for field in fields))
        case Decimal():
            return parse_type("string")
    other = {"tinyint": "int", "smallint": "int", "date": "string", "timestamp_ntz": "string"}
    return parse_type(other.get(str(type_), str(type_)))


@settings(max_examples=40)
@given(ROWS)
def test_a_derived_schema_is_what_protoc_makes_of_its_text(tmp_path_factory, row):
    try:
        schema = derived_schema(row.fields, "shop.sales.Order", "order.proto")
    except SchemaError as error:
        assume("needs the name" not in str(error))
        raise
    folder = tmp_path_factory.mktemp("derived")
    (folder / "order.proto").write_text(schema.text)
    expected = FileDescriptorSet.FromString(compile_protos(["order.proto"], [folder]))
    ours = FileDescriptorSet.FromString(schema.descriptors)
    assert {file.name for file in ours.file} == {file.name for file in expected.file}
    (written,) = (file for file in ours.file if file.name == "order.proto")
    (compiled_,) = (file for file in expected.file if file.name == "order.proto")
    assert by_name(written) == by_name(compiled_)
    assert Row(
        tuple(Field(field.name, field.type) for field in columns_of(schema.descriptors, "shop.sales.Order"))
    ) == read_back(row)
    assert all(is_lossless(field.type) for field in row.fields)  # fmt: skip


def by_name(file):
    """Return the file with the nested types in order: protoc writes entries of maps where the map is."""

    def sort(message):
        message.nested_type.sort(key=lambda nested: nested.name)
        for nested in message.nested_type:
            sort(nested)

    sort(file.message_type[0])
    return file


def test_numbers_are_in_the_order_of_columns():
    text = derived_schema((Field("b", parse_type("int")), Field("a", parse_type("array<date>"))), "M").text
    assert text == 'syntax = "proto3";\n\nmessage M {\n  optional int32 b = 1;\n  repeated string a = 2;\n}\n'


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ("a struct<b: variant>", "field a.b: Protobuf has no type for variant"),
        ("a array<array<int>>", "field a: Protobuf has no arrays or maps directly within arrays and maps"),
        (
            "a map<string, map<string, int>>",
            "field a: Protobuf has no arrays or maps directly within arrays and maps",
        ),
        ("a map<double, int>", "field a: keys of maps can't be double"),
        ("a map<date, int>", "field a: keys of maps can't be date"),
        ("a map<decimal(3,1), int>", r"field a: keys of maps can't be decimal\(3,1\)"),
        ("a struct<`b c`: int>", "field a.b c: not a name that Protobuf allows"),
        (
            "a struct<b_c: int, bC: int>",
            "field a.bC: in Protobuf's JSON, the name is the same as that of b_c",
        ),
    ],
)
def test_columns_that_have_no_type(columns, error):
    name, _, type_ = columns.partition(" ")
    with pytest.raises(SchemaError, match=error):
        derived_schema((Field(name, parse_type(type_)),), "M")
