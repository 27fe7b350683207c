"""Each line of a file that can't be decoded becomes one dead letter, with its file, number and reason."""

import json

import pytest
from click.testing import CliRunner
from engine.test_source_of_files import FORMATS, LAKE, rows_of, write_lines
from support.runs import built, errors, headers, received
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import FullRefresh

pytestmark = SPARK_WARNINGS

DEAD_LETTER = "\n        on_bad_record: dead_letter"
MODEL = """
    {{ config(materialized='table', unique_key='id') }}
    select id, customer, doubled from {{ source('lake', 'orders') }}
"""
SUMS = """
    {{ config(materialized='table', unique_key='customer', unbounded_state='accept') }}
    select customer, count(*) as orders from {{ source('lake', 'orders') }} group by customer
"""


def good(id_):
    return f'{{"id": {id_}, "customer": "ann", "amount": 2.5, "at": "2026-01-01T12:00:00Z"}}'


def letters(shop):
    """Return what each letter says, by file and number of the line."""
    by_line = {}
    for record in received(shop.bootstrap, "orders.dead_letter"):
        of = headers(record)
        line = (of["millstream.file"].rpartition("/")[2], int(of["millstream.line"]))
        assert line not in by_line
        assert of["millstream.source"] == "source.lake.orders"
        by_line[line] = (record.value(), of["millstream.reason"])
    return by_line


def command(shop, *arguments, code=0):
    result = CliRunner().invoke(millstream, [*arguments, "--project-dir", str(shop.root)])
    assert result.exit_code == code, result.output
    return result.output


def build(shop, spark, **options):
    _, events = built(shop.root, spark, **options)
    assert errors(events) == []
    done = [event.result for event in events if getattr(event, "result", None)]
    return {id_: count for result in done for id_, count in result.counts.dead_letters.items()}


def test_each_bad_line_is_one_letter_and_is_repaired_in_a_new_file(shop, first_spark):
    shop.write("models/lake.yml", LAKE.replace("FORMAT", f"json{DEAD_LETTER}").replace("dead_letter", "skip"))
    shop.model("orders", MODEL)
    shop.model("sums", SUMS)
    bad = good(2).replace("2.5", '"much"')
    write_lines(shop, "one.json", good(1), "", bad, "{")
    assert build(shop, first_spark) == {}
    # Lines that were skipped become letters once these are wanted.
    shop.write("models/lake.yml", LAKE.replace("FORMAT", f"json{DEAD_LETTER}"))
    assert build(shop, first_spark) == {NodeId("source", "lake.orders"): 2}
    assert sorted(rows_of(shop)) == [1]
    first = letters(shop)
    assert {line: value.decode() for line, (value, _) in first.items()} == {
        ("one.json", 3): bad,
        ("one.json", 4): "{",
    }
    assert "field amount" in first["one.json", 3][1]
    # What is new is sent; what was sent is not sent again, also by a rebuild.
    write_lines(shop, "two.json", good(3), "no JSON")
    build(shop, first_spark)
    assert letters(shop).keys() == first.keys() | {("two.json", 2)}
    build(shop, first_spark, intent=FullRefresh())
    assert letters(shop).keys() == first.keys() | {("two.json", 2)}
    assert sorted(rows_of(shop)) == [1, 3]
    shown = json.loads(command(shop, "dead-letters", "show", "lake.orders", "--output", "json"))[
        "dead_letters"
    ]
    assert {(letter["file"].rpartition("/")[2], letter["line"]) for letter in shown} == letters(shop).keys()
    # The remedy: a new file has the line, and the letters are dropped.
    refused = command(shop, "dead-letters", "replay", "lake.orders", "--yes", code=2)
    assert "lines of files, not records of a topic" in refused
    write_lines(shop, "corrected.json", bad.replace('"much"', "2.5"))
    build(shop, first_spark)
    command(shop, "dead-letters", "drop", "lake.orders", "--yes")
    assert sorted(rows_of(shop)) == [1, 2, 3]
    assert "no dead letters" in command(shop, "dead-letters", "show", "lake.orders")


@pytest.mark.long
def test_equal_lines_have_each_their_own_number_also_in_a_file_that_two_tasks_read(shop, first_spark):
    shop.write("models/lake.yml", LAKE.replace("FORMAT", f"json{DEAD_LETTER}"))
    shop.model("orders", MODEL)
    many = [good(5)] * 100_000
    write_lines(shop, "equal.json", good(1), "no", good(4), "no", "{", "no", *many, "no", "no")
    assert build(shop, first_spark) == {NodeId("source", "lake.orders"): 6}
    equal = {line: value for line, (value, _) in letters(shop).items()}
    assert equal == {("equal.json", n): b"{" if n == 5 else b"no" for n in (2, 4, 5, 6, 100_007, 100_008)}


@pytest.mark.long
def test_lines_of_csv_and_text(shop, first_spark):
    shop.write("models/lake.yml", LAKE.replace("FORMAT", f"{FORMATS['csv'][0]}{DEAD_LETTER}"))
    shop.model("orders", MODEL)
    write_lines(
        shop,
        "one.csv",
        "id,customer,amount,at",
        "1,ann,x,2026-01-01T12:00:00Z",
        "2,bob",
        "3,eve,1,2026-01-01T12:00:00Z",
    )
    build(shop, first_spark)
    assert sorted(rows_of(shop)) == [3]
    assert {line: reason.partition(":")[0] for line, (_, reason) in letters(shop).items()} == {
        ("one.csv", 2): "field amount",
        ("one.csv", 3): "the line has 2 fields instead of 4",
    }
    shop.write("models/lake.yml", """
sources:
  - name: lake
    files:
      - name: orders
        path: data/texts
        format: text
        on_bad_record: dead_letter
        columns: [{name: line, type: string}]
    """)  # fmt: skip
    shop.model(
        "orders",
        "{{ config(materialized='table', unique_key='line') }} select line from {{ source('lake', 'orders') }}",
    )
    (shop.root / "data/texts").mkdir()
    (shop.root / "data/texts/one.txt").write_bytes(b"good\n\xff\xfe\n")
    build(shop, first_spark, intent=FullRefresh())
    assert letters(shop)["one.txt", 2] == (b"\xff\xfe", "not valid UTF-8")
