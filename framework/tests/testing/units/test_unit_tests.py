"""Unit tests of models on Spark."""

import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from support.spark import SPARK_WARNINGS

from millstream.testing.styled_text import plain_text

pytestmark = [pytest.mark.usefixtures("first_spark"), SPARK_WARNINGS]


def test_only_what_is_named_is_compared(shop):
    shop.passes("""
        - name: t
          model: passed
          given:
            - {input: "source('web', 'events')", rows: [{id: 2}, {id: 3, user: a, value: 0.5}]}
          expect: [{id: 3, user: a}]
    """)


def test_differences_are_shown_with_row_column_and_line(shop):
    diagnostic, verdict = shop.fails("""
        - name: t
          model: passed
          given:
            - {input: "source('web', 'events')", rows: [{id: 3, user: a, value: 0.5}, {id: 4, user: b}]}
          expect:
            - {id: 3, user: a, value: 0.75}
            - {id: 4, user: b, value: null}
    """)
    assert diagnostic.code == "MS658"
    assert diagnostic.message == "unit test 't': 1 row differs, 1 row as expected"
    assert shop.under(diagnostic) == "0.75"
    assert plain_text(verdict.lines).splitlines() == [
        "    id  user  value",
        "  - 3   a     0.75    expected, tests/unit.yml:7",
        "  + 3   a     0.5     actual",
        "              ~~~~~",
        "    value: models/passed.sql:1",
    ]


def test_a_chain_with_lookups_csv_variables_and_a_function_that_is_replaced(shop):
    (shop.root / "tests/fixtures").mkdir(parents=True)
    (shop.root / "tests/fixtures/few.csv").write_text("id,user,kind,value,ms\n1,a,a,1.5,1000\n0,b,b,2,\n")
    shop.passes("""
        - name: t
          model: +named
          vars: {least: 0}
          overrides: {functions: {doubled: 7.5}}
          given:
            - {input: "source('web', 'events')", fixture: few}
            - input: source('web', 'users')
              rows: |
                user,segment
                a,old
                a,new
          expect: [{id: 1, name: one, segment: new, twice: 7.5, at: "1970-01-01 00:00:01"}]
    """)


def test_changes_and_deletes_step_by_step(shop):
    shop.passes("""
        - name: t
          model: totals
          steps:
            - given: [{input: "source('web', 'events')", rows: [{user: a, value: 3}, {user: b, value: 1}]}]
              expect: [{user: a, total: 3}]
            - given: [{input: "source('web', 'events')", rows: [{user: a, value: -2}]}]
              expect: [{user: a, _deleted: true}]
    """)


def test_windows_close_when_event_time_goes_on(shop):
    shop.passes("""
        - name: t
          model: windows
          steps:
            - given: [{input: "source('web', 'events')", rows: [{user: a, ms: 1000}, {user: a, ms: 299999}]}]
              expect: []
            - at: "1970-01-01 00:05:10"
              expect: [{user: a, start: "1970-01-01", n: 2}]
            - given: [{input: "source('web', 'events')", rows: [{user: a, ms: 2000}, {user: b, ms: 300000}]}]
              at: "1970-01-01 01:00:00"
              expect: [{user: b, start: "1970-01-01 00:05:00", n: 1}]
    """)


def test_the_clock_stands_still_and_a_table_has_the_newest_row(shop):
    shop.passes("""
        - name: t
          model: newest
          now: "2026-03-04 23:00:00"
          given:
            - {input: "source('web', 'events')", rows: [{user: a, id: 1}, {user: b, id: 2}, {user: a, id: 0}]}
          expect: [{user: a, id: 0, day: "2026-03-04"}, {user: b, id: 2}]
    """)


def test_an_answer_that_depends_on_the_cut(shop):
    inputs = """
          given:
            - {input: "source('web', 'events')", rows: [{user: a, kind: x}, {user: b, kind: x}]}
          expect: [{kind: x, user: a}]
    """
    diagnostic, verdict = shop.fails(f"""
        - name: t
          model: first_users{inputs}""")
    assert diagnostic.code == "MS659"
    assert "+ x     b" in plain_text(verdict.lines)
    shop.passes(f"""
        - name: t
          model: first_users
          strict: false{inputs}""")


def test_dead_letters_are_expected(shop):
    text = """
        - name: t
          model: windows
          given: [{input: "source('web', 'events')", rows: [{_key: k, _value: '{"ms": "x"}'}]}]
          expect: []
    """
    diagnostic, _ = shop.fails(text)
    assert diagnostic.message == "unit test 't': dead letters: expected 0, got 1"
    letters = "expect: []\n          expect_dead_letters: [{key: k, topic: events.dead_letter}]"
    shop.passes(text.replace("expect: []", letters))


def test_an_error_is_expected(shop):
    (shop.root / "macros/functions.py").write_text("def doubled(value: float) -> float:\n    return 1 / 0\n")
    (shop.root / "models/sources.yml").write_text(
        (shop.root / "models/sources.yml").read_text().replace("dead_letter", "fail")
    )
    text = """
        - name: t
          model: +named
          given:
            - {input: "source('web', 'events')", rows: [{id: 3, value: 1}]}
            - {input: "source('web', 'users')", rows: []}
          expect_error: "%s"
    """
    shop.passes(text % "division by zero")
    diagnostic, _ = shop.fails(text % "another one")
    assert diagnostic.message == "unit test 't': the error differs from the expected one"


def test_a_value_of_one_column_is_written_in_its_format(shop):
    (shop.root / "models/more.yml").write_text(
        "sources:\n  - name: desk\n    topics:\n"
        "      - {name: notes, format: csv, columns: [{name: note, type: string}]}\n"
        "      - {name: marks, format: xml, columns: [{name: note, type: string}]}\n"
    )
    (shop.root / "models/notes.sql").write_text(
        "select note from {{ source('desk', 'notes') }}\n"
        "union all\nselect note from {{ source('desk', 'marks') }}\n"
    )
    shop.passes("""
        - name: t
          model: notes
          given:
            - {input: "source('desk', 'notes')", rows: [{note: "a, b"}]}
            - {input: "source('desk', 'marks')", rows: [{note: "<c>"}]}
          expect: [{note: "a, b"}, {note: "<c>"}]
    """)


AVSC = """{"type": "record", "name": "Note", "fields": [{"name": "note", "type": "string"},
  {"name": "at", "type": {"type": "int", "logicalType": "date"}}, {"name": "tags", "type": {"type": "array", "items": "string"}}]}"""
PROTO = 'syntax = "proto3"; message Note { string note = 1; optional int64 size = 2; map<string, double> by = 3; }'


def test_rows_of_a_topic_are_written_and_read_by_its_schema(shop):
    (shop.root / "schemas").mkdir()
    (shop.root / "schemas/note.avsc").write_text(AVSC)
    (shop.root / "schemas/note.proto").write_text(PROTO)
    (shop.root / "models/more.yml").write_text(
        "sources:\n  - name: desk\n    topics:\n"
        "      - {name: notes, format: avro, schema: schemas/note.avsc, on_bad_record: dead_letter}\n"
        "      - {name: marks, format: protobuf, schema: schemas/note.proto}\n"
    )
    (shop.root / "models/noted.sql").write_text(
        "{{ config(materialized='sink', format='avro') }}\n"
        "select note, at, tags[0] as tag from {{ source('desk', 'notes') }}\n"
    )
    (shop.root / "models/marked.sql").write_text(
        "{{ config(materialized='sink', format='protobuf', schema='schemas/note.proto') }}\n"
        "select note, size + 1 as size, `by` from {{ source('desk', 'marks') }}\n"
    )
    verdicts = shop.judged("""
        - name: avro
          model: noted
          given:
            - input: source('desk', 'notes')
              rows: [{note: Zoë, at: 2026-01-02, tags: [a, b]}, {_value: b}]
          expect: [{note: Zoë, at: 2026-01-02, tag: a}]
          expect_dead_letters: [{reason: "field note: the value ends too early"}]
        - name: protobuf
          model: marked
          given:
            - {input: "source('desk', 'marks')", rows: [{note: x, size: 1, by: {a: 0.5}}, {note: ""}]}
          expect: [{note: x, size: 2, by: {a: 0.5}}, {note: "", size: null, by: {}}]
    """)
    assert [verdict.diagnostics for verdict in verdicts] == [(), ()]


def test_inputs_are_kept_by_who_cleans_temporary_files_of_the_past(shop, tmp_path, monkeypatch):
    """Spark read them in the order of their dates, which were those of 2001."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = threading.Event()

    def clean():
        while not ended.is_set():
            find = ["find", tmp_path, "-name", "*.parquet", "-mmin", "+60", "-delete"]
            subprocess.run(find, capture_output=True, check=False)  # folders may go while it looks

    cleaner = threading.Thread(target=clean)
    cleaner.start()
    try:
        shop.passes("""
            - name: t
              model: totals
              given: [{input: "source('web', 'events')", rows: [{user: a, value: 3}, {user: a, value: 1}]}]
              expect: [{user: a, total: 4}]
        """)
    finally:
        ended.set()
        cleaner.join()


@pytest.mark.long
def test_the_log_that_an_error_names_is_kept(shop):
    (shop.root / "models/doubles.sql").write_text(
        "select map(user, 1, user, 2) as twice from {{ source('web', 'events') }}"
    )
    (shop.root / "tests").mkdir()
    (shop.root / "tests/unit.yml").write_text(
        "unit_tests: [{name: t, model: doubles, given: [{input: source.web.events, rows: [{user: a}]}], expect: []}]"
    )
    command = [
        sys.executable,
        "-m",
        "millstream",
        "test",
        "--unit",
        "--select",
        "doubles",
        "--output",
        "json",
    ]
    done = subprocess.run(command, cwd=shop.root, capture_output=True, text=True, check=False)
    (diagnostic,) = json.loads(done.stdout)["results"][0]["diagnostics"]
    assert diagnostic["code"] == "MS860"
    log = Path(diagnostic["help"].removeprefix("see Spark's log: "))
    assert log == shop.root / ".millstream/local/log/spark.log"
    assert "DUPLICATED_MAP_KEY" in log.read_text()
