"""Which columns of a value are bad does not depend on which others are decoded, in any format."""

import io
import json
import os
from random import Random

import fastavro
import pytest
from support.bad_columns import columns_of
from support.damage import (
    FLAT,
    KINDS,
    PROTO,
    WRONG,
    as_avro,
    as_csv,
    as_json,
    as_xml,
    avro_schema,
    damaged,
    json_texts,
    sample,
    texts_of,
    wrong_avro,
    wrong_json,
    wrong_texts,
)
from support.protobuf_spark import compiled
from support.protobufs import messages_of

from millstream.core.expressions import Expression, join_pieces, render_sql
from millstream.core.types import STRING, Field, parse_type
from millstream.formats.protobuf import protobuf_format
from millstream.formats.registry import Encoding, format_of
from millstream.formats.sql import function_call

COUNT = int(os.environ.get("MILLSTREAM_BAD_VALUES", "150"))
SUBSETS = 6
HOSTILE = [
    b'{"id": 1, "name": "a", "id": "x"}', b'{"id": "x", "id": 1}', b'{"id": null, "id": 1}', b'{"id": 1, "id": null}',
    b'{"tags": [1, {"a": ["\\ud800"]}], "id": 5}', b'{"tags": {"a": [[[1]]]}, "id": 5}', b'{"id": {"a": [1, 2]}, "total": [}',
    b'{"id": [1, "total": 2.0}', b'{"tags": ["\\ud800", "x"], "id": 7, "small": 3e99}', b'{"total": 1e99999999999, "id": 1}',
    b'{"price": 1e-99999999999, "id": 1}', b'{"small": 1e999999999, "id": 1, "total": "x"}', b'{"at": {}, "id": 2, "ok": 1}}',
    b'{"id": ' + b"9" * 12000 + b"}", b'{"total": ' + b"9" * 9000 + b', "id": 1}', b'{"tags": ' + b"[" * 1200 + b"]" * 1200 + b', "id": 1}',
    b"<order><id>1</id><id>2</id><name>a</name></order>", b"<order><id><a><b/></a></id><small>1</small></order>",
    b"<order><id>x<a/></id><small>y</small></order>", b"<order><tags>a</tags><id>1</id><tags><b>c</b></tags></order>",
    b"<order><ok><a>1</a><a>2</a></ok><id>1</id><name><z/>t</name></order>", b"<order id='1'><id>x</id></order>",
    b"1;a;x;2026-01-01T00:00:00Z;y;z;1.5", b";;;;;;", b"x;a;1.0;x;true;1.0;5", b"1;'a;1.0;x;true;1.0;5",
]  # fmt: skip


class Case:
    def __init__(self, decode, kinds, values, required=()):
        self.decode, self.values = decode, values
        self.fields = [Field(name, parse_type(kind), name not in required) for name, kind in kinds.items()]

    def sql(self, names):
        rows = self.decode([field for field in self.fields if field.name in names]).rows
        return render_sql(Expression(join_pieces(rows), STRING))


def values_of(random, write, wrong, others):
    """Yield values, with the field that is wrong if it is only that one, and empty if none is."""
    for number in range(COUNT):
        row = sample(random, number)
        match random.randrange(4):
            case 0:
                yield write(row), ""
            case 1 | 2:
                yield wrong(random, row)
            case _:
                yield damaged(random, write(row), others), None
    yield from ((value, None) for value in HOSTILE)


AVRO_WRONG = {"name": b"\xff\xfe", "tags": [b"a", b"\xc3"], "price": b"\x7f" * 9}
"""Bytes that are no texts, and more digits than a decimal has: the fields after them can be read."""


def wrong_fields(random, row):
    if random.random() < 0.3:
        return wrong_avro(random, row)
    field = random.choice(list(AVRO_WRONG))
    types = {
        "name": ["null", "bytes"],
        "tags": {"type": "array", "items": "bytes"},
        "price": ["null", "bytes"],
    }
    schema = avro_schema()
    schema["fields"] = [
        {**column, "type": types[field]} if column["name"] == field else column for column in schema["fields"]
    ]
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row | {field: AVRO_WRONG[field]})
    return out.getvalue(), field


def of(write, wrong, names):
    def damage(random, row):
        texts, field = wrong(random, row, names)
        return write(texts), field

    return damage


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    random = Random(int(os.environ.get("MILLSTREAM_BAD_SEED", "1")))
    folder = tmp_path_factory.mktemp("protos")
    schema = compiled(folder, "shop.Order", order=PROTO)
    narrow, other = (
        messages_of(folder / name, {"order.proto": text})(f"{name}.Order")
        for name, text in (("shop", PROTO), ("wrong", WRONG))
    )
    options = (("delimiter", ";"), ("quote", "'"), ("escape", "'"))
    proto_kinds = {name: kind for name, kind in KINDS.items() if name != "price"} | {"kind": "string"}
    proto_wrong = {"id": "x", "name": 7, "total": "x", "at": 7, "ok": 2, "small": 2**40, "kind": 3}

    def message(row):
        values = {
            name: row[name]
            for name in ("id", "name", "total", "ok", "small", "tags")
            if row[name] is not None
        }
        return narrow(**values, kind=(0, 1, 5)[row["id"] % 3]).SerializeToString()

    def wrong_message(random, row):
        field = random.choice(list(proto_wrong))
        return message(row) + other(**{field: proto_wrong[field]}).SerializeToString(), field

    def texts(write, names):
        return lambda row: write(texts_of(row, names))

    def plain(encoding):
        return format_of(encoding).spark.decode

    others = [b"", b"{}", b"<a/>", b"1,2", b"[]"]
    written = {
        "json": (plain(Encoding("json")), KINDS, lambda row: as_json(json_texts(row)), wrong_json, ("id",)),
        "csv": (plain(Encoding("csv", options=options)), FLAT, texts(as_csv, FLAT), of(as_csv, wrong_texts, FLAT), ("id",)),
        "xml": (plain(Encoding("xml")), KINDS, texts(as_xml, KINDS), of(as_xml, wrong_texts, KINDS), ("id",)),
        "avro": (plain(Encoding("avro", schema=json.dumps(avro_schema()))), KINDS, as_avro, wrong_fields, ()),
        "protobuf": (protobuf_format(schema).spark.decode, proto_kinds, message, wrong_message, ()),
    }  # fmt: skip
    cases = {
        name: Case(decode, kinds, list(values_of(random, write, wrong, others)), required)
        for name, (decode, kinds, write, wrong, required) in written.items()
    }
    of_union = [(b"\x02" + value, field) for value, field in cases["avro"].values]
    cases["avro_of_a_union"] = Case(_of_union(json.dumps(avro_schema())), KINDS, of_union)
    return cases


def _of_union(schema):
    return lambda fields: function_call("decode_avro", fields, (), (schema, "plain", f'["null", {schema}]'))


FORMATS = ("json", "csv", "xml", "avro", "avro_of_a_union", "protobuf")


@pytest.mark.parametrize("name", FORMATS)
def test_a_column_is_bad_whatever_else_is_decoded(first_spark, cases, name):
    case, random = cases[name], Random(name)
    every = [field.name for field in case.fields]
    subsets = [every] + [
        [column for column in every if random.random() < share] or every[:1]
        for share in (0.2, 0.3, 0.5, 0.5, 0.8)
    ]
    if name == "csv":  # all fields of a line are decoded
        subsets = [every]
    rows = [(index, bytearray(value)) for index, (value, _) in enumerate(case.values)]
    table = first_spark.createDataFrame(rows, "at int, value binary").coalesce(1)
    decoded = table.selectExpr("at", *(f"{case.sql(subset)}[0] as s{n}" for n, subset in enumerate(subsets)))
    partial = 0
    for row in decoded.collect():
        value, field = case.values[row["at"]]
        complete = row["s0"].asDict(recursive=True)
        bad = columns_of(complete.pop("_bad"))
        partial += bool(bad) and None not in bad and len(bad) < len(every)
        if field is not None and bad != {None}:
            assert bad == ({field} - {""}), (value, bad)
        assert all(complete[column] is None for column in (every if None in bad else bad)), value
        for n, names in enumerate(subsets):
            one = row[f"s{n}"].asDict(recursive=True)
            expected = {None} if None in bad else bad.intersection(names)
            assert columns_of(one.pop("_bad")) == expected, (value, names)
            assert repr(one) == repr({column: complete[column] for column in names}), (value, names)
    assert partial > COUNT / 10


@pytest.mark.parametrize("name", FORMATS)
def test_a_record_fails_for_the_columns_that_are_read(first_spark, cases, name):
    """`bad_reason` and the decoder that fails agree with the list of bad columns."""
    case = cases[name]
    every = [field.name for field in case.fields]
    values = [value for value, _ in case.values[:60]]
    rows = [(index, bytearray(value)) for index, value in enumerate(values)]
    table = first_spark.createDataFrame(rows, "at int, value binary").coalesce(1)
    table = table.selectExpr("at", "value", f"{case.sql(every)}[0]._bad as bad")
    subsets = [every[:1], every[1:3], every[3:], []]
    reasons = [
        f"bad_reason(bad{''.join(f', {column!r}' for column in names)}) as r{n}"
        for n, names in enumerate(subsets)
    ]
    for row in table.selectExpr("at", "bad", *reasons).collect():
        entries = row["bad"] or []
        for n, names in enumerate(subsets):
            reason = next(
                (failure["reason"] for failure in entries if failure["column"] in {None, *names}), None
            )
            assert row[f"r{n}"] == reason, values[row["at"]]
