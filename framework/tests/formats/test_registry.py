"""Formats are listed once: what a project may write, what its schema offers and what Spark gets follow from it."""

import subprocess
import sys
from types import ModuleType

import pytest
from msgspec.structs import replace
from support.shops import Shop

from millstream.core.node_id import NodeId
from millstream.core.types import Field, parse_type
from millstream.engine.spark.jars import jars_for
from millstream.formats.registry import DEFAULT_FORMAT, NAMES, Encoding, format_of
from millstream.formats.values import UnfitError
from millstream.local.jars import read_catalog
from millstream.plan.from_sql.catalog import Catalog, TopicSpec
from millstream.project.jsonschema import json_schemas
from millstream.project.values import Target


def choices(schema):
    names = {name for name in schema.get("enum", ()) if name is not None}
    return names.union(*map(choices, schema.get("anyOf", ())))


def test_without_a_format_it_is_the_default():
    assert DEFAULT_FORMAT in NAMES
    assert format_of().media_type == format_of(DEFAULT_FORMAT).media_type == "application/json"


def test_schemas_offer_the_formats_that_work():
    properties = json_schemas()["properties"]["$defs"]
    assert choices(properties["Topic"]["properties"]["format"]) == set(NAMES)
    assert choices(properties["Source"]["properties"]["format"]) == set(NAMES)
    assert choices(properties["Model"]["properties"]["config"]["properties"]["format"]) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_value_of_one_column_has_a_column(name):
    format_ = format_of(name)
    assert len(format_.columns) == int(format_.single)
    assert all(format_.round_trips(field.type) for field in format_.columns)


@pytest.mark.parametrize(
    ("name", "value"), [("json", {"a": 1, "b": None}), ("csv", {"a": 1, "b": None}), ("xml", {"a": 1})]
)
def test_rows_are_read_back(name, value):
    fields = [Field("a", parse_type("bigint")), Field("b", parse_type("string"))]
    local = format_of(name).local
    assert local.decode(local.encode(value, fields), fields) == value


def test_a_deep_value_is_a_bad_record():
    fields = [Field("a", parse_type("bigint"))]
    values = {
        "json": b'{"x": %s%s}' % (b"[" * 9000, b"]" * 9000),
        "xml": b"<r>%s%s</r>" % (b"<x>" * 9000, b"</x>" * 9000),
    }
    for name, value in values.items():
        with pytest.raises(UnfitError, match=r"deep|depth"):
            format_of(name).local.decode(value, fields)


def test_spark_gets_the_jars_of_the_formats_in_use(monkeypatch, request):
    request.addfinalizer(format_of.cache_clear)
    module = ModuleType("millstream.formats.packed")
    module.format_of = lambda _: replace(format_of("json"), jars=("postgres",))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    events = TopicSpec(NodeId("source", "web.events"), "events", "events", Encoding(), ())
    target = Target("web", "local", {})

    def files(*topics):
        jars = jars_for(target, Catalog({topic.id: topic for topic in topics}, {}, {}).jars)
        return {file.name for file in jars}

    needed = {jar.name for jar in read_catalog()["postgres"]}
    assert not needed & files(events)
    assert needed <= files(
        events, replace(events, id=NodeId("source", "web.packed"), format=Encoding("packed"))
    )


def test_a_format_can_have_the_name_of_a_type(tmp_path):
    """Types are looked up in the module of a value, of which formats are no attributes."""
    (tmp_path / "int.py").write_text("from millstream.formats.string import format_of\n")
    Shop(tmp_path / "shop", "").model("copy", "select id from {{ source('web', 'events') }}")
    script = f"""
import millstream.formats
millstream.formats.__path__.append({str(tmp_path)!r})
import millstream.formats.int
from millstream.__main__ import main
main()
"""
    command = [sys.executable, "-c", script, "explain", "--project-dir", str(tmp_path / "shop")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
