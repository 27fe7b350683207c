"""What a review says of a pull request that pins another version of a schema."""

from support.reviews import reviewed
from support.schema_cases import field, record

from millstream.project.pins import Subject, encode, version_of

SOURCES = "sources:\n  - name: shop\n    topics:\n      - {name: orders, schema: registry}\n"
PINS = "schemas/registry/orders-value.json"
OLD = record(field("id", "long"), field("total", "double"))


def pins(*schemas):
    versions = tuple(version_of(number, number, "AVRO", each) for number, each in enumerate(schemas, 1))
    return encode(Subject("orders-value", "NONE", versions))


def found(tmp_path, new):
    files = {"models/orders.yml": SOURCES, "m": "select id from {{ source('shop', 'orders') }}"}
    review = reviewed(tmp_path, {**files, PINS: pins(OLD)}, {PINS: pins(OLD, new)})
    return review, [each for each in review.contracts if each.model == "source.shop.orders"]


def test_old_records_that_the_new_version_can_not_read(tmp_path):
    new = record(field("id", "long"), field("total", "double"), field("note", "string"))
    review, (change,) = found(tmp_path, new)
    assert change.breaking == (
        "field note: old records lack it, and the new schema has no default, so new readers can't read old records",
    )
    assert "breaking" in review.levels


def test_other_readers_that_can_not_read_new_records(tmp_path):
    review, (change,) = found(tmp_path, record(field("id", "long")))
    assert change.breaking == ()
    assert change.notes == (
        "field total: new records lack it, and the old schema has no default, so old readers can't read new records",
    )
    assert "breaking" not in review.levels


def test_a_compatible_version(tmp_path):
    _, changes = found(
        tmp_path, record(field("id", "long"), field("total", "double"), field("n", "int", default=0))
    )
    assert all(not each.breaking and not each.notes for each in changes)
