"""Each edit of the corpus, told from the plan, and run: on half of the records, edited, on all of them."""

import json
import os

import pytest
from edits import more_edits
from edits.corpus import EDITS, MACROS
from support.runs import built, create_topics, job_of, send, statuses, table_rows
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import Update
from millstream.deploy.planning.records import Deployed, new_record
from millstream.deploy.planning.reuse_running import plan_on_running
from millstream.queries.verdict import compare_signatures

pytestmark = SPARK_WARNINGS

CODES = {"rebuild": "MS870", "mixed": "MS871", "stored": "MS880"}
STEP = int(os.environ.get("MILLSTREAM_EDITS_STEP", "1"))
"""Every how many edits are run; all of them are told."""
FIRST = int(os.environ.get("MILLSTREAM_EDITS_FIRST", "0"))
"""From which on."""
PROFILES = """
    shop:
      target: local
      outputs:
        local: &local {master: "local[2]", kafka: embedded, grouping: off}
        fresh: *local
"""
OTHERS = """
      - name: others
        key: {name: user, type: string}
        columns:
          - {name: id, type: int}
          - {name: kind, type: string}
          - {name: value, type: double}
          - {name: at, type: timestamp}
        watermark: {column: at, delay: 1 minute}
"""


def name_of(edit):
    return f"m{EDITS.index(edit):02}"


def write(shop, edits, side):
    shop.write("profiles.yml", PROFILES)
    shop.more(OTHERS)
    shop.write("macros/parts.py", MACROS)
    shop.write("macros/more.py", more_edits.MACROS)
    shop.write("seeds/kinds.csv", more_edits.KINDS_CSV)
    for edit in edits:
        shop.model(name_of(edit), getattr(edit, side))


def by_model(physical):
    return {output.model: query for query in physical.queries for output in query.outputs}


def test_the_verdict_of_each_edit(tmp_path):
    shop = Shop(tmp_path, "")
    write(shop, EDITS, "before")
    old = job_of(shop.root)
    write(shop, EDITS, "after")
    new = job_of(shop.root)
    running = Deployed({query.name: new_record("", query, {}) for query in old.physical.queries})
    before, after = (
        by_model(old.physical),
        by_model(plan_on_running(new.topology, new.physical, running, old.catalog).physical),
    )
    verdicts = {
        edit.name: compare_signatures(before[model].signature, after[model].signature).kind
        for edit in EDITS
        for model in [f"model.{name_of(edit)}"]
    }
    assert verdicts == {edit.name: edit.verdict for edit in EDITS}


@pytest.mark.long
def test_what_goes_on_and_what_is_rebuilt_has_the_rows_of_a_fresh_run(tmp_path, broker, first_spark):
    chosen = EDITS[FIRST::STEP]
    shop = Shop(tmp_path, broker)
    write(shop, chosen, "before")
    create_topics(shop.bootstrap, "events", "others")
    send(shop.bootstrap, half(0))
    succeeded(built(shop.root, first_spark)[0])
    before = {name_of(edit): rows(shop, edit) for edit in chosen}

    write(shop, chosen, "after")
    send(shop.bootstrap, half(1))
    results, events = built(shop.root, first_spark)
    refused = {result.id for result in results.results if result.status == "error"}
    assert refused == {f"model.{name_of(edit)}" for edit in chosen if edit.verdict != "same"}
    codes = {
        event.result.diagnostic.code
        for event in events
        if getattr(event, "result", None) and event.result.diagnostic
    }
    assert codes == {CODES[edit.verdict] for edit in chosen if edit.verdict != "same"}
    assert all(rows(shop, edit) == before[name_of(edit)] for edit in chosen if edit.verdict != "same")

    succeeded(built(shop.root, first_spark, intent=Update(frozenset(refused)))[0])
    succeeded(built(shop.root, first_spark, target="fresh")[0])
    differing = {
        e.name: (rows(shop, e), rows(shop, e, "fresh"))
        for e in chosen
        if rows(shop, e) != rows(shop, e, "fresh")
    }
    assert differing == {}


def succeeded(results):
    assert {name for name, status in statuses(results).items() if status != "success"} == set()


def rows(shop, edit, target=None):
    """Return the rows of a model's table; sets and lists of a group have no order.

    A table keeps the case in which its columns were first written.
    """

    def plain(value):
        if isinstance(value, float):
            return round(value, 9)  # the last digits of a spread depend on how records were cut into batches
        return sorted(value) if isinstance(value, list) else value

    stored_rows = table_rows(shop.root, f"model.{name_of(edit)}", target)
    return sorted(
        json.dumps({k.lower(): plain(v) for k, v in row.items()}, default=str, sort_keys=True)
        for row in stored_rows
    )


def half(number):
    """Return the records of ten minutes, ten seconds from one another, and an hour without any after five."""
    records = {"events": [], "others": []}
    for position in range(number * 60, number * 60 + 60):
        minute, second = divmod(position * 10, 60)
        timestamp = f"2026-01-01T{1 + 2 * number:02}:{minute % 60:02}:{second:02}Z"
        for topic, shift in (("events", 0), ("others", 3)):
            user = "abc"[(position + shift) % 3] + "xy"[position % 2]
            value = float((position * 7 + shift) % 11)
            records[topic].append(
                (user, {"id": position, "kind": "cde"[position % 3], "value": value, "at": timestamp})
            )
    return records
