"""Options of state: obeyed, or refused."""

import pytest
from support.keyed import GROWING
from support.runs import built, errors, job_of, table_rows
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project
from millstream.deploy.planning.intents import FullRefresh
from millstream.engine.spark.settings import state_settings
from millstream.results.state_sizes import measured_states

pytestmark = SPARK_WARNINGS

COUNTS = """
    {{{{ config(materialized='table', unique_key='user', state={state}) }}}}
    select user, {call} as n from {{{{ source('web', 'events') }}}} group by user
"""
KEYED = """
    {{{{ config(materialized='sink', state={state}) }}}}
    select t.value from {{{{ source('web', 'events') }}}} as e, lateral growing(e.user) as t
"""
STATE = "spark.sql.streaming.stateStore."


def counts(state, call="count(*)"):
    return COUNTS.format(state=state, call=call)


def settings(shop):
    job = job_of(shop.root)
    return {query.name: state_settings(query, job.catalog) for query in job.physical.queries}


def test_models_of_different_stores_are_no_query(shop):
    shop.model("first", counts({"store": "memory"}))
    shop.model("second", counts({}, "sum(id)"))
    shop.model("third", counts({"store": "rocksdb"}, "max(id)"))
    stores = {name: conf[f"{STATE}providerClass"].rpartition(".")[2] for name, conf in settings(shop).items()}
    assert sorted(stores.values()) == ["HDFSBackedStateStoreProvider", "RocksDBStateStoreProvider"]
    assert stores["first"] == "HDFSBackedStateStoreProvider"


def test_models_that_bound_their_memory_have_the_sum_together(shop):
    shop.model("first", counts({"memory": "512 MB"}))
    shop.model("second", counts({"memory": "1g"}, "sum(id)").replace("group by", "where id > 1 group by"))
    shop.model("third", counts({"store": "memory"}, "max(id)"))
    confs = settings(shop)
    bounds = {name: conf.get(f"{STATE}rocksdb.maxMemoryUsageMB") for name, conf in confs.items()}
    assert bounds.pop("third") is None
    assert set(bounds.values()) == {"1512"}, "Spark's MB are 2 to the 20th bytes"


@pytest.mark.parametrize("state", [{"store": "memory"}, {"store": "rocksdb", "memory": "64 MB"}])
def test_states_are_kept_where_the_model_says(shop, first_spark, state):
    shop.model("counts", counts(state))
    for _ in range(2):
        shop.send(("a", {"id": 1}), ("b", {"id": 2}))
        _, events = built(shop.root, first_spark)
        assert errors(events) == []
    assert sorted((row["user"], row["n"]) for row in table_rows(shop.root, "model.counts")) == [
        ("a", 2),
        ("b", 2),
    ]
    ((size,),) = (query.memory.states for query in job_of(shop.root).physical.queries)
    measured = measured_states(str(shop.root / ".millstream/local/checkpoints"))[size.content]
    assert measured.rows == 2
    assert (measured.files > 0) == ("memory" in state)
    files = [
        path.name for path in (shop.root / ".millstream/local/checkpoints/counts/spark/state/0/1").iterdir()
    ]
    assert any(name.endswith(".zip" if "memory" in state else ".delta") for name in files)


@pytest.mark.parametrize(
    ("model", "code", "message"),
    [
        (counts({"ttl": "1 hour"}), "MS676", "'state: {ttl}' can't end the groups of an aggregate"),
        (counts({"retention": "1 hour"}), "MS522", "'state: {retention}' has no effect on windows"),
        (
            counts({"store": "memory", "memory": "1 GB"}),
            "MS522",
            "'state: {memory}' only limits the store rocksdb",
        ),
        (KEYED.format(state={"store": "memory"}), "MS522", "Python functions only keep state in RocksDB"),
    ],
)
def test_what_nothing_obeys_is_refused(shop, model, code, message):
    shop.write("macros/growing.py", GROWING)
    shop.model("model", model)
    (diagnostic,) = compile_project(shop.root, use_cache=False).diagnostics
    assert (diagnostic.code, diagnostic.location.path, diagnostic.message[: len(message)]) == (
        code,
        "models/model.sql",
        message,
    )
    assert diagnostic.line


def test_a_folder_may_say_what_only_some_of_its_models_obey(shop):
    shop.write(
        "pyproject.toml",
        '[tool.millstream]\nname = "shop"\n[tool.millstream.models]\nstate = {ttl = "1 hour"}\nunbounded_state = "accept"\n',
    )
    shop.write("macros/growing.py", GROWING)
    shop.model("keyed", KEYED.format(state={"ttl": "2 hours"}))
    shop.model("counts", counts({}).replace(", state={}", ""))
    assert compile_project(shop.root, use_cache=False).diagnostics == ()


@pytest.mark.long
def test_another_ttl_is_another_state(shop, first_spark):
    shop.write("macros/growing.py", GROWING)
    shop.model("totals", KEYED.format(state={}))
    shop.send(("a", {"id": 1}))
    built(shop.root, first_spark)
    shop.model("totals", KEYED.format(state={"ttl": "1 hour"}))
    _, events = built(shop.root, first_spark)
    (diagnostic,) = errors(events)
    assert diagnostic.code == "MS870"
    assert "time to live" in diagnostic.message
    built(shop.root, first_spark, intent=FullRefresh())
    shop.send(("a", {"id": 2}))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert [row["value"] for row in shop.values("totals")] == [1, 1, 3]
