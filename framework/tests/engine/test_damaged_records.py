"""Damaged records of all formats in one build: each becomes a row, a dead letter or a skipped record, and no good one changes.

Other software judges which records are good and what they hold. `MILLSTREAM_DAMAGED` sets how many each topic gets.
"""

import json
import os
import struct
from collections import Counter
from random import Random

import pytest
from google.protobuf import unknown_fields
from msgspec import Struct
from support.damage import (
    FAULT,
    FLAT,
    KINDS,
    PROTO,
    PROTO_WRONG,
    WIDE,
    WRONG,
    as_avro,
    as_csv,
    as_json,
    as_soap,
    as_xml,
    avro_schema,
    badly_framed,
    damaged,
    json_texts,
    sample,
    texts_of,
    wrong_avro,
    wrong_json,
    wrong_texts,
)
from support.judges import (
    FIRST,
    LAST,
    avro_value,
    csv_value,
    json_value,
    need,
    of_text,
    soap_value,
    xml_value,
)
from support.long import FRESH
from support.protobufs import messages_of
from support.runs import built, create_topics, errors, headers, received, send, table_rows
from support.spark import SPARK_WARNINGS

from millstream.project.pins import Subject, encode_subject, version_of

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

COUNT = int(os.environ.get("MILLSTREAM_DAMAGED", "60"))
SEED = int(os.environ.get("MILLSTREAM_DAMAGED_SEED", "0"))


class Case(Struct):
    topic: str
    """What the source says of its topic."""
    kinds: dict
    write: object
    """From a row to a value."""
    judge: object
    """From a value to its row; raises an error if it is bad."""
    wrong: object = None
    """Returns a value of which one field has another type, and the field if a reason must name it."""
    framed: bool = False


def columns(kinds):
    declared = [
        f"{{name: {name}, type: '{kind}'{', nullable: false' if name == 'id' else ''}}}"
        for name, kind in kinds.items()
    ]
    return f"columns: [{', '.join(declared)}]"


def required(judge):
    """A row without an id is bad."""

    def judged(value, kinds):
        row = judge(value, kinds)
        need(row["id"] is not None, "no id")
        return row

    return judged


JSON_KINDS = {name: kind for name, kind in KINDS.items() if name != "price"}
JSON_SCHEMA = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": ["null", "string"]},
        "total": {"type": ["null", "number"]},
        "at": {"type": ["null", "string"], "format": "date-time"},
        "ok": {"type": ["null", "boolean"]},
        "small": {"type": ["null", "integer"], "connect.type": "int32"},
        "tags": {"type": ["null", "array"], "items": {"type": ["null", "string"]}},
    },
}
IDS = {7: {"name": "gone", "type": "string"}, 300: {"name": "new", "type": "int", "default": 7}}
"""The ids of two schemas of Avro, and the field that each has beyond the others."""


def framed_avro(row):
    number = 300 if row["ok"] else 7
    field = IDS[number]
    return b"\0" + number.to_bytes(4, "big") + as_avro(row | {"gone": "x", "new": 5}, field)


def judge_framed_avro(value, _):
    need(value[:1] == b"\0")
    field = IDS[int.from_bytes(value[1:5], "big")]
    # A text that no column reads is skipped, whatever its bytes are.
    row = avro_value(
        value[5:], avro_schema(field | ({"type": "bytes"} if field["name"] == "gone" else {}), plain=True)
    )
    row.pop("gone", None)
    return {**row, "new": row.get("new", 7)}


def unframed(value):
    need(value[:1] == b"\0" and len(value) >= 5)
    return value[5:]


PROTO_KINDS = {"kind" if name == "price" else name: kind for name, kind in KINDS.items()}


class Orders:
    """Orders in Protobuf, written and read by its runtime."""

    def __init__(self, folder):
        narrow, self.wide, self.other = (
            messages_of(folder / name, {"order.proto": text})(f"{name}.Order")
            for name, text in (("shop", PROTO), ("wide", WIDE), ("wrong", WRONG))
        )
        self.narrow = narrow

    def message(self, row):
        message = self.narrow(
            **{
                name: row[name]
                for name in ("id", "name", "total", "ok", "small", "tags")
                if row[name] is not None
            }
        )
        message.at.seconds, micros = divmod(row["at"], 10**6)
        message.at.nanos = micros * 1000
        message.kind = (0, 1, 5)[row["id"] % 3]
        return message.SerializeToString()

    def wrong(self, random, row):
        field = random.choice(list(PROTO_WRONG))
        return self.message(row) + self.other(**{field: PROTO_WRONG[field]}).SerializeToString(), field

    def judge(self, value, _):
        narrow, wide = self.narrow.FromString(value), self.wide.FromString(value)
        for message, most in ((wide, 8), (wide.at, 2)):
            need(
                all(field.field_number > most for field in unknown_fields.UnknownFieldSet(message)),
                "another type",
            )
        need(wide.ok in {0, 1} and wide.kind in {0, 1, 5} and wide.small == narrow.small, "overflow")
        micros = wide.at.seconds * 10**6 + wide.at.nanos // 1000
        need(FIRST <= micros <= LAST and 0 <= wide.at.nanos < 10**9)
        row = {
            name: getattr(narrow, name) if narrow.HasField(name) else None
            for name in ("id", "name", "total", "ok", "small")
        }
        kind = {0: "NONE", 1: "NEW", 5: "OLD"}[narrow.kind] if narrow.HasField("kind") else None
        return row | {
            "at": micros if narrow.HasField("at") else None,
            "tags": list(narrow.tags),
            "kind": kind,
        }


def judge_framed_message(orders):
    def judged(value, kinds):
        rest = unframed(value)
        # Zero stands for one index, which is 0.
        message = rest[1:] if rest[0] == 0 else rest[2:] if rest[:2] == b"\x02\x00" else None
        need(message is not None, "another message")
        return orders.judge(message, kinds)

    return judged


def cases(orders):
    return {
        "json": Case(
            columns(KINDS), KINDS, lambda row: as_json(json_texts(row)), required(json_value), wrong_json,
        ),
        "csv": Case(
            f"""format: csv, format_options: {{delimiter: ";", quote: "'", escape: "'"}}, {columns(FLAT)}""", FLAT,
            lambda row: as_csv(texts_of(row, FLAT)), required(csv_value),
            lambda random, row: of(as_csv, wrong_texts(random, row, FLAT)),
        ),
        "xml": Case(
            f"format: xml, {columns(KINDS)}", KINDS, lambda row: as_xml(texts_of(row, KINDS)), required(xml_value),
            lambda random, row: of(as_xml, wrong_texts(random, row, KINDS)),
        ),
        "soap": Case(
            f"format: xml, format_options: {{envelope: Envelope/Body, row_tag: order, namespace: 'urn:shop'}}, {columns(KINDS)}",
            KINDS, lambda row: as_soap(texts_of(row, KINDS)), required(soap_value),
            lambda random, row: random.choice([of(as_soap, wrong_texts(random, row, KINDS)), (FAULT, None)]),
        ),
        "avro": Case(
            "format: avro, schema: schemas/order.avsc", KINDS, as_avro,
            lambda value, _: avro_value(value, avro_schema(plain=True)), wrong_avro,
        ),
        "avro_framed": Case(
            "schema: registry", KINDS | {"new": "int"}, framed_avro, judge_framed_avro, framed=True,
        ),
        "protobuf": Case(
            "format: protobuf, schema: schemas/order.proto", PROTO_KINDS, orders.message, orders.judge, orders.wrong,
        ),
        "protobuf_framed": Case(
            "format: protobuf, schema: schemas/order.proto, framing: confluent", PROTO_KINDS,
            lambda row: b"\0\0\0\0\x07" + (b"\0" if row["ok"] else b"\x02\0") + orders.message(row),
            judge_framed_message(orders), framed=True,
        ),
        "json_framed": Case(
            "schema: schemas/order.json, framing: confluent", JSON_KINDS,
            lambda row: b"\0\0\0\0\x07" + as_json({name: text for name, text in json_texts(row).items() if name in JSON_KINDS}),
            lambda value, kinds: required(json_value)(unframed(value), kinds), framed=True,
        ),
        "string": Case(
            "format: string", {"value": "string"}, lambda row: (row["name"] or "").encode(),
            lambda value, _: {"value": value.decode("utf-8")},
        ),
        "number": Case(
            "format: string, columns: [{name: value, type: int}]", {"value": "int"}, lambda row: str(row["small"]).encode(),
            lambda value, _: {"value": of_text(value.decode("utf-8"), "int")},
            lambda random, _: (random.choice([b"1.5", b"x", b"3000000000", b"true", b" 1", b""]), None),
        ),
        "long": Case(
            "format: long", {"value": "bigint"}, lambda row: struct.pack(">q", row["id"]),
            lambda value, _: {"value": struct.unpack(">q", value)[0]},
        ),
    }  # fmt: skip


def of(write, texts):
    return write(texts[0]), texts[1]


class Record(Struct):
    value: bytes | None
    row: dict | None
    """What a judge reads; None if it is bad."""
    field: str | None = None
    """What the reason of a bad record must name."""


def judged(case, value):
    try:
        return case.judge(value, case.kinds)
    except AssertionError:
        raise
    except Exception:  # noqa: BLE001 - whatever a judge raises, the value is bad
        return None


def records_of(random, case, others):
    """Return records of which about half are good."""
    # Without a value, a column that is alone is NULL; a row is bad.
    records = [Record(None, {"value": None} if case.kinds.keys() == {"value"} else None)]
    for number in range(1, COUNT):
        row = sample(random, number)
        value, field = case.write(row), None
        match random.randrange(4):
            case 0:
                pass
            case 1 if case.wrong:
                value, field = case.wrong(random, row)
            case 1 if case.framed:
                value = badly_framed(random, value)
            case _:
                value = damaged(random, value, others)
        records.append(Record(value, judged(case, value), field))
    return records


STRICTER = ("more than 64 bits", "is not a boolean")
"""What other readers read nevertheless: they drop bits that are too many, and take any byte for true."""


def select(kinds):
    return ", ".join(
        f"unix_micros({name}) as {name}" if kind == "timestamp" else name for name, kind in kinds.items()
    )


@pytest.mark.parametrize("seed", [SEED, *FRESH])
def test_each_record_is_a_row_a_dead_letter_or_skipped(shop, first_spark, tmp_path, seed):
    formats = cases(Orders(tmp_path))
    shop.write("schemas/order.avsc", json.dumps(avro_schema()))
    shop.write("schemas/order.proto", PROTO)
    shop.write("schemas/order.json", json.dumps(JSON_SCHEMA))
    texts = [json.dumps(avro_schema(field)) for field in IDS.values()]
    versions = [
        version_of(number, id_, "AVRO", text)
        for number, (id_, text) in enumerate(zip(IDS, texts, strict=True), 1)
    ]
    shop.write(
        "schemas/registry/avro_framed-value.json",
        encode_subject(Subject("avro_framed-value", "NONE", tuple(versions))),
    )
    topics = {"web": "", "skips": ""}
    for name, case in formats.items():
        topics["web"] += f"  - {{name: {name}, key: k, on_bad_record: dead_letter, {case.topic}}}\n"
        subject = case.topic.replace("schema: registry", "schema: {subject: avro_framed-value}")
        topics["skips"] += (
            f"  - {{name: {name}, topic: {name}_skipped, key: k, on_bad_record: skip, {subject}}}\n"
        )
        for source in topics:
            shop.model(
                f"{source}_{name}",
                f"{{{{ config(materialized='table', unique_key='k') }}}} select k, {select(case.kinds)} from {{{{ source('{source}', '{name}') }}}}",
            )
    shop.write(
        "models/web.yml",
        "sources:\n" + "".join(f"- name: {name}\n  topics:\n{text}" for name, text in topics.items()),
    )
    random = Random(seed)
    row = sample(random, 1)
    others = [case.write(row) for case in formats.values()] + [
        b"",
        b"{}",
        b"1,2",
        b"<a/>",
        "é".encode("utf-16"),
    ]
    records = {name: records_of(random, case, others) for name, case in formats.items()}
    sent = {
        name: [(f"{index}", record.value) for index, record in enumerate(topic_records)]
        for name, topic_records in records.items()
    }
    create_topics(shop.bootstrap, *sent, *(f"{name}_skipped" for name in sent))
    send(shop.bootstrap, sent | {f"{name}_skipped": messages for name, messages in sent.items()})
    results, events = built(shop.root, first_spark)
    assert errors(events) == []
    skipped = Counter()
    for result in results.results:
        skipped |= Counter(result.skipped)
    figures = {}
    for name, topic_records in records.items():
        letters = received(shop.bootstrap, f"{name}.dead_letter")
        reasons = {int(letter.key()): headers(letter)["millstream.reason"] for letter in letters}
        rows = {int(row.pop("k")): row for row in table_rows(shop.root, f"model.web_{name}")}
        wrong = [
            (name, record, rows.get(index), reasons.get(index))
            for index, record in enumerate(topic_records)
            if not as_wanted(record, rows.get(index), reasons.get(index))
        ]
        assert wrong == []
        assert len(rows) + len(letters) == len(topic_records)
        assert {int(letter.key()): letter.value() for letter in letters} == {
            index: topic_records[index].value for index in reasons
        }
        # Those that are skipped are the same ones, and they are counted.
        skipping = {int(row.pop("k")): row for row in table_rows(shop.root, f"model.skips_{name}")}
        assert repr(sorted(skipping.items())) == repr(sorted(rows.items()))
        assert len(skipping) + skipped[f"source.skips.{name}"] == len(topic_records)
        figures[name] = (len(topic_records), len(rows), len(letters), skipped[f"source.skips.{name}"])
        assert min(len(rows), len(letters)) > len(topic_records) / 10, figures
    for name, (count, good, bad, left_out) in figures.items():
        message = f"{name}: {count} records: {good} good, {bad} dead letters; {good} good, {left_out} skipped"
        print(message)  # noqa: T201 - for people


def as_wanted(record, row, reason):
    """Whether a record became what its judge says."""
    if reason is None:
        # Texts of the two compare NaN as equal.
        return row is not None and record.row is not None and same(row, record.row)
    if row is not None or not reason:
        return False
    if record.row is not None:
        return any(phrase in reason for phrase in STRICTER)
    return record.field is None or reason.startswith((f"field {record.field}: ", f"field {record.field}["))


def same(actual, expected):
    return actual.keys() == expected.keys() and all(
        repr(actual[name]) == repr(value) for name, value in expected.items()
    )
