"""What runs, put together from the records of queries, is planned as the whole project is."""

from pathlib import Path

import pytest
from support.kinds import LAKE, parquet_folders  # noqa: F401 - a fixture
from support.shops import Shop

from millstream.compile import compile_project
from millstream.compile.artifacts import manifest_file
from millstream.compile.manifest import Manifest
from millstream.core.decoding import from_json
from millstream.deploy.planning.definitions import definition_of, is_same, running_project
from millstream.deploy.planning.records import new_record
from millstream.queries.topology import compiled_topology, physical_of, read_catalog

EXAMPLE = Path(__file__).parents[3]


def test_all_queries_of_the_example():
    compiled = compile_project(EXAMPLE, use_cache=False)
    topology = compiled_topology(compiled)
    physical, manifest = physical_of(topology), from_json(manifest_file(compiled), Manifest)
    records = [
        new_record("example", query, {}, definition_of(manifest, topology.catalog, query.stored).packed())
        for query in physical.queries
    ]
    for saved in (None, (manifest, read_catalog(compiled))):
        running = running_project(records, manifest, saved)
        again = physical_of(compiled_topology(running))
        assert [query.signature for query in again.queries] == [query.signature for query in physical.queries]
        unread = manifest.nodes.keys() - running.manifest.nodes.keys()
        assert not any(id_.startswith(("model.", "source.")) for id_ in unread)
        assert saved is None or not unread
        assert all(manifest.nodes[id_] == node for id_, node in running.manifest.nodes.items())
    first, second = records[0].definition, records[1].definition
    assert is_same(first, bytes(first))
    assert not is_same(first, second)


def test_a_record_without_a_definition():
    compiled = compile_project(EXAMPLE, use_cache=False)
    (query, *_) = physical_of(compiled_topology(compiled)).queries
    assert running_project([new_record("example", query, {})], compiled.manifest, None) is None


@pytest.mark.usefixtures("parquet_folders")
def test_queries_of_several_kinds_of_sources(tmp_path):
    shop = Shop(tmp_path, "")
    shop.write("models/lake.yml", LAKE)
    shop.model("large", "{{ config(materialized='sink') }} select id from {{ source('lake', 'orders') }}")
    shop.model("sent", "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}")
    compiled = compile_project(tmp_path, use_cache=False)
    topology = compiled_topology(compiled)
    manifest, queries = from_json(manifest_file(compiled), Manifest), physical_of(topology).queries
    records = [
        new_record("shop", query, {}, definition_of(manifest, topology.catalog, query.stored).packed())
        for query in queries
    ]
    running = running_project(records, manifest, None)
    again = physical_of(compiled_topology(running)).queries
    assert [query.signature for query in again] == [query.signature for query in queries]
