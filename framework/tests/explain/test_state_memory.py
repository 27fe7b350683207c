"""The memory of states before they run: Spark's own figures of such states are the judge in tests/runner."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.core.text import FileText, Location
from millstream.explain.state_memory import (
    StateMemory,
    StateStores,
    in_words,
    memory_warnings,
    state_memory,
    stores_of,
)
from millstream.local.memory import memory_of_machine
from millstream.outputs.kinds import Sink
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.values import Target
from millstream.queries.values import (
    MemoryEstimate,
    Query,
    QuerySignature,
    SinkOutput,
    StatefulOperator,
    StateSize,
    ToKafka,
    content_id,
)
from millstream.results.state_sizes import (
    MeasuredState,
    OperatorState,
    RestoredState,
    StateFigures,
    last_restored,
    measured_states,
)

MEBIBYTE = 1 << 20
GIGABYTE = 10**9


STORES = StateStores()
COUNTS = StatefulOperator(
    "aggregate of m", "aggregate", (("key user_id", "string"), ("measure count(*)", "bigint"))
)


def query(rows=None, operator=COUNTS) -> Query:
    size = StateSize(operator.name, 96, rows, content=content_id(operator))
    return Query(
        "m", "stateful", (NodeId("model", "m"),), (), (), (), "select 1", ToKafka((SinkOutput(NodeId("model", "m"), Sink("m")),)), "update",
        QuerySignature((), (operator,)), MemoryEstimate(rows and rows * 96, "", (size,)),
    )  # fmt: skip


def memory_of(query_, stores=STORES) -> StateMemory:
    (memory,) = state_memory(query_, Catalog({}, {}, {}), stores)
    return memory


def test_each_store_has_a_cache_and_each_row_has_a_part_of_filters_and_indexes():
    memory = memory_of(query(10_000_000), StateStores(partitions=2))
    assert (memory.stores, memory.rows, memory.rows_from) == (2, 10_000_000, "declared")
    assert memory.memory == 2 * 8 * MEBIBYTE + 2 * 10_000_000


def test_a_cache_does_not_hold_more_than_all_rows():
    memory = memory_of(query(1000), StateStores(partitions=2))
    assert memory.memory == 1000 * (memory.row_bytes + 2)


def test_rows_that_were_measured_count_where_none_are_declared():
    (size,) = query().memory.states
    measured = MeasuredState(1_000_000, 18_502_696, 17_203_506, "2026-11-25T10:00:00+00:00")
    stores = StateStores(partitions=2, measured={size.content: measured})
    memory = memory_of(query(), stores)
    assert (memory.rows, memory.rows_from) == (1_000_000, "measured")
    assert abs(memory.memory - measured.memory) < 0.05 * measured.memory
    assert in_words(memory, stores.cache) == (
        "up to about 18.8 MB in 2 stores, for 1,000,000 measured rows; measured on 2026-11-25: 1,000,000 rows in 18.5 MB, "
        "and 17.2 MB of files, which a restart loads in about 0.3 s of one core"
    )
    slower = replace(measured, restored=RestoredState(1_000_000, 0.1))
    memory = memory_of(query(), replace(stores, measured={size.content: slower}))
    assert in_words(memory, stores.cache).endswith("loads in about 1.7 s of one core"), "as fast as last time"


def test_how_states_were_loaded_is_known_until_they_are_loaded_again():
    loaded = {"rocksdbNumLoadedFromDfs": 4, "rocksdbLoadLatencyMs": 500, "rocksdbSstFileSize": 700}
    first = OperatorState("join", 7, 70, figures=loaded)
    other = OperatorState("dedupe", 7, 70, figures={"rocksdbLoadLatencyMs": 3})
    restored = last_restored((), (first, other))
    assert restored == (RestoredState(700, 0.5), None)
    assert last_restored(restored, (other, other)) == restored


def test_without_a_number_of_rows_the_parts_are_shown():
    memory = memory_of(query())
    assert (memory.memory, memory.rows_from) == (None, "unknown")
    assert in_words(memory, 8 * MEBIBYTE) == "up to 8.4 MB in each of 4 stores, and 2 bytes for each row"


def test_figures_of_an_edited_state_are_not_used(tmp_path):
    (size,) = query().memory.states
    state = OperatorState("stateStoreSave", 7, 70, figures={"rocksdbSstFileSize": 700})
    files = {
        "m": StateFigures("1", 0, "2026-11-25", "", (state,), (size.content,)),
        "older": StateFigures("2", 0, "2026-11-25", "", (state,)),
    }
    for name, figures in files.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "state.json").write_bytes(msgspec.json.encode(figures))
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged/state.json").write_text("{")
    assert measured_states(str(tmp_path)) == {size.content: MeasuredState(7, 70, 700, "2026-11-25")}
    edited = replace(COUNTS, facts=(("key user_id", "string"), ("measure sum(n)", "bigint")))
    assert content_id(edited) != size.content
    assert content_id(replace(COUNTS, name="totals", models=(NodeId("model", "totals"),))) == size.content


def target(**settings):
    return Target("shop", "local", settings, Location("profiles.yml", 1, 1))


def test_a_target_sets_partitions_cache_and_heap(tmp_path):
    spark = {
        "spark.sql.shuffle.partitions": 20,
        "spark.sql.streaming.stateStore.rocksdb.blockCacheSizeMB": 16,
        "spark.driver.memory": "3g",
    }
    stores = stores_of(target(spark=spark), tmp_path)
    assert (stores.partitions, stores.cache, stores.heap) == (20, 16 * MEBIBYTE, 3 << 30)
    assert stores_of(target(), tmp_path) == StateStores(4, 8 * MEBIBYTE, 2 << 30)
    assert stores_of(target(master="spark://host:7077"), tmp_path).heap == 0
    assert stores_of(target(), tmp_path, 100, 8 << 30).heap == 4 << 30


@pytest.mark.parametrize(
    ("machine", "limit", "message"),
    [
        (
            4 * GIGABYTE,
            None,
            "about 2 GB besides the heap of 3 GB, and this machine has 4 GB; most is for aggregate",
        ),
        (8 * GIGABYTE, None, None),
        (None, None, None),
        (4 * GIGABYTE, 512 * 10**6, "need about 2 GB, their limit is 512 MB"),
        (4 * GIGABYTE, 2 * GIGABYTE, "this machine has 4 GB"),
    ],
)
def test_a_warning_says_what_is_too_small(machine, limit, message):
    state = replace(memory_of(query(1_000_000_000)), limit=limit)
    state = replace(state, memory=min(state.memory, limit or state.memory))
    messages = [
        warning.message for warning in memory_warnings([state], StateStores(heap=3 * GIGABYTE), machine, {})
    ]
    assert len(messages) == (message is not None)
    assert message is None or message in messages[0]


def test_a_warning_is_at_the_model_with_the_largest_state():
    small = replace(memory_of(query(1_000_000_000)), model=NodeId("model", "small"))
    large = replace(memory_of(query(2_000_000_000)), model=NodeId("model", "large"))
    files = {
        NodeId("model", "small"): FileText("models/small.sql", "select 1\n"),
        NodeId("model", "large"): FileText(
            "models/large.sql", "-- much\n{{ config(materialized='table') }}\nselect 1\n"
        ),
    }
    (warning,) = memory_warnings([small, large], StateStores(heap=3 * GIGABYTE), 4 * GIGABYTE, files)
    assert (str(warning.location), warning.line) == (
        "models/large.sql:2:4", "{{ config(materialized='table') }}",
    )  # fmt: skip
    (warning,) = memory_warnings([small], StateStores(heap=3 * GIGABYTE), 4 * GIGABYTE, files)
    assert str(warning.location) == "models/small.sql:1:1"


def test_a_container_has_the_memory_of_its_limit(tmp_path):
    limit = tmp_path / "memory.max"
    limit.write_text("67108864\n")
    assert memory_of_machine(limit) == 64 * MEBIBYTE
    limit.write_text("max\n")
    assert memory_of_machine(limit) == memory_of_machine(tmp_path / "missing")
