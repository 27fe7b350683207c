"""Whether a query may go on from its checkpoint."""

import pytest
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.queries.values import Dependency, QuerySignature, StatefulOperator, StoredOutput
from millstream.queries.verdict import compare_signatures

COUNT = StatefulOperator(
    "counts", "aggregate", (("keys", "user"), ("measures", "count(*)"), ("window", "1 hour")), "a1",
    models=(NodeId("model", "counts"),),
)  # fmt: skip
NOW = QuerySignature((NodeId("source", "shop.events"),), (COUNT,), ("model.counts",))


def changed(**facts):
    new_facts = tuple((name, facts.get(name, value)) for name, value in COUNT.facts)
    return replace(NOW, operators=(replace(COUNT, facts=new_facts),))


def test_nothing_changed():
    assert compare_signatures(NOW, NOW).kind == "same"


def test_another_window():
    result = compare_signatures(NOW, changed(window="2 hours"))
    assert (result.kind, result.reasons) == ("rebuild", ("counts: window is `2 hours` instead of `1 hour`",))


def test_another_filter_before_the_state_would_count_by_both():
    result = compare_signatures(NOW, replace(NOW, operators=(replace(COUNT, below="b2"),)))
    assert (result.kind, result.mixed, result.stored) == ("mixed", ("model.counts",), ())
    assert "computed by the old SQL" in result.reasons[0]


def test_another_source():
    result = compare_signatures(NOW, replace(NOW, sources=(NodeId("source", "shop.hits"),)))
    assert (result.kind, result.reasons) == ("rebuild", ("it reads shop.hits instead of shop.events",))


def test_models_in_another_order():
    two = replace(NOW, branches=("model.counts", "model.tops"))
    assert compare_signatures(two, replace(two, branches=("model.tops", "model.counts"))).kind == "rebuild"


def test_models_come_to_a_state_and_leave_it():
    """What a batch of its rows is written to is nothing that a checkpoint knows."""
    both = replace(NOW, branches=("model.counts, model.tops",))
    assert compare_signatures(both, NOW).kind == "same"
    assert compare_signatures(NOW, both).kind == "same"
    assert compare_signatures(NOW, replace(NOW, branches=("model.tops",))).kind == "rebuild"


def test_more_states():
    result = compare_signatures(NOW, replace(NOW, operators=(COUNT, COUNT)))
    assert result.reasons == ("it keeps 2 states instead of 1 state",)


def test_a_fact_that_is_new():
    with_watermark = replace(COUNT, facts=(*COUNT.facts, ("watermark", "at 10 seconds")))
    result = compare_signatures(NOW, replace(NOW, operators=(with_watermark,)))
    assert (result.kind, result.reasons) == ("rebuild", ("counts: with watermark `at 10 seconds`",))


def test_another_time_zone_matters_to_states_alone():
    assert compare_signatures(NOW, replace(NOW, timezone="Europe/Amsterdam")).kind == "rebuild"
    stateless = replace(NOW, operators=())
    assert compare_signatures(stateless, replace(stateless, timezone="Europe/Amsterdam")).kind == "same"


def test_models_of_a_query_without_state_come_and_go():
    stateless = replace(NOW, operators=())
    assert (
        compare_signatures(stateless, replace(stateless, branches=("model.counts, model.more",))).kind
        == "same"
    )


def test_aggregates_that_are_selected_as_they_are_kept_need_no_word():
    two = (("key 1", "user string"), ("measure 1", "count(*) bigint"), ("measure 2", "sum(x) bigint"))
    plain = replace(NOW, operators=(replace(COUNT, facts=two),))
    selected = replace(NOW, operators=(replace(COUNT, facts=(*two, ("order", "1, 2"))),))
    turned = replace(NOW, operators=(replace(COUNT, facts=(*two, ("order", "2, 1"))),))
    assert compare_signatures(plain, selected).kind == "same"
    assert compare_signatures(plain, turned).kind == "rebuild"


def test_what_is_another_is_told_as_it_is_written():
    before = (
        ("measure 1", "sum(source.shop.events.value) double"),
        ("measure 2", "count(*) bigint not null"),
    )
    after = (("measure 1", "max(source.shop.events.value) double"), ("measure 2", "count(*) bigint not null"))
    old, new = (replace(NOW, operators=(replace(COUNT, facts=facts),)) for facts in (before, after))
    assert compare_signatures(old, new).reasons == (
        "counts: aggregate is `max(value)` instead of `sum(value)`",
    )
    more = replace(NOW, operators=(replace(COUNT, facts=(*before, ("measure 3", "min(x) int"))),))
    assert compare_signatures(old, more).reasons == ("counts: with the new aggregate `min(x)`",)


def test_another_topic_of_the_same_source():
    """The checkpoint has offsets of the old one."""
    old, new = (replace(NOW, topics=(topic,)) for topic in ("events", "events_v2"))
    result = compare_signatures(old, new)
    assert (result.kind, result.reasons) == (
        "rebuild",
        ("it reads the topic events_v2 instead of the topic events",),
    )
    assert compare_signatures(replace(old, operators=()), replace(new, operators=())).kind == "rebuild"
    assert compare_signatures(NOW, new).kind == "same"  # a record that was written before topics were


KINDS = Dependency("seed", "kinds", "d1")
TYPE = Dependency("type", "web.events.id", "int")


def with_state(**facts):
    return replace(
        NOW, operators=(replace(COUNT, **{"depends": (TYPE,), "below_depends": (KINDS,)} | facts),)
    )


def test_what_a_state_depends_on_besides_its_sql():
    now = with_state()
    result = compare_signatures(now, with_state(depends=(replace(TYPE, content="string"),)))
    assert (result.kind, result.reasons) == ("rebuild", ("counts: web.events.id is string instead of int",))
    result = compare_signatures(now, with_state(below_depends=(replace(KINDS, content="d2"),)))
    assert (result.kind, result.reasons) == (
        "mixed",
        ("counts: the rows of seed kinds changed; existing state was computed before",),
    )


def test_a_record_that_was_written_before_dependencies_were():
    """What it depended on is unknown; from the next start on, it is known."""
    assert (
        compare_signatures(
            NOW, replace(with_state(emitted=("x",)), settings={"spark.sql.ansi.enabled": "false"})
        ).kind
        == "same"
    )


def test_conditions_of_which_excluded_rows_would_be_emitted():
    result = compare_signatures(with_state(emitted=("a > 1",)), with_state(emitted=("a > 2",), below="b2"))
    assert result.kind == "rebuild"
    assert result.reasons[0].startswith("counts: the conditions upstream of it changed; groups ")


def test_another_spark_setting():
    old = replace(NOW, settings={})
    result = compare_signatures(old, replace(old, settings={"spark.sql.ansi.enabled": "false"}))
    assert (result.kind, result.reasons) == (
        "rebuild",
        ("spark.sql.ansi.enabled is false instead of not set",),
    )


def test_another_retention():
    rows = StoredOutput(NodeId("model", "days"), ("id",), "r1", (), "1 day")
    old = replace(NOW, operators=(), stored=(rows,))
    for retention, kind in (("2 days", "stored"), ("", "stored"), ("1 hour", "stored"), ("24 hours", "same")):
        assert (
            compare_signatures(old, replace(old, stored=(replace(rows, retention=retention),))).kind == kind
        )


JOIN = StatefulOperator(
    "met",
    "join",
    (
        ("kind", "inner"),
        ("left", "source.web.events.id int, source.web.events.user string not null"),
        ("right", "if(source.web.others.value > 1, 'a, b', x) string"),
    ),
)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"kind": "left"}, "the kind of join is `left` instead of `inner`"),
        ({"left": "source.web.events.id int"}, "the left side no longer has `user`"),
        (
            {
                "left": "source.web.events.id int, source.web.events.user string not null, source.web.events.at timestamp"
            },
            "the left side now has `at`",
        ),
        (
            {"left": "source.web.events.id int, upper(source.web.events.user) string"},
            "a column of the left side is `upper(user)` instead of `user`",
        ),
        (
            {"right": "if(source.web.others.value > 2, 'a, b', x) string"},
            "a column of the right side is `if(value > 2, 'a, b', x)` instead of `if(value > 1, 'a, b', x)`",
        ),
    ],
)
def test_only_what_differs_of_a_join_is_said(facts, reason):
    old = replace(NOW, operators=(JOIN,))
    changed = tuple((name, facts.get(name, content)) for name, content in JOIN.facts)
    assert compare_signatures(old, replace(NOW, operators=(replace(JOIN, facts=changed),))).reasons == (
        f"met: {reason}",
    )


def test_another_kind_of_state():
    deduped = replace(COUNT, kind="dedupe")
    assert compare_signatures(NOW, replace(NOW, operators=(deduped,))).reasons == (
        "counts is a deduplication instead of an aggregate",
    )


def test_an_older_record_has_event_times_that_a_later_watermark_replaced():
    time = ("watermark", "model.pairs.seen delay 10 seconds")
    replaced = ("watermark", "model.pairs.at delay 10 seconds")
    old = replace(NOW, operators=(replace(COUNT, facts=(*COUNT.facts, replaced, time)),))
    now = replace(
        NOW, operators=(replace(COUNT, facts=(*COUNT.facts, time), stored_facts=(*COUNT.facts, time)),)
    )
    assert compare_signatures(old, now).kind == "same"
    assert (
        compare_signatures(
            replace(old, operators=(replace(COUNT, facts=(*COUNT.facts, replaced)),)), now
        ).kind
        == "rebuild"
    )
