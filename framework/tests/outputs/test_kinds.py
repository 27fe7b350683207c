"""A kind of output is a value with facts: a test's own kind needs no other code."""

import subprocess
import sys
from types import ModuleType

import pytest
from support.shops import Shop

from millstream.core.node_id import NodeId
from millstream.engine.queries.deliveries import BatchWriter, batch_function
from millstream.queries.values import OutputDelivery, PerBatch, WriterOutput

REGISTERED = """
import sys
from typing import Literal
from millstream.outputs import registry
from millstream.outputs.kinds import Kind, Table

class Http(Kind, frozen=True, tag_field="materialized", tag="http"):
    word, about, stored_as, readable = "http", "an HTTP endpoint", "endpoint", False

class Journal(Kind, frozen=True, tag_field="materialized", tag="journal"):
    word, about, stored_as, keeps_rows = "journal", "a table to which rows are only added", "table", True
    table = property(lambda self: Table())

registry.Materialization |= Http | Journal
registry.KINDS |= {"http": Http, "journal": Journal}
registry.Word = Literal[tuple(registry.KINDS)]
registry.StoredAs = Literal["topic", "table", "endpoint"]
from millstream.__main__ import main
main()
"""
CALLED = "{{ config(materialized='http') }} select id, value from {{ source('web', 'events') }}"
MISREAD = """\
error[MS214]: model 'called' is materialized as 'http', whose rows no model can read
 --> models/reader.sql:1:24
  |
1 | select id from {{ ref('called') }}
  |                        ^^^^^^
  = help: read what it reads; or select the rows in a view, and let both read that
"""


def run(shop, *arguments):
    command = [sys.executable, "-c", REGISTERED, *arguments, "--project-dir", str(shop.root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_kind_with_a_writer_is_planned(tmp_path):
    shop = Shop(tmp_path, "")
    shop.model("called", CALLED)
    explained = run(shop, "explain")
    assert explained.returncode == 0, explained.stderr
    assert "http called" in explained.stdout


def test_a_model_reads_the_rows_of_a_kind_with_a_table(tmp_path):
    shop = Shop(tmp_path, "")
    shop.model("noted", CALLED.replace("http", "journal"))
    shop.model(
        "reader", "{{ config(materialized='sink') }} select id from {{ ref('noted') }} where value > 1"
    )
    explained = run(shop, "explain")
    assert explained.returncode == 0, explained.stderr
    assert "journal noted" in explained.stdout
    assert "filter value > 1" in explained.stdout


@pytest.mark.parametrize("file", ["models/reader.sql", "tests/reader.sql"])
def test_what_no_model_can_read_is_reported_where_it_is_read(tmp_path, file):
    shop = Shop(tmp_path, "")
    shop.model("called", CALLED)
    shop.write(file, "select id from {{ ref('called') }}")
    read = run(shop, "compile")
    assert read.returncode == 2, read.stderr
    assert MISREAD.replace("models/reader.sql", file) in read.stdout + read.stderr


def test_a_writer_gets_each_batch_with_what_identifies_it(spark, monkeypatch):
    written = []
    module = ModuleType("millstream.outputs.http.spark")
    module.write = lambda rows, options, batch: written.append((rows.collect(), options, batch))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    output = WriterOutput(NodeId("model", "called"), "http", options={"url": "http://localhost"})
    write = batch_function(
        PerBatch("batch", (OutputDelivery(output, "select id + 1 as id from batch"),)),
        BatchWriter("q/1", {}, print),
    )
    write(spark.range(2), 7)
    ((rows, options, batch),) = written
    assert ({row.id for row in rows}, options) == ({1, 2}, {"url": "http://localhost"})
    assert (batch.model, batch.id, batch.is_repeated) == ("called", "called/1/7", False)
