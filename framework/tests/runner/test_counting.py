"""Records that a build leaves out, or makes dead letters of, are counted."""

import json

import pytest
from support.runs import built, headers, problems, received, table_rows
from support.spark import SPARK_WARNINGS

from millstream.results import FILE, write_results

pytestmark = SPARK_WARNINGS

SOURCE = "source.web.events"
SINK = "{{ config(materialized='sink') }}"
SHARE = """
    def share(value: float) -> float:
        return 1 / value

    def shown(value: float) -> str:
        return f"{int(1 / value)}"
"""
PLAIN = SINK + "select id, kind from {{ source('web', 'events') }}"
SHARES = SINK + "select id, share(value) as share, shown(value) as shown from {{ source('web', 'events') }}"
BAD = [("x", "no JSON"), ("y", {"id": "one"})]


def good(*values):
    return [(f"user{n}", {"id": n, "kind": "x", "value": value}) for n, value in enumerate(values)]


def counted(results, fate="skipped"):
    assert not results.failed
    return {each.id.removeprefix("model."): getattr(each, fate) for each in results.results}


EVENTS = "from {{ source('web', 'events') }}"
DEDUPE = "{{ config(materialized='sink', key='id', dedupe={'keys': ['id'], 'within': '1 hour'}) }}"
KEYED = "{{ config(materialized='sink', key='kind') }}"
TABLE = "{{ config(materialized='table', unique_key='id') }}"
KEPT = "{{ config(materialized='table', unique_key='id', order_by='at', retention='1 hour') }}"


@pytest.mark.parametrize(
    "model",
    [
        PLAIN,
        f"{SINK} select id {EVENTS} where kind = 'x'",
        f"{DEDUPE} select id, at {EVENTS}",
        f"{KEYED} select kind, count(id) as n {EVENTS} group by kind",
        f"{TABLE} select id, kind {EVENTS}",
        f"{KEPT} select id, kind, at {EVENTS}",
    ],
    ids=["sink", "filter", "dedupe", "aggregate", "table", "retention"],
)
def test_records_that_are_skipped_are_counted(shop, first_spark, model):
    shop.source(on_bad_record="skip")
    shop.model("plain", model)
    shop.send(*good(1, 2), *BAD)
    assert counted(built(shop.root, first_spark)[0]) == {"plain": {SOURCE: 2}}
    shop.send(BAD[0], *good(3))
    assert counted(built(shop.root, first_spark)[0]) == {"plain": {SOURCE: 1}}


def test_a_record_that_several_models_leave_out_counts_once_for_each(shop, first_spark):
    shop.source(on_bad_record="skip")
    shop.model("plain", PLAIN)
    shop.model("kinds", f"{KEYED} select kind, count(id) as n {EVENTS} group by kind")
    shop.model("sums", f"{KEYED} select kind, sum(id) as n {EVENTS} group by kind")
    shop.send(*good(1, 2), *BAD)
    results, _ = built(shop.root, first_spark)
    assert counted(results) == {name: {SOURCE: 2} for name in ("plain", "kinds", "sums")}
    assert {each.rows_read for each in results.results} == {4}


def test_good_records_are_not_counted(shop, first_spark):
    shop.source(on_bad_record="skip")
    shop.model("plain", PLAIN)
    shop.send(*good(1, 2))
    assert counted(built(shop.root, first_spark)[0]) == {"plain": {}}


def test_rows_on_which_a_function_fails_are_counted_by_model(shop, first_spark):
    shop.source(on_bad_record="skip")
    shop.write("macros/shares.py", SHARE)
    shop.model("shares", SHARES)
    shop.model("plain", PLAIN)
    shop.send(*good(1, 0, 0), BAD[0])
    results, told = built(shop.root, first_spark)
    assert problems(told) == []
    assert counted(results) == {"shares": {SOURCE: 1, "model.shares": 2}, "plain": {SOURCE: 1}}
    assert [each["id"] for each in shop.values("shares")] == [0]
    assert len(shop.values("plain")) == 3


def test_dead_letters_are_counted_by_source_and_model(shop, first_spark):
    shop.source(on_bad_record="dead_letter")
    shop.write("macros/shares.py", SHARE)
    shop.model("shares", SINK + "select id, share(value) as share from {{ source('web', 'events') }}")
    shop.model("plain", PLAIN)
    shop.send(*good(1, 0, 0), *BAD)
    results, told = built(shop.root, first_spark)
    assert problems(told) == []
    assert counted(results, "dead_letters") == {
        "shares": {SOURCE: 2, "model.shares": 2},
        "plain": {SOURCE: 2},
    }
    assert len(received(shop.bootstrap, "events.dead_letter")) == 4


def test_a_model_may_skip_what_its_source_sends_to_dead_letters(shop, first_spark):
    shop.source(on_bad_record="dead_letter")
    shop.write("macros/shares.py", SHARE)
    timed = "{{ config(materialized='sink', on_bad_record='skip', timestamp='at') }}"
    shop.model("shares", timed + "select id, at, share(value) as share from {{ source('web', 'events') }}")
    shop.send(*good(1, 0), *BAD)
    results, told = built(shop.root, first_spark)
    assert problems(told) == []
    assert counted(results) == {"shares": {"model.shares": 1}}
    assert counted(results, "dead_letters") == {"shares": {SOURCE: 2}}
    assert len(shop.values("shares")) == 1
    assert len(received(shop.bootstrap, "events.dead_letter")) == 2


def test_a_reference_topic_counts_what_it_skips_and_no_deletes(shop, first_spark):
    shop.source(on_bad_record="skip", table="true")
    shop.model(
        "named", "{{ config(materialized='table', unique_key='user') }} select user, id from {{ source('web', 'events') }}"
    )  # fmt: skip
    shop.send(*good(1, 2), ("user0", None), *BAD)
    results, told = built(shop.root, first_spark)
    assert problems(told) == []
    assert counted(results) == {"named": {SOURCE: 2}}
    assert [row["user"] for row in table_rows(shop.root, "model.named")] == ["user1"]


def test_run_results_tell_it(shop, first_spark, tmp_path):
    shop.source(on_bad_record="skip")
    shop.model("plain", PLAIN)
    shop.send(*good(1), *BAD)
    results, _ = built(shop.root, first_spark)
    write_results(tmp_path / "told", results)
    (told,) = json.loads((tmp_path / "told" / FILE).read_text())["results"]
    assert (told["skipped"], told["dead_letters"]) == ({SOURCE: 2}, {})


STRANGE = """
    import os, sys

    def strange(id: int) -> int:
        match id:
            case 1: return None
            case 2: return 1.5
            case 3: return 2**70
            case 4: sys.exit(3)
            case 5: os._exit(3)
        return id
"""


def test_a_result_that_does_not_fit_is_a_dead_letter(shop, first_spark):
    shop.source(on_bad_record="dead_letter")
    shop.write("macros/strange.py", STRANGE)
    shop.model("odd", SINK + f"select id, strange(id) as n {EVENTS}")
    shop.send(*good(*range(7)))
    results, told = built(shop.root, first_spark)
    assert problems(told) == []
    assert counted(results, "dead_letters") == {"odd": {"model.odd": 5}}
    assert [each["n"] for each in shop.values("odd")] == [0, 6]
    letters = received(shop.bootstrap, "events.dead_letter")
    reasons = [
        headers(each)["millstream.reason"].removeprefix("odd: ").partition(" (macros")[0] for each in letters
    ]
    assert sorted(reasons) == [
        "strange(): RuntimeError: os._exit(3) would end the worker",
        "strange(): SystemExit: 3",
        "strange(): returned 1.5, which does not fit bigint",
        f"strange(): returned {2**70}, which does not fit bigint",
        "strange(): returned None, whose hint is not optional: bigint",
    ]
