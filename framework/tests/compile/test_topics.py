"""What models may write to: loops through topics, and remedies that work. `tests/broken` has each message."""

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.group import millstream
from millstream.compile import compile_project

PROJECTS = Path(__file__).parents[1] / "broken/projects"
REMEDY = re.compile(r"write to another topic: (topic='\w+')")
SOURCES = """
sources:
  - name: own
    topics:
      - {name: first, topic: one, columns: [{name: order_id, type: bigint}]}
      - {name: second, topic: two, columns: [{name: order_id, type: bigint}]}
"""
SINK = "{{{{ config(materialized='sink', topic='{topic}') }}}} select order_id from {{{{ {of} }}}}"


@pytest.fixture
def shop(tmp_path):
    root = tmp_path / "shop"
    shutil.copytree(PROJECTS / "_base", root)
    return root


def model(root, name, topic, of):
    (root / f"models/{name}.sql").write_text(SINK.format(topic=topic, of=of))


def codes(root):
    return [diagnostic.code for diagnostic in compile_project(root).diagnostics]


def test_a_loop_over_several_topics_is_named(shop):
    (shop / "models/own.yml").write_text(SOURCES)
    model(shop, "a", "one", "ref('b_rows')")
    model(shop, "b", "two", "source('own', 'first')")
    (shop / "models/b_rows.sql").write_text("select order_id from {{ source('own', 'second') }}")
    loop, other = compile_project(shop).diagnostics
    assert loop.message == (
        "'b' reads what it writes: model.b → source.own.second ('two') → model.b_rows → model.a "
        "→ source.own.first ('one') → model.b"
    )
    assert (loop.code, other.code) == ("MS550", "MS551")
    model(shop, "b", REMEDY.search(loop.help)[1].split("'")[1], "source('own', 'first')")
    assert codes(shop) == ["MS551"]
    model(shop, "b", "b", "ref('a')")
    (shop / "models/own.yml").write_text(
        SOURCES.replace("      - {name: first, topic: one", "      - {name: first")
    )
    assert codes(shop) == []


def test_all_topics_that_can_not_be_written_are_reported_at_once(shop, monkeypatch):
    (shop / "models/own.yml").write_text(SOURCES)
    for name, topic in {"a": "orders", "b": "one", "c": "out", "d": "out", "e": "__x", "f": "o.ut"}.items():
        model(shop, name, topic, "source('app', 'orders')")
    model(shop, "g", "o_ut", "source('app', 'orders')")
    monkeypatch.chdir(shop)
    result = CliRunner().invoke(millstream, ["compile"])
    assert result.exit_code == 2
    assert re.findall(r"error\[(\w+)\]", result.output) == [
        "MS550", "MS551", "MS552", "MS554", "MS556",
    ]  # fmt: skip


def test_two_sources_may_read_one_topic(shop):
    (shop / "models/own.yml").write_text(SOURCES.replace("topic: two", "topic: one"))
    assert codes(shop) == []


def test_a_compile_from_the_cache_finds_the_same(shop):
    model(shop, "a", "out", "source('app', 'orders')")
    assert codes(shop) == []
    model(shop, "b", "out", "source('app', 'orders')")
    (diagnostic,) = compile_project(shop).diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS552", "models/b.sql")
    assert [note.location.path for note in diagnostic.notes] == ["models/a.sql"]


@pytest.mark.parametrize(
    "case", [p.name for p in PROJECTS.glob("topic_*") if REMEDY.search((p / "expected.txt").read_text())]
)
def test_the_other_topic_that_is_named_can_be_written(shop, case):
    shutil.copytree(PROJECTS / case, shop, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.txt"))
    (diagnostic,) = compile_project(shop).diagnostics
    location, remedy = diagnostic.location, REMEDY.search(diagnostic.help)[1]
    text = (shop / location.path).read_text()
    without = re.sub(r", topic=(var\([^)]*\)|'[^']*')", "", text)
    (shop / location.path).write_text(
        without.replace("materialized='sink'", f"materialized='sink', {remedy}")
    )
    assert codes(shop) == []
