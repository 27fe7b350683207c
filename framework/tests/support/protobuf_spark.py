"""Decodes and encodes Protobuf on Spark, by a schema with fields of all kinds."""

import json

from millstream.core.expressions import Expression, Ref, render_sql
from millstream.core.types import STRING
from millstream.formats.protobuf import ProtobufSchema, protobuf_format
from millstream.formats.protobuf.compiler import compile_protos
from millstream.formats.protobuf.mapping import columns_of, is_map
from support.bad_columns import plain

_ORDER = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
import "old.proto";
enum Status { UNKNOWN = 0; PAID = 1; SENT = -7; }
message First { int32 x = 1; }
message Order {
  message Item { string sku = 1; uint32 count = 2; optional float price = 3; }
  int64 id = 1;
  string name = 2;
  optional int32 small = 3;
  uint64 big = 4;
  sint32 zigzag = 5;
  fixed32 fixed = 6;
  bool ok = 7;
  bytes raw = 8;
  double ratio = 9;
  Status status = 10;
  repeated Item items = 11;
  map<string, Item> by_sku = 12;
  repeated sint64 numbers = 13;
  repeated Status statuses = 14;
  google.protobuf.Timestamp at = 15;
  google.protobuf.Duration took = 16;
  google.protobuf.Struct extra = 17;
  google.protobuf.Int32Value maybe = 18;
  oneof payment { string card = 19; Item voucher = 20; }
  old.Old old = 21;
  optional uint32 count = 22;
}
"""
_OLD = """
syntax = "proto2";
package old;
message Old {
  enum Color { RED = 3; BLUE = 4; }
  required int32 a = 1;
  optional string text = 2 [default = "none"];
  optional Color color = 3;
  optional group Inner = 4 { optional int32 x = 1; }
}
"""

SHARED = "enum E { ZERO = 0; ONE = 1; } message N { int32 x = 1; } message Entry { string key = 1; int32 value = 2; }"
"""Types that short schemas use."""


def order_schema(folder):
    return compiled(folder, "shop.Order", order=_ORDER, old=_OLD)


def compiled(folder, name, **files):
    for file, text in files.items():
        (folder / f"{file}.proto").write_text(text)
    return ProtobufSchema(compile_protos([f"{file}.proto" for file in files], [folder]), name)


def order_fields(schema):
    return columns_of(schema.descriptors, schema.message)


def decoding(schema, fields):
    return f"inline({sql(protobuf_format(schema).spark.decode(fields).rows)})"


def encoding(schema, fields):
    items = [(field.name, Expression((Ref(field.name),), field.type)) for field in fields]
    return sql(protobuf_format(schema).spark.encode(items))


def sql(pieces):
    return render_sql(Expression(pieces, STRING), lambda ref: ref.column)


def decoded(spark, values, schema, fields, further=()):
    """Decode values, in order; then calculate further columns."""
    rows = spark.createDataFrame(list(enumerate(map(bytearray, values))), "_at int, value binary")
    decoded_rows = rows.selectExpr("_at", decoding(schema, fields)).selectExpr("*", *further)
    rows = sorted(decoded_rows.collect(), key=lambda row: row["_at"])
    return [plain(row.asDict(recursive=True)) | {"_at": row["_at"]} for row in rows]


def as_held(row, message):
    """Read texts of JSON in a row, which the runtime holds as trees."""
    return {field.name: _parsed(row[field.name], field) for field in message.fields if field.name in row}


def _parsed(value, field):
    if value is None or field.message_type is None:
        return value
    if is_map(field):
        value_field = field.message_type.fields_by_name["value"]
        return {key: _parsed(item, value_field) for key, item in value.items()}
    if isinstance(value, list):
        return [_parsed(member, field) for member in value]
    if field.message_type.full_name in {
        f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue")
    }:
        return _floats(json.loads(value))
    return as_held(value, field.message_type) if isinstance(value, dict) else value


def _floats(value):
    match value:
        case bool():
            return value
        case int():
            return float(value)
        case dict():
            return {key: _floats(member) for key, member in value.items()}
        case list():
            return [_floats(member) for member in value]
        case _:
            return value


def values_of(row):
    """Return the columns of a decoded row."""
    return {name: field for name, field in row.items() if name not in {"_at", "_bad"}}
