"""Records that a build leaves out, or makes dead letters of, are counted."""

import json

from support.runs import built, errors, headers, received, table_rows
from support.shops import PROFILES
from support.spark import SPARK_WARNINGS

from millstream.results.run_results import FILE, write_results

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
    return {result.id.removeprefix("model."): getattr(result, fate) for result in results.results}


EVENTS = "from {{ source('web', 'events') }}"
DEDUPE = "{{ config(materialized='sink', key='id', dedupe={'keys': ['id'], 'within': '1 hour'}) }}"
KEYED = "{{ config(materialized='sink', key='kind') }}"
TABLE = "{{ config(materialized='table', unique_key='id') }}"
RETAINED = "{{ config(materialized='table', unique_key='id', order_by='at', retention='1 hour') }}"


SKIPPING = {
    "plain": PLAIN,
    "filtered": f"{SINK} select id {EVENTS} where kind = 'x'",
    "deduplicated": f"{DEDUPE} select id, at {EVENTS}",
    "kinds": f"{KEYED} select kind, count(id) as n {EVENTS} group by kind",
    "stored": f"{TABLE} select id, kind {EVENTS}",
    "retained": f"{RETAINED} select id, kind, at {EVENTS}",
}


def test_records_that_are_skipped_are_counted_and_in_the_results(shop, first_spark, tmp_path):
    shop.write("profiles.yml", PROFILES.replace("kafka: embedded", "kafka: embedded, grouping: 'off'"))
    shop.source(on_bad_record="skip")
    for name, model in SKIPPING.items():
        shop.model(name, model)
    shop.send(*good(1, 2), *BAD)
    results, _ = built(shop.root, first_spark)
    assert counted(results) == {name: {SOURCE: 2} for name in SKIPPING}
    write_results(tmp_path / "told", results)
    written = json.loads((tmp_path / "told" / FILE).read_text())["results"]
    assert {result["id"].removeprefix("model."): result["skipped"] for result in written} == counted(results)
    assert [result["dead_letters"] for result in written] == [{}] * len(SKIPPING)
    shop.send(BAD[0], *good(3))
    assert counted(built(shop.root, first_spark)[0]) == {name: {SOURCE: 1} for name in SKIPPING}


def test_a_record_that_several_models_leave_out_counts_once_for_each(shop, first_spark):
    shop.source(on_bad_record="skip")
    shop.model("plain", PLAIN)
    shop.model("kinds", f"{KEYED} select kind, count(id) as n {EVENTS} group by kind")
    shop.model("sums", f"{KEYED} select kind, sum(id) as n {EVENTS} group by kind")
    shop.send(*good(1, 2), *BAD)
    results, _ = built(shop.root, first_spark)
    assert counted(results) == {name: {SOURCE: 2} for name in ("plain", "kinds", "sums")}
    assert {result.rows_read for result in results.results} == {4}


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
    results, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert counted(results) == {"shares": {SOURCE: 1, "model.shares": 2}, "plain": {SOURCE: 1}}
    assert [row["id"] for row in shop.values("shares")] == [0]
    assert len(shop.values("plain")) == 3


def test_dead_letters_are_counted_by_source_and_model(shop, first_spark):
    shop.source(on_bad_record="dead_letter")
    shop.write("macros/shares.py", SHARE)
    shop.model("shares", SINK + "select id, share(value) as share from {{ source('web', 'events') }}")
    shop.model("plain", PLAIN)
    shop.send(*good(1, 0, 0), *BAD)
    results, events = built(shop.root, first_spark)
    assert errors(events) == []
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
    results, events = built(shop.root, first_spark)
    assert errors(events) == []
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
    results, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert counted(results) == {"named": {SOURCE: 2}}
    assert [row["user"] for row in table_rows(shop.root, "model.named")] == ["user1"]


STRANGE = """
    import os, signal, sys

    class Sneaky(Exception):
        def __str__(self):
            raise KeyError(1)

    class Unshown:
        def __repr__(self):
            raise KeyError(1)

    def strange(id: int) -> int:
        match id:
            case 1: return None
            case 2: return 1.5
            case 3: return 2**70
            case 4: sys.exit(3)
            case 5: os._exit(3)
            case 6: raise KeyboardInterrupt
            case 7: raise Sneaky
            case 8: return Unshown()
            case 9: raise ValueError("\\ud800")
            case 10: raise GeneratorExit
            case 11: return strange(id)
        return id

    def named(id: int) -> str:
        return "\\ud800" if id == 12 else f"user{id}"

    def killed(id: int) -> int:
        if id == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return id
"""
REASONS = {
    1: "returned None, whose hint is not optional: bigint",
    2: "returned 1.5, which does not fit bigint",
    3: f"returned {2**70}, which does not fit bigint",
    4: "SystemExit: 3",
    5: "RuntimeError: os._exit(3) would end the worker",
    6: "KeyboardInterrupt: ",
    7: "Sneaky: its message can't be shown",
    8: "returned a value of Unshown, which does not fit bigint",
    9: "ValueError: \\ud800",
    10: "GeneratorExit: ",
    11: "RecursionError: maximum recursion depth exceeded",
}


def test_a_result_that_does_not_fit_is_a_dead_letter(shop, first_spark):
    shop.source(on_bad_record="dead_letter")
    shop.write("macros/strange.py", STRANGE)
    shop.model("odd", SINK + f"select id, strange(id) as n, named(id) as name {EVENTS}")
    shop.send(*good(*range(14)))
    results, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert counted(results, "dead_letters") == {"odd": {"model.odd": 12}}
    assert [(row["n"], row["name"]) for row in shop.values("odd")] == [(0, "user0"), (13, "user13")]
    reasons = {
        json.loads(record.value())["id"]: headers(record)["millstream.reason"].partition(" (macros")[0]
        for record in received(shop.bootstrap, "events.dead_letter")
    }
    named = "named(): returned '\\ud800', which does not fit string"
    assert reasons == {id_: f"odd: strange(): {reason}" for id_, reason in REASONS.items()} | {
        12: f"odd: {named}"
    }


def test_a_worker_that_is_killed_stops_its_model_and_no_other(shop, first_spark):
    shop.source(on_bad_record="dead_letter")
    shop.write("macros/strange.py", STRANGE)
    shop.model("odd", SINK + f"select id, killed(id) as n {EVENTS}")
    shop.model("plain", PLAIN)
    shop.send(*good(*range(5)))
    results, _ = built(shop.root, first_spark)
    assert [(result.id, result.status, result.message) for result in results.results] == [
        ("model.odd", "error", "odd, events.dead_letter: the Python worker died in killed()"),
        ("model.plain", "success", ""),
    ]
    assert len(shop.values("plain")) == 5
    shop.write("macros/strange.py", STRANGE.replace("id == 3", "id == 9"))
    results, events = built(shop.root, first_spark)
    assert (errors(events), [row["n"] for row in shop.values("odd")]) == ([], [0, 1, 2, 3, 4])
