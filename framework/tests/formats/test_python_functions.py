"""Formats that are Python functions: their columns, and the same functions without Spark."""

import pickle
import subprocess
import sys
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from support.bad_columns import reason_of
from support.loading import load, summaries

from millstream.compile import compile_project
from millstream.core.types import Field, parse_type
from millstream.core.user_code import SourceFile
from millstream.engine.python import functions
from millstream.engine.python.decoding import decoding_call
from millstream.formats.python.checks import MisfitError, fit_value
from millstream.formats.python.codecs import FILES
from millstream.formats.python.expected_types import expected_fields, expected_type
from millstream.formats.registry import Encoding, format_of
from millstream.formats.values import UnfitError
from millstream.kafka.generators import fields_of
from millstream.kafka.topic_decoding import of_sink
from millstream.queries.topology import compiled_topology, physical_of

BAD_LIST = pa.list_(pa.struct([("column", pa.string()), ("reason", pa.string())]))
FILE = """
import json
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, NotRequired, TypedDict


@dataclass
class Item:
    sku: str
    count: int = 1


@dataclass
class Order:
    id: Annotated[int, "int"]
    total: Annotated[Decimal | None, "decimal(10,2)"]
    at: datetime
    day: date | None = None
    items: list[Item] = field(default_factory=list)
    sizes: dict[str, float] = field(default_factory=dict)


def decode_order(value: bytes) -> Order:
    row = json.loads(value)
    day = date.fromisoformat(row["day"]) if row.get("day") else None
    items = [Item(*each) for each in row.get("items", [])]
    total = None if row.get("total") is None else Decimal(row["total"])
    return Order(row["id"], total, datetime.fromisoformat(row["at"]), day, items, row.get("sizes", {}))


def encode_order(row: Order) -> bytes:
    items = [[each.sku, each.count] for each in row.items]
    day = row.day.isoformat() if row.day else None
    whole = {"id": row.id, "total": None if row.total is None else str(row.total), "at": row.at.isoformat()}
    return json.dumps({**whole, "day": day, "items": items, "sizes": row.sizes}).encode()


class Event(TypedDict):
    name: str
    note: NotRequired[str]


def decode_event(value: bytes) -> Event | None:
    return {"name": value.decode()} if value else None


def key_of(key: bytes) -> int:
    return int(key)
"""
SOURCES = """
sources:
  - name: shop
    topics:
      - name: orders
        format: python:decode_order
        format_options: {encode: encode_order}
        key: {name: k, format: "python:key_of"}
        columns: [{name: TOTAL, description: in euros}, {name: id, type: int}, {name: year, from: year(at)}]
      - {name: events, format: "python:decode_event"}
"""


@pytest.fixture
def project(tmp_path):
    loaded, errors = load(tmp_path, {"macros/codecs.py": FILE, "models/shop.yml": SOURCES})
    assert errors == []
    return loaded


def test_columns_are_the_fields_of_the_class(project):
    topic = project.sources["shop.orders"]
    assert [(c.name, str(c.type or ""), c.nullable, c.description) for c in topic.columns] == [
        ("id", "int", False, ""),
        ("total", "decimal(10,2)", True, "in euros"),
        ("at", "timestamp", False, ""),
        ("day", "date", True, ""),
        ("items", "array<struct<sku:string,count:bigint>>", False, ""),
        ("sizes", "map<string,double>", False, ""),
        ("year", "", True, ""),
    ]
    assert (str(topic.key.type), topic.key.format.single) == ("bigint", True)
    assert [(c.name, c.nullable) for c in project.sources["shop.events"].columns] == [
        ("name", False),
        ("note", True),
    ]


def test_values_of_any_kind_round_trip_without_spark(project):
    topic = project.sources["shop.orders"]
    local = format_of(topic.format).local
    row = {
        "id": 7,
        "total": "1.25",
        "at": "2026-01-02T03:04:05Z",
        "items": [{"sku": "a", "count": 2}],
        "sizes": {"x": 1.5},
    }
    value = local.encode(row, fields_of(topic))
    assert local.decode(value, fields_of(topic)) == {
        "id": 7,
        "total": Decimal("1.25"),
        "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc),
        "day": None,
        "items": [{"sku": "a", "count": 2}],
        "sizes": {"x": 1.5},
    }
    key = format_of(topic.key.format).local
    assert key.decode(b"12", [Field("key", topic.key.type)]) == 12
    with pytest.raises(UnfitError, match="no function encodes it: name one in format_options"):
        key.encode(12, [Field("key", topic.key.type)])


BAD = {
    b'{"id": 2147483648, "at": "2026-01-01"}': "field id: 2147483648 is not an int",
    b'{"id": true, "at": "2026-01-01"}': "field id: True is not an int",
    b'{"id": 1, "total": "1.255", "at": "2026-01-01"}': "field total: 1.255 is not a decimal(10,2)",
    b'{"id": 1, "at": "2026-01-01", "items": [["a", "b"]]}': "field items[0].count: 'b' is not a bigint",
    b'{"id": 1, "at": "2026-01-01", "sizes": {"x": "y"}}': "field sizes['x']: 'y' is not a double",
    b"x": "decode_order(): JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
}


def test_bad_records_have_the_same_reasons_with_and_without_spark(project):
    topic = project.sources["shop.orders"]
    fields = [Field(c.name, c.type, c.nullable) for c in topic.columns if c.expression is None]
    source = SourceFile("macros/codecs.py", FILE, "reasons")
    types = pa.struct(
        [
            ("id", pa.int32()), ("total", pa.decimal128(10, 2)), ("at", pa.timestamp("us", "UTC")), ("day", pa.date32()),
            ("items", pa.list_(pa.struct([("sku", pa.string()), ("count", pa.int64())]))),
            ("sizes", pa.map_(pa.string(), pa.float64())), ("_bad", BAD_LIST),
        ]
    )  # fmt: skip
    call = decoding_call(
        source, "decode_order", expected_fields(fields), pa.list_(types), optional=False, single=False
    )
    good = b'{"id": 1, "total": "1.5", "at": "2026-01-01T00:00:00", "sizes": {"x": 2}}'
    decoded = call(pa.array([good, *BAD, None], pa.binary())).to_pylist()
    assert decoded[0][0] | {"sizes": dict(decoded[0][0]["sizes"])} == {
        "id": 1, "total": Decimal("1.50"), "at": datetime(2026, 1, 1, tzinfo=timezone.utc), "day": None, "items": [],
        "sizes": {"x": 2.0}, "_bad": None,
    }  # fmt: skip
    for (value, why), (row,) in zip(BAD.items(), decoded[1:-1], strict=True):
        reason = reason_of(row["_bad"])
        assert reason.startswith(why)
        with pytest.raises(UnfitError) as error:
            format_of(topic.format).local.decode(value, fields)
        assert str(error.value) == reason
    assert decoded[-1][0]["_bad"] == [{"column": None, "reason": "the record has no value"}]


def test_none_of_an_optional_row_is_no_record():
    source, arrow = (
        SourceFile("macros/codecs.py", FILE, "optional"),
        pa.struct([("name", pa.string()), ("_bad", BAD_LIST)]),
    )
    fields = expected_fields([Field("name", parse_type("string"), nullable=False)])
    call = decoding_call(source, "decode_event", fields, pa.list_(arrow), optional=True, single=False)
    decoded = call(pa.array([b"a", b"", b"b", b"\xff", b""], pa.binary())).to_pylist()
    assert [[row["name"] for row in rows] for rows in decoded] == [["a"], [], ["b"], [None], []]


AGAIN = """
import os
import sys
from dataclasses import dataclass
from enum import Enum, IntEnum


@dataclass
class Row:
    id: int
    name: str
    tags: list[str]


class Number(IntEnum):
    ONE = 1


class Name(str, Enum):
    A = "a"


ROW = Row(0, "", [])


def decode_again(value: bytes) -> Row:
    if value == b"enums":
        return Row(Number.ONE, Name.A, [Name.A])
    if value == b"os":
        os._exit(4)
    if value == b"Ctrl-C":
        raise KeyboardInterrupt
    ROW.id, ROW.name = len(value), value.decode()
    ROW.tags.append(ROW.name)
    del ROW.tags[:-1]
    return ROW


def encode_again(row: Row) -> bytes | None:
    match row.name:
        case "none":
            return None
        case "bytearray":
            return bytearray(b"x")
        case "exit":
            sys.exit(1)
        case "Ctrl-C":
            raise KeyboardInterrupt
    return row.name.encode()
"""
AGAIN_TYPE = pa.struct(
    [("id", pa.int64()), ("name", pa.string()), ("tags", pa.list_(pa.string())), ("_bad", BAD_LIST)]
)


def test_a_function_may_change_the_row_that_it_returned_before():
    fields = [
        Field("id", parse_type("bigint")),
        Field("name", parse_type("string")),
        Field("tags", parse_type("array<string>")),
    ]
    call = decoding_call(
        SourceFile("macros/codecs.py", AGAIN, "again"), "decode_again", expected_fields(fields), pa.list_(AGAIN_TYPE),
        optional=False, single=False,
    )  # fmt: skip
    decoded = call(pa.array([b"a", b"os", b"bcd", b"enums"], pa.binary())).to_pylist()
    assert [(row["id"], row["name"], row["tags"]) for (row,) in decoded] == [
        (1, "a", ["a"]), (None, None, None), (3, "bcd", ["bcd"]), (1, "a", ["a"]),
    ]  # fmt: skip
    reason = "decode_again(): RuntimeError: os._exit(4) would end the worker"
    assert reason_of(decoded[1][0]["_bad"]).startswith(reason)


@pytest.fixture
def again(tmp_path):
    topic = "{name: rows, format: 'python:decode_again', format_options: {encode: encode_again}}"
    sources = f"sources:\n  - name: shop\n    topics:\n      - {topic}\n"
    project, errors = load(tmp_path, {"macros/codecs.py": AGAIN, "models/shop.yml": sources})
    assert errors == []
    spec = project.sources["shop.rows"]
    return format_of(spec.format).local, fields_of(spec)


def test_members_of_enums_are_their_values(again):
    local, fields = again
    row = local.decode(b"enums", fields)
    assert row == {"id": 1, "name": "a", "tags": ["a"]}
    assert [type(member) for member in (row["id"], row["name"], row["tags"][0])] == [int, str, str]


def test_without_spark_functions_write_what_they_write_with_it(again):
    local, fields = again
    written = {
        name: local.encode({"id": 1, "name": name, "tags": []}, fields) for name in ("none", "bytearray", "a")
    }
    assert written == {"none": None, "bytearray": b"x", "a": b"a"}
    with pytest.raises(UnfitError, match=r"encode_again\(\): SystemExit: 1 \(macros/codecs.py:"):
        local.encode({"id": 1, "name": "exit", "tags": []}, fields)


def test_ctrl_c_ends_a_command_and_not_only_the_call_of_a_function(again):
    local, fields = again
    with pytest.raises(KeyboardInterrupt):
        local.decode(b"Ctrl-C", fields)
    with pytest.raises(KeyboardInterrupt):
        local.encode({"id": 1, "name": "Ctrl-C", "tags": []}, fields)


def test_workers_need_no_millstream(tmp_path):
    fields = expected_fields([Field("name", parse_type("string"))])
    arrow = pa.list_(pa.struct([("name", pa.string()), ("_bad", BAD_LIST)]))
    assert functions.register_decoders  # its module tells pickle what to send
    call = decoding_call(
        SourceFile("macros/codecs.py", FILE, "alone"),
        "decode_event",
        fields,
        arrow,
        optional=True,
        single=False,
    )
    (tmp_path / "call").write_bytes(cloudpickle.dumps(call))
    code = (
        "import sys, pickle, pyarrow as pa\n"
        "sys.modules['millstream'] = None\n"
        "call = pickle.load(open('call', 'rb'))\n"
        "print(call(pa.array([b'a', b'\\xff', None], pa.binary())).to_pylist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "'name': 'a', '_bad': None" in done.stdout
    assert "decode_event(): UnicodeDecodeError" in done.stdout


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("double", [1, 1.5, float("nan")], [2**53 + 1, True, "1"]),
        ("float", [1.5], [1e39]),
        ("tinyint", [-128, 127], [128, -129]),
        (
            "decimal(4,2)",
            [Decimal("99.99"), 1, Decimal("1E+1"), Decimal("0E-9")],
            [100, Decimal("0.001"), Decimal("NaN")],
        ),
        ("date", [date(2026, 1, 1)], [datetime(2026, 1, 1), "2026-01-01"]),  # noqa: DTZ001
        ("timestamp_ntz", [datetime(2026, 1, 1)], [datetime(2026, 1, 1, tzinfo=timezone.utc)]),  # noqa: DTZ001
        ("binary", [b"a", bytearray(b"b")], ["a"]),
        ("string", ["a"], [b"a", "\ud800"]),
        ("array<int>", [[1, None], (1,)], ["a", [1, "b"]]),
    ],
)
def test_a_value_is_exactly_one_of_its_type_or_bad(type_, good, bad):
    for value in good:
        fit_value(value, expected_type(parse_type(type_)))
    for value in bad:
        with pytest.raises(MisfitError):
            fit_value(value, expected_type(parse_type(type_)))


def test_an_unreadable_hint_is_reported_once(tmp_path):
    text = "def decode_order(value: bytes):\n    return value\n"
    files = {
        "macros/codecs.py": text,
        "models/shop.yml": SOURCES.partition("        key")[0].replace(
            "        format_options: {encode: encode_order}\n", ""
        ),
    }
    _, errors = load(tmp_path, files)
    assert [code for code, *_ in summaries(errors)] == ["MS302"]


def test_an_edit_of_the_function_is_an_edit_of_the_format(tmp_path):
    def signature(text):
        load(tmp_path, {"macros/codecs.py": text, "models/shop.yml": SOURCES})
        model = "{{ config(materialized='table', unique_key='id') }} select id, count(*) as n from {{ source('shop', 'orders') }} group by id"
        (tmp_path / "models/counts.sql").write_text(model)
        (tmp_path / "profiles.yml").write_text("shop: {target: local, outputs: {local: {}}}\n")
        compiled = compile_project(tmp_path)
        assert [d for d in compiled.diagnostics if d.severity == "error"] == []
        (query,) = physical_of(compiled_topology(compiled)).queries
        (operator,) = query.signature.operators
        return operator

    before, commented = signature(FILE), signature(FILE.replace("def key_of", "# a comment\ndef key_of"))
    edited = signature(FILE.replace('row["id"]', 'row["id"] + 1', 1))
    assert commented == before
    assert edited.facts == before.facts
    assert edited.below != before.below


def test_encodings_are_plain_values(project):
    encoding = project.sources["shop.orders"].format
    assert pickle.loads(pickle.dumps(encoding)) == encoding
    assert encoding.name == "python:decode_order"
    assert Encoding().identity == "json"
    assert encoding.identity.startswith("python:decode_order ")
    assert "encode_order" not in encoding.identity.removeprefix("python:decode_order")


def test_a_project_that_did_not_change_finds_its_functions(tmp_path):
    load(tmp_path, {"macros/codecs.py": FILE, "models/shop.yml": SOURCES})
    model = "{{ config(materialized='sink', format='python:encode_order', format_options={'decode': 'decode_order'}) }} "
    (tmp_path / "models/copy.sql").write_text(
        model + "select id, total, at, day, items, sizes from {{ source('shop', 'orders') }}"
    )
    (tmp_path / "profiles.yml").write_text("shop: {target: local, outputs: {local: {}}}\n")
    assert compile_project(tmp_path).from_cache == 0
    FILES.clear()
    compiled = compile_project(tmp_path)
    assert compiled.from_cache == 1
    node = compiled.manifest.nodes["model.copy"]
    assert node.functions == ("decode_order", "encode_order")
    reading = of_sink(node)
    row = reading.format.local.decode(b'{"id": 1, "at": "2026-01-01"}', reading.fields)
    assert (row["id"], row["items"]) == (1, [])
