"""What the encoder of Protobuf refuses on Spark."""

import pytest
from support.protobuf_spark import SHARED, compiled, encoding, order_schema

from millstream.core.types import STRING, Field, parse_type
from millstream.formats.protobuf import ProtobufSchema


@pytest.fixture(scope="module")
def order(tmp_path_factory):
    return order_schema(tmp_path_factory.mktemp("schemas"))


UNFIT = {
    ("int64 a = 1;", "cast(null as bigint)"): "field a: NULL, which would be read as the default of the field",
    ("repeated int32 a = 1;", "cast(null as array<int>)"): "field a: NULL, which would be read as an empty array",
    ("map<string, int32> a = 1;", "cast(null as map<string, int>)"): "field a: NULL, which would be read as an empty map",
    ("repeated int32 a = 1;", "array(1, null)"): "field a[1]: NULL, which repeated fields and maps can't hold",
    ("map<string, N> a = 1;", "map('k', cast(null as struct<x: int>))"): "field a.k: NULL, which repeated fields",
    ("map<string, N> a = 1;", "map('k', named_struct('x', cast(null as int)))"): "field a.k.x: NULL, which would be read",
    ("int32 a = 1;", "2147483648L"): "field a: '2147483648' is not a value of type int32",
    ("uint32 a = 1;", "-1"): "field a: '-1' is not a value of type uint32",
    ("uint64 a = 1;", "-1L"): "field a: '-1' is not a value of type uint64",
    ("uint64 a = 1;", "18446744073709551616BD"): "field a: '18446744073709551616' is not a value of type uint64",
    ("sint64 a = 1;", "9223372036854775808BD"): "field a: '9223372036854775808' is not a value of type sint64",
    ("E a = 1;", "'TWO'"): "field a: 'TWO' is not a value of enum E",
    ("string a = 1;", "cast(X'ff' as string)"): "field a: the text is not UTF-8",
    ("google.protobuf.Timestamp a = 1;", "timestamp_seconds(253402300800)"): "field a: '253402300800' is not a timestamp",
    ("google.protobuf.Struct a = 1;", "'[]'"): "field a: the JSON value is not an object",
    ("google.protobuf.Struct a = 1;", "'{}{}'"): "field a: there is more after the JSON value",
    ("google.protobuf.Value a = 1;", "'12345678901234567890'"): "field a: '12345678901234567890' is not a double",
    ("google.protobuf.Value a = 1;", "''"): "field a: the text is empty",
    ("string a = 1;", "date_from_unix_date(10000000)"): "field a: '+29349-01-26' is not a date of years 1 to 9999",
}  # fmt: skip


def test_values_that_a_message_cant_hold_are_refused_with_their_field(first_spark, tmp_path):
    names = ("timestamp", "struct")
    imports = "".join(f'import "google/protobuf/{name}.proto"; ' for name in names)
    messages = "".join(f"message M{i} {{ {fields} }}\n" for i, (fields, _) in enumerate(UNFIT))
    text = f'syntax = "proto3"; {imports}{SHARED}\n{messages}'
    file = compiled(tmp_path, "M0", all=text).descriptors
    for index, ((_, value), reason) in enumerate(UNFIT.items()):
        row = first_spark.sql(f"select {value} as a")
        fields = [Field("a", parse_type(row.schema["a"].dataType.simpleString()))]
        with pytest.raises(Exception, match=r"encode_protobuf") as error:
            row.selectExpr(encoding(ProtobufSchema(file, f"M{index}"), fields)).collect()
        assert f"encode_protobuf: {reason}" in str(error.value)


def test_a_oneof_holds_one_value(first_spark, order):
    fields = [Field("card", STRING), Field("voucher", parse_type("struct<sku:string>"))]
    row = first_spark.sql("select 'visa' as card, named_struct('sku', 'x') as voucher")
    with pytest.raises(
        Exception, match="field card: a value, and so has voucher: oneof payment holds only one"
    ):
        row.selectExpr(encoding(order, fields)).collect()
