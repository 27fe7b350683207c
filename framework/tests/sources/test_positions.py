"""Positions in Spark's log of offsets and in records: those of topics are as they always were."""

import json

from support.kinds import parquet_folders  # noqa: F401 - a fixture

from millstream.deploy.checkpoints.files import cut_batch, places_of, read_so_far, read_up_to, records_of
from millstream.sources import registry
from millstream.sources.positions import covers, from_stored, latest, stored
from millstream.sources.topic.positions import offset_ranges, offsets_in, positions_at, topic_range
from millstream.stores.files import LocalFiles

TABLE = '{"sourceVersion":1,"reservoirId":"x","reservoirVersion":3,"index":-1,"isStartingVersion":true}'
FILES = LocalFiles()


def log(folder, batch, *lines):
    for name in ("offsets", "commits"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / str(batch)).write_text("\n".join(["v1", "{}", *lines]))


def test_of_two_reads_of_a_topic_the_slower_counts(tmp_path):
    log(tmp_path, 0, '{"events":{"0":5,"1":7}}', "-", TABLE)
    log(tmp_path, 1, '{"events":{"0":9,"1":7}}', '{"users":{"0":2}}', TABLE, '{"events":{"0":8,"1":8}}')
    spark = str(tmp_path)
    first = read_up_to(FILES, spark, 0, ("events", "users", ""))
    assert first is not None
    assert offsets_in(first) == {"events": {0: 5, 1: 7}}
    assert offsets_in(read_so_far(FILES, spark)) == {"events": {0: 8, 1: 7}, "users": {0: 2}}
    assert records_of(FILES, spark, (), None, 1) == 3 + 2
    assert records_of(FILES, spark, (), None, 0) is None
    assert records_of(FILES, spark, (), positions_at({"events": {0: 2, 1: 7}}), 0) == 3
    assert records_of(FILES, spark, ("parquet:lake.rows",), positions_at({"events": {0: 2}}), 0) is None
    assert (
        places_of(FILES, spark, (), 1)
        == "topic events, partition 0, offsets 5 to 7, topic users, partition 0, offsets up to 1"
    )


def test_a_planned_batch_is_cut(tmp_path):
    log(tmp_path, 0, '{"events":{"0":50,"1":70}}', '{"events":{"0":50,"1":70}}')
    cut_batch(FILES, str(tmp_path), 0, positions_at({"events": {0: 5, 1: 6}}))
    lines = (tmp_path / "offsets/0").read_text().splitlines()
    assert lines == ["v1", "{}", '{"events":{"0":5,"1":6}}', '{"events":{"0":5,"1":6}}']


def test_topics_are_stored_as_before():
    positions = positions_at({"events": {0: 5, 10: 7}})
    assert json.dumps(stored(positions)) == '{"events": {"0": 5, "10": 7}}'
    assert from_stored(stored(positions)) == positions
    assert not covers(positions_at({"events": {0: 5}}), positions)
    assert covers(positions_at({"events": {0: 5, 10: 8}}), positions)
    assert covers({}, positions_at({"empty": {0: 0}}))
    assert latest([positions, positions_at({"events": {0: 9}, "users": {0: 1}})]) == positions_at(
        {"events": {0: 9, 10: 7}, "users": {0: 1}}
    )
    part = topic_range({0: (2, 5), 1: (7, 7)})
    assert (part.amount, offset_ranges(part)) == (3, {0: (2, 5), 1: (7, 7)})


def test_files_are_those_of_spark_s_log(tmp_path, parquet_folders):  # noqa: F811
    log(tmp_path, 0, '{"events":{"0":5}}', '{"logOffset":0}')
    log(tmp_path, 1, '{"events":{"0":6}}', '{"logOffset":1}')
    folder = tmp_path / "sources/1"
    folder.mkdir(parents=True)
    for batch, name in enumerate(("a", "b c", "d")):
        path = f"file:///lake/{name.replace(' ', '%20')}.parquet"
        (folder / str(batch)).write_text(f'v1\n{{"path":"{path}","timestamp":1,"batchId":{batch}}}')
    streams = ("events", "parquet_folder:lake.orders")
    before, after = (read_up_to(FILES, str(tmp_path), batch, streams) for batch in (0, 1))
    assert before is not None
    assert after is not None
    position, start = after["parquet_folder:lake.orders"], before["parquet_folder:lake.orders"]
    assert position.stored() == ["/lake/a.parquet", "/lake/b c.parquet"]
    assert (position.since(start), position.since(None), start.behind(position)) == (1, 2, 1)
    assert covers(after, before)
    assert not covers(before, after)
    assert from_stored(stored(after)) == after
    assert offsets_in(after) == {"events": {0: 6}}
    # Which file each of two sources of a kind has read is unknown if one of them is read twice.
    log(tmp_path, 2, '{"logOffset":1}', '{"logOffset":1}', '{"logOffset":2}')
    assert read_up_to(FILES, str(tmp_path), 2, ("parquet_folder:a.x", "parquet_folder:a.y")) == {}


def test_kinds_whose_lines_look_alike_are_matched_by_their_order(tmp_path, parquet_folders, monkeypatch):  # noqa: F811
    monkeypatch.setattr(
        registry, "installed_kinds", lambda: dict.fromkeys(("parquet_folder", "other"), "parquet_folder")
    )
    log(tmp_path, 0, '{"logOffset":0}', '{"events":{"0":5}}', '{"logOffset":0}', "12")
    for number, name in ((0, "a"), (2, "b")):
        folder = tmp_path / f"sources/{number}"
        folder.mkdir(parents=True)
        (folder / "0").write_text(f'v1\n{{"path":"file:///{name}.parquet","timestamp":1,"batchId":0}}')
    streams = ("other:lake.b", "events", "parquet_folder:lake.a")
    read = read_up_to(FILES, str(tmp_path), 0, streams)
    assert read is not None
    assert {stream: position.stored() for stream, position in read.items()} == {
        "other:lake.b": ["/a.parquet"],
        "events": {"0": 5},
        "parquet_folder:lake.a": ["/b.parquet"],
    }
