"""Generators: the user's module at work, its mistakes at their lines, and the records that come of it."""

from datetime import datetime, timezone
from decimal import Decimal
from itertools import islice

import pytest

from millstream.core.errors import MillstreamError
from millstream.kafka.event_time import EventTime, event_time
from millstream.kafka.generators import GeneratedRecord, fields_of, generate_records, generators_of
from millstream.kafka.live_times import LiveTimes
from millstream.project.load import load_project

HEAD = "from datetime import datetime\nfrom random import Random\n\n\ndef clicks(random: Random, now: datetime):\n"
TIME = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=timezone.utc)


def loaded(root, body, source="{name: clicks, columns: [{name: id, type: bigint}]}"):
    files = {
        "pyproject.toml": '[tool.millstream]\nname = "x"\n',
        "models/s.yml": f"sources:\n  - name: web\n    topics:\n      - {source}\n",
        "seeds/traffic.py": body if body.startswith("import") else f"{HEAD}    {body}\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    return load_project(root, None, None, None)


def first(root, body, count=1, **more):
    project = loaded(root, body, **more)
    (generator,) = generators_of(project).values()
    return [*islice(generate_records(project, *generator), count)]


def refused(root, body, **more):
    with pytest.raises(MillstreamError) as caught:
        first(root, body, 9, **more)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def test_the_same_seed_gives_the_same_records_and_another_others(project):
    generator = generators_of(project)["web.clicks"]
    one, same = ([*islice(generate_records(project, *generator, seed=1), 50)] for _ in range(2))
    assert one == same
    assert one != [*islice(generate_records(project, *generator, seed=2), 50)]


def test_a_record_has_the_time_of_its_event(project):
    one, two = islice(generate_records(project, *generators_of(project)["web.clicks"]), 2)
    assert one.timestamp == 1767225600000
    assert two.timestamp == one.timestamp + 1000


def test_values_are_written_in_the_format_of_the_source(project):
    generators = generators_of(project)
    assert next(generate_records(project, *generators["web.lines"])) == GeneratedRecord(
        None, b'0,"x,0"', None
    )
    assert [*islice(generate_records(project, *generators["web.ticks"]), 2)][1] == GeneratedRecord(
        b"1", (2).to_bytes(8, "big"), None
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("None", None), ("b'\\xff'", b"\xff"), ("'{\"id\": 1}'", b'{"id": 1}'), ("{'id': 1}", b'{"id":1}'),
        ("{'id': None, 'more': [True]}", b'{"id":null,"more":[true]}'),
    ],
)  # fmt: skip
def test_bytes_and_texts_go_as_they_are_and_none_is_a_tombstone(tmp_path, value, written):
    assert first(tmp_path, f"yield 'k', {value}") == [GeneratedRecord(b"k", written, None)]


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("None", None),
        ("7", b"7"),
        ("True", b"true"),
        ("b'\\x00'", b"\x00"),
        ("('a', 1)", b'["a",1]'),
        ("1.5", b"1.5"),
    ],
)
def test_keys_are_texts(tmp_path, key, written):
    assert first(tmp_path, f"yield {key}, {{}}")[0].key == written


AVRO = "format: avro, schema: schemas/id.avsc, framing: confluent"


@pytest.mark.parametrize("part", ["value", "key"])
def test_no_record_has_the_id_of_no_schema(tmp_path, part):
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas/id.avsc").write_text('"long"' if part == "key" else RECORD)
    source = {
        "value": f"{{name: clicks, key: {{name: k}}, {AVRO}}}",
        "key": f"{{name: clicks, key: {{name: k, {AVRO}}}, columns: [{{name: id, type: bigint}}]}}",
    }[part]
    diagnostic = refused(tmp_path, "yield 7, {'id': 1}", source=source)
    assert (diagnostic.code, "a schema from a file has no id" in diagnostic.message) == ("MS833", True)
    body = "yield b'x', {'id': 1}" if part == "key" else "yield 7, b'x'"
    (sent,) = first(tmp_path, body, source=source)
    assert b"x" in {sent.key, sent.value}


RECORD = '{"type": "record", "name": "Id", "fields": [{"name": "id", "type": "long"}]}'


@pytest.mark.parametrize(
    ("body", "code", "line", "message"),
    [
        ("yield 'k', {'id': 1}\n    yield 'k', {'id': 1 // 0}", "MS832", 7, "ZeroDivisionError"),
        (
            "yield 'k'",
            "MS832",
            5,
            "record 1 of the generator 'clicks' can't be sent: expected a key and a value",
        ),
        ("yield 1, 2, 3", "MS832", 5, "expected a key and a value"),
        ("yield 'k', {'id': object()}", "MS833", 5, "object"),
        ("yield 'k', '\\ud800'", "MS833", 5, "record 1"),
        ("yield object(), {}", "MS833", 5, "record 1"),
        ("raise SystemExit\n    yield", "MS832", 6, "SystemExit"),
    ],
)
def test_what_goes_wrong_in_a_generator_is_told_at_its_line(tmp_path, body, code, line, message):
    diagnostic = refused(tmp_path, body)
    assert (diagnostic.code, diagnostic.location.path, diagnostic.location.line) == (
        code,
        "seeds/traffic.py",
        line,
    )
    assert message in diagnostic.message
    assert diagnostic.line.strip()


@pytest.mark.parametrize(
    "body", ["import nothing_like_this", "import sys\nsys.exit(3)", "import os\nos.nothing"]
)
def test_a_file_that_can_not_be_imported(tmp_path, body):
    diagnostic = refused(tmp_path, f"{body}\n\ndef clicks(random, now):\n    yield 1, {{}}\n")
    assert (diagnostic.code, diagnostic.location.line) == ("MS831", body.count("\n") + 1)
    assert "seeds/traffic.py failed" in diagnostic.message


def test_a_changed_file_is_another_module(tmp_path):
    assert first(tmp_path, "yield 1, {}") != first(tmp_path, "yield 2, {}")


def test_dataclasses_and_helpers_work(tmp_path):
    body = (
        "import dataclasses\n\n\n@dataclasses.dataclass\nclass Click:\n    id: int\n\n\n"
        "def _made(n):\n    return Click(n)\n\n\ndef clicks(random, now):\n    yield None, _made(3)\n"
    )
    assert first(tmp_path, body) == [GeneratedRecord(None, b'{"id":3}', None)]


def test_a_column_that_csv_lacks_is_told(tmp_path):
    source = "{name: clicks, format: csv, columns: [{name: id, type: bigint}]}"
    assert (
        "'no' is not a column; columns: id" in refused(tmp_path, "yield 1, {'no': 1}", source=source).message
    )


@pytest.mark.parametrize(
    ("columns", "value", "milliseconds"),
    [
        ("{name: t, type: timestamp, from: timestamp_millis(ms)}", {"ms": 5000}, 5000),
        ("{name: t, type: timestamp, from: TIMESTAMP_SECONDS( `ms` )}", {"ms": 5.5}, 5500),
        ("{name: t, type: timestamp, from: timestamp_micros(ms)}", {"ms": 5000}, 5),
        ("{name: t, type: timestamp, from: cast(ms as timestamp)}", {"ms": Decimal(2)}, 2000),
        ("{name: t, type: timestamp}", {"t": TIME}, 1767323045678),
        ("{name: t, type: timestamp}", {"t": TIME.replace(tzinfo=None)}, 1767323045678),
        ("{name: t, type: timestamp}", {"t": "2026-01-02T03:04:05.678Z"}, 1767323045678),
        ("{name: t, type: timestamp}", {"t": "soon"}, None),
        ("{name: t, type: timestamp}", {"t": -5}, None),
        ("{name: t, type: timestamp}", {}, None),
        ("{name: t, type: timestamp}", b"x", None),
        ("{name: t, type: timestamp, from: timestamp_millis(ms)}", {"ms": True}, None),
    ],
)
def test_the_time_of_an_event(tmp_path, columns, value, milliseconds):
    source = f"{{name: clicks, columns: [{{name: ms, type: bigint}}, {columns.replace('from: ', 'from: QUOTE').replace('QUOTE', chr(34)).replace(')}', ')' + chr(34) + '}')}]}}"
    project = loaded(tmp_path, "yield 1, {}", source)
    time = event_time(project.sources["web.clicks"])
    assert time.of(value) == milliseconds
    if milliseconds is not None:
        later = time.moved(value, milliseconds + 86_400_000)
        assert time.of(later) == milliseconds + 86_400_000
        assert {name: type(field) for name, field in later.items()} == {
            n: type(field) for n, field in value.items()
        }


def test_live_rows_have_the_times_of_the_clock_and_stay_as_late_as_they_are():
    begin = 1_767_225_600_000
    moved = LiveTimes(EventTime("at", 1.0), begin, speed=1000.0).moving()
    delays = [moved({"at": milliseconds})["at"] - begin for milliseconds in (50, 90_050, 80_050, 90_050)]
    assert delays[0] == 0
    # However far apart the generator made them.
    assert 0 <= delays[1] < 90_000 < delays[3] + 90_000
    assert delays[1] - 10_000 <= delays[2] < delays[3]
    assert moved(None) is None
    assert moved({"other": 1}) == {"other": 1}


def test_live_times_have_no_parts_of_a_millisecond():
    moved = LiveTimes(EventTime("at"), 1_767_225_600_000.25).moving()
    assert moved({"at": "2026-01-01T00:00:00+00:00"}) == {"at": "2026-01-01T00:00:00+00:00"}


@pytest.mark.parametrize(("sent", "rows"), [(0, [0, 1, 2]), (2, [2]), (3, [0, 1, 2]), (7, [0, 1, 2])])
def test_live_rows_go_on_where_the_topic_ends(sent, rows):
    assert [*LiveTimes(None, 0.0, sent=sent).rows(lambda: iter(range(3)))] == rows


@pytest.mark.parametrize(
    "columns", ["{name: a, type: bigint}", "{name: a, type: timestamp}, {name: b, type: timestamp}"]
)
def test_where_no_column_is_surely_the_time_there_is_none(tmp_path, columns):
    project = loaded(tmp_path, "yield 1, {}", f"{{name: clicks, columns: [{columns}]}}")
    assert event_time(project.sources["web.clicks"]) is None


def test_fields_are_the_columns_that_a_value_holds(project):
    assert [field.name for field in fields_of(project.sources["web.clicks"])] == ["id", "kind", "ms"]
    assert [str(field) for field in fields_of(project.sources["web.ticks"])] == ["value:bigint"]
