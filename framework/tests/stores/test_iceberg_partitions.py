"""Partitions of Iceberg tables that are computed of a column: pyiceberg computes the same, and finds the rows."""

from datetime import date, datetime, timedelta

import pytest
from pyiceberg.transforms import parse_transform
from support.iceberg_events import Events
from support.spark import SPARK_WARNINGS

from millstream.stores.file_sizes import EVERY

pytestmark = SPARK_WARNINGS

TYPES = {"id": "bigint", "text": "string", "at": "timestamp", "clock": "timestamp_ntz", "day": "date"}
PARTITIONS = {
    "year(at)": "year", "month(clock)": "month", "day(at)": "day", "hour(clock)": "hour",
    "bucket(16, text)": "bucket[16]", "bucket(5, id)": "bucket[5]", "bucket(7, at)": "bucket[7]",
    "bucket(3, day)": "bucket[3]", "truncate(2, text)": "truncate[2]", "truncate(10, id)": "truncate[10]",
    "month(day)": "month", "day": "identity",
}  # fmt: skip
TIMES = [
    datetime.fromisoformat(text)
    for text in (
        "2026-03-01T00:00:00.000001+00:00",
        "1969-12-31T23:59:59.999999+00:00",
        "1904-02-29T05:00:00+00:00",
    )
]
TEXTS = ["", "a", "abcd", "äöü€", "tail5", "𝄞𝄞x"]
ROWS = [
    (number * 7 - 20, text, time, time.replace(tzinfo=None) + timedelta(hours=number), time.date())
    for number, (text, time) in enumerate((text, time) for text in TEXTS for time in TIMES)
] + [(1, None, None, None, None)]


def column_of(partition):
    return partition.rstrip(")").replace("(", " ").replace(",", " ").split()[-1]


def events_by(spark, root, partitions):
    events = Events(spark, root, types=TYPES, partition_by=partitions)
    events.store(0, events.frame(*ROWS).repartition(2))
    return events


def values_by_pyiceberg(events, partition, transform):
    field = events.static().schema().find_field(column_of(partition))
    apply = parse_transform(transform).transform(field.field_type)
    rows = events.static().scan().to_arrow().column(field.name)
    if str(field.field_type).startswith("timestamp"):
        rows = rows.cast("int64")
    elif str(field.field_type) == "date":
        rows = rows.cast("int32")
    return {apply(value) for value in rows.to_pylist()}


@pytest.mark.parametrize(("partition", "transform"), PARTITIONS.items())
def test_partitions_are_those_that_pyiceberg_computes(spark, tmp_path, partition, transform):
    events = events_by(spark, tmp_path, [partition])
    (field,) = events.static().spec().fields
    assert str(field.transform) == transform
    stored = {file["partition"][field.name] for file in events.static().inspect.files().to_pylist()}
    expected = values_by_pyiceberg(events, partition, transform)
    if transform in {"day", "identity"}:
        stored = {None if day is None else (day - date(1970, 1, 1)).days for day in stored}
    assert stored == expected
    assert len(events.read()) == len(ROWS)
    for row_filter in ("at >= '2026-01-01T00:00:00+00:00'", "text = 'äöü€'", "id = -6", "day < '1970-01-01'"):
        filtered = events.static().scan(row_filter=row_filter).to_arrow()
        everything = Events.read(events)
        column, value = row_filter.split()[0], row_filter.split("'")[1] if "'" in row_filter else -6
        assert filtered.num_rows == sum(matches(row[column], row_filter, value) for row in everything)


def matches(stored, row_filter, value):
    if stored is None:
        return False
    if ">=" in row_filter:
        return stored >= datetime.fromisoformat(value)
    if "<" in row_filter:
        return stored < datetime.fromisoformat(value).date()
    return stored == value


@pytest.mark.long
def test_several_partitions_change_without_a_rebuild_and_their_files_are_combined(spark, tmp_path):
    events = Events(spark, tmp_path, types={"id": "bigint", "at": "timestamp"}, partition_by=["day(at)"])
    noon = TIMES[0]
    for number in range(12):
        events.batch(number, (number, noon), (100 + number, noon + timedelta(days=1)))
    events.create({"id": "bigint", "at": "timestamp"}, partition_by=["month(at)", "bucket(2, id)"])
    assert [str(field.transform) for field in events.static().spec().fields] == ["month", "bucket[2]"]
    events.batch(EVERY, (200, noon))
    assert len(events.static().inspect.files()) == 2
    assert len(events.read()) == 25
    events.create({"id": "bigint", "at": "timestamp"}, partition_by=["day(at)", "id"])
    events.batch(EVERY + 1, (201, noon))
    assert [str(field.transform) for field in events.static().spec().fields] == ["day", "identity"]
    assert sorted(id_ for (id_,) in events.query("select id from events"))[-2:] == [200, 201]
