"""Descriptions of physical queries."""

from millstream.core.node_id import NodeId
from millstream.explain.queries import ExplainedQuery, SeparationReason, explain_separation
from millstream.explain.queries import explain_query as explained
from millstream.explain.state_memory import StateStores
from millstream.outputs.kinds import Sink
from millstream.plan.from_sql.catalog import Catalog
from millstream.queries.emit.steps import DedupeView, SqlView
from millstream.queries.values import (
    ChangesRead,
    DeadLetters,
    MemoryEstimate,
    OutputDelivery,
    PerBatch,
    Query,
    QuerySignature,
    Separation,
    SinkOutput,
    StatefulOperator,
    StaticRead,
    TableOutput,
    ToKafka,
    TopicRead,
)


def query(deliver, steps=(), operators=()) -> Query:
    return Query(
        name="counts",
        kind="stateful",
        models=(NodeId("model", "counts"),),
        sources=(
            TopicRead("events", NodeId("source", "shop.events"), ("events_v2",)),
            ChangesRead("users", NodeId("model", "users")),
        ),
        reads=(StaticRead("products", NodeId("seed", "products")),),
        steps=steps,
        sql="select 1",
        deliver=deliver,
        output_mode="update",
        signature=QuerySignature((NodeId("source", "shop.events"),), operators),
        memory=MemoryEstimate(160, "10 keys of 16 bytes"),
        realtime=("an aggregate",),
    )


TO_KAFKA = ToKafka(
    (
        SinkOutput(NodeId("model", "counts"), Sink("counts")),
        DeadLetters(NodeId("source", "shop.events"), "events.dead_letter"),
    )
)


def explain_query(planned: Query) -> ExplainedQuery:
    return explained(planned, Catalog({}, {}, {}), StateStores())


def test_a_query_tells_what_it_makes_and_reads() -> None:
    explanation = explain_query(query(TO_KAFKA))
    assert (explanation.name, explanation.kind, explanation.models, explanation.mode) == (
        "counts",
        "stateful",
        ("counts",),
        "update",
    )
    assert explanation.sources == ("events_v2", "changes of users", "products")
    assert explanation.realtime == ("an aggregate",)
    assert explanation.dead_letters == ("events.dead_letter",)


def test_memory_is_told_of_what_keeps_state() -> None:
    assert explain_query(query(TO_KAFKA)).memory == ""
    assert (
        explain_query(query(TO_KAFKA, operators=(StatefulOperator("counts", "aggregate", ()),))).memory
        == "10 keys of 16 bytes"
    )


def test_sql_is_told_in_the_order_in_which_it_runs() -> None:
    steps = (SqlView("a", "select 2"), DedupeView("b", "a", ("id",), "1 hour"))
    deliver = PerBatch(
        "batch", (OutputDelivery(TableOutput(NodeId("model", "counts")), "select * from batch"),)
    )
    assert explain_query(query(deliver, steps)).sql == (
        "-- view a\nselect 2\n\n-- view b: the first row of a by id within 1 hour\n\nselect 1\n\n"
        "-- counts, of each batch as batch\nselect * from batch"
    )


def test_models_apart_are_told_by_their_names() -> None:
    assert explain_separation(
        Separation(NodeId("model", "a"), "it keeps state", (NodeId("model", "b"),))
    ) == SeparationReason("a", "it keeps state", ("b",))
