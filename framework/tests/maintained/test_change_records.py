"""The records of a sink that sends changes, compared with an envelope that Python builds."""

import json
import re
from pathlib import Path

import pytest

from millstream.core.node_id import NodeId
from millstream.core.types import BIGINT, STRING, Field
from millstream.engine.queries.table_changes import FollowedBatch, change_records, source_of
from millstream.formats.changes import envelope_fields

SCHEMA = "topic string, key binary, value binary, _had struct<value: binary>"
OLD, NEW = '{"id":1,"text":"a \\"quoted\\" ü"}', '{"id":1,"text":null}'
CASES = {
    "a new row": (None, NEW),
    "another row": (OLD, NEW),
    "a deleted row": (OLD, None),
    "a deleted row that is unknown": (None, None),
}


def expected(before, after, *, first, tombstones):
    """Return the values of the records that Debezium would send."""
    if before is None and after is None and tombstones:
        return [None]
    op = "d" if after is None else "u" if before else "r" if first else "c"
    source = {
        "version": source_of("shop", NodeId("model", "latest"), BATCH)["version"], "connector": "millstream", "name": "shop",
        "ts_ms": 5, "snapshot": "true" if op == "r" else "false", "db": "shop", "table": "latest", "lsn": 7,
    }  # fmt: skip
    rows = {"before": before and json.loads(before), "after": after and json.loads(after)}
    value = {**rows, "source": source, "op": op, "ts_ms": 9}
    return [value, None] if op == "d" and tombstones else [value]


BATCH = FollowedBatch(9, 7, 5, first=False)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("tombstones", [False, True])
def test_a_record_has_the_row_before_and_after(spark, first, tombstones):
    rows = [
        (name, b"1", after and bytearray(after.encode()), before and (bytearray(before.encode()),))
        for name, (before, after) in CASES.items()
    ]
    batch = FollowedBatch(9, 7, 5, first=first)
    records = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    sent = change_records(
        records, source_of("shop", NodeId("model", "latest"), batch), batch, tombstones=tombstones
    ).collect()
    for name, (before, after) in CASES.items():
        values = [record.value and json.loads(record.value) for record in sent if record.topic == name]
        assert values == expected(before, after, first=first, tombstones=tombstones)
        assert {bytes(record.key) for record in sent} == {b"1"}


GUIDE = (Path(__file__).parents[3] / "docs/maintained.md").read_text()


def test_the_record_of_the_guide_has_these_fields():
    (text,) = re.findall("```json\n(.*?)```", GUIDE, re.DOTALL)
    shown, (record,) = json.loads(text), expected(None, NEW, first=False, tombstones=True)
    assert [*shown] == [*record]
    assert [*shown["source"]] == [*record["source"]]


def test_the_fields_are_those_of_a_record():
    fields = envelope_fields([Field("id", BIGINT), Field("text", STRING)])
    (record,) = expected(None, NEW, first=False, tombstones=True)
    assert [field.name for field in fields] == list(record)
    source = next(field for field in fields if field.name == "source")
    assert [field.name for field in source.type.fields] == list(record["source"])
