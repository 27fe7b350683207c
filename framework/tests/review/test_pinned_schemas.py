"""What a review says of a pull request that changes a schema: a pinned one, or a file."""

from support.reviews import reviewed
from support.schema_cases import field, record

from millstream.project.pins import Subject, encode_subject, version_of

SOURCES = "sources:\n  - name: shop\n    topics:\n      - {name: orders, schema: registry}\n"
PINS = "schemas/registry/orders-value.json"
OLD = record(field("id", "long"), field("total", "double"))


def pins(*schemas, subject="orders-value"):
    versions = tuple(version_of(number, number, "AVRO", schema) for number, schema in enumerate(schemas, 1))
    return encode_subject(Subject(subject, "NONE", versions))


def contract_changes(tmp_path, new):
    files = {"models/orders.yml": SOURCES, "m": "select id from {{ source('shop', 'orders') }}"}
    review = reviewed(tmp_path, {**files, PINS: pins(OLD)}, {PINS: pins(OLD, new)})
    return review, [contract for contract in review.contracts if contract.model == "source.shop.orders"]


def test_old_records_that_the_new_version_can_not_read(tmp_path):
    new = record(field("id", "long"), field("total", "double"), field("note", "string"))
    review, (change,) = contract_changes(tmp_path, new)
    assert change.breaking == (
        "field note: old records lack it, and the new schema has no default, so new readers can't read old records",
    )
    assert "breaking" in review.levels


def test_other_readers_that_can_not_read_new_records(tmp_path):
    review, (change,) = contract_changes(tmp_path, record(field("id", "long")))
    assert change.breaking == ()
    assert change.notes == (
        "field total: new records lack it, and the old schema has no default, so old readers can't read new records",
    )
    assert "breaking" not in review.levels


def test_a_compatible_version(tmp_path):
    _, changes = contract_changes(
        tmp_path, record(field("id", "long"), field("total", "double"), field("n", "int", default=0))
    )
    assert all(not contract.breaking and not contract.notes for contract in changes)


FILE_SOURCES = """
sources:
  - name: shop
    topics:
      - {name: orders, format: avro, schema: schemas/orders.avsc}
      - {name: clicks, format: protobuf, schema: schemas/clicks.proto}
"""
PROTO = 'syntax = "proto3"; message Click { int64 id = 1; optional string kind = 2; }'


def of_files(tmp_path, before, after):
    files = {
        "models/orders.yml": FILE_SOURCES,
        "schemas/orders.avsc": OLD,
        "schemas/clicks.proto": PROTO,
        "m": "select id from {{ source('shop', 'orders') }}",
        **before,
    }
    review = reviewed(tmp_path, files, after)
    return {contract.model: (contract.breaking, contract.notes) for contract in review.contracts}


def test_files_of_sources(tmp_path):
    new = record(field("id", "long"), field("total", "double"), field("note", "string"))
    contracts = of_files(
        tmp_path, {}, {"schemas/orders.avsc": new, "schemas/clicks.proto": PROTO.replace("string", "int64")}
    )
    ((breaking, _), (clicks, _)) = (contracts["source.shop.orders"], contracts["source.shop.clicks"])
    assert breaking == (
        "field note: old records lack it, and the new schema has no default, so new readers can't read old records",
    )
    assert (
        "field Click.kind: it is int64 in the new schema, but string in the old one, so new readers can't read old records"
        in clicks
    )


def test_files_of_sinks(tmp_path):
    narrow = record(field("id", "long"))
    config = "{{ config(materialized='sink', format='avro', schema='schemas/m.avsc'%s) }} "
    sql = "select coalesce(id, 0) as %s from {{ source('shop', 'orders') }}"
    before = {"m": config % "" + sql % "id", "schemas/m.avsc": narrow}
    after = {
        "schemas/m.avsc": record(field("nr", "long")),
        "m": config % ", framing='confluent'" + sql % "nr",
    }
    breaking, notes = of_files(tmp_path, before, after)["model.m"]
    assert "`framing` is confluent instead of plain" in breaking
    assert (
        "field id: new records lack it, and the old schema has no default, so old readers can't read new records"
        in breaking
    )
    assert any(note.startswith("field nr: old records lack it") for note in notes)


def test_pins_of_sinks(tmp_path):
    narrow, wide = record(field("id", "long")), record(field("nr", "long"))
    sql = "{{ config(materialized='sink', schema='registry') }} select coalesce(id, 0) as %s from {{ source('shop', 'orders') }}"
    path = "schemas/registry/m-value.json"
    before = {"m": sql % "id", path: pins(narrow, subject="m-value")}
    after = {"m": sql % "nr", path: pins(narrow, wide, subject="m-value")}
    breaking, notes = of_files(tmp_path, before, after)["model.m"]
    assert (
        "field id: new records lack it, and the old schema has no default, so old readers can't read new records"
        in breaking
    )
    assert any(note.startswith("field nr: old records lack it") for note in notes)
