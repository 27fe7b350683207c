"""Random edits of any file, key or setting of a project: what is said of its queries holds when they run.

`MILLSTREAM_ANY_EDITS=300 uv run pytest framework/tests/edits/test_any_edit.py -m long -s` tells 300 edits that
compile, and runs the queries that go on although they execute something else. `MILLSTREAM_ANY_EDITS_ALL=1` also
runs those that stop, and `MILLSTREAM_ANY_EDITS_FIRST` says which edits.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from collections import Counter
from random import Random

import pytest
from edits.any_edit import AnyEdit, any_edit
from edits.any_project import files_of_all
from edits.any_trial import HALF, UPSTREAM, Batch, Teller, Trial
from support.runs import create_topics, send
from support.spark import SPARK_WARNINGS

from millstream.local.broker import shared_broker

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

EDITS = int(os.environ.get("MILLSTREAM_ANY_EDITS", "30"))
FIRST = int(os.environ.get("MILLSTREAM_ANY_EDITS_FIRST", "0"))
RUN_ALL = bool(os.environ.get("MILLSTREAM_ANY_EDITS_ALL"))
"""Whether queries that an edit stops are run, too, and compared with those of the project without edits."""
TOGETHER = 12
"""How many copies share a build."""
MODELS = 1 if EDITS <= 30 else 2 if EDITS <= 100 else 5
"""How many models of a copy are run at most, besides those that they read."""
TOPICS = ("events", "others", "lines", "people")


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    root = tmp_path_factory.mktemp("told")
    teller = Teller(root)
    trials: list[Trial] = []
    number = FIRST
    while sum(trial.compiled for trial in trials) < EDITS:
        trials.append(teller.trial(number))
        number += 1
    return trials


def test_edits_are_of_any_file_and_mostly_compile(trials):
    files = files_of_all()
    edited = {any_edit(number, files).path for number in range(1500)}
    assert edited == files.keys()
    assert sum(trial.compiled for trial in trials) > len(trials) / 2


def test_no_query_goes_on_with_other_rows(trials, tmp_path, first_spark):
    chosen = [trial for trial in trials if trial.compiled and to_run(trial)]
    together = [trial for trial in chosen if not trial.changes_project]
    groups = [together[start : start + TOGETHER] for start in range(0, len(together), TOGETHER)]
    groups += [[trial] for trial in chosen if trial.changes_project]
    with shared_broker(tmp_path / "broker") as one, shared_broker(tmp_path / "fresh") as other:
        servers = one.ready(), other.ready()
        batches = [
            Batch(tmp_path / f"b{number}", number, group, servers, first_spark)
            for number, group in enumerate([[base()], *groups] if RUN_ALL else groups)
        ]
        for server in servers:
            create_topics(server.address, *TOPICS)
            send(server.address, records(0))
        for batch in batches:
            batch.first()
        for server in servers:
            send(server.address, records(1))
        before = {}
        for batch in batches:
            batch.second()
            batch.compare(before)
            if RUN_ALL and not before:
                (unedited,) = batch.trials
                assert unedited.unsafe == {}
                before = {
                    model: batch.rows(f"{unedited.name}_{model}", batch.root, model)
                    for model in unedited.chosen
                }
                assert all(before.values())
    report(trials, chosen)
    assert {trial.edit[:3]: trial.unsafe for trial in chosen if trial.unsafe} == {}


def base() -> Trial:
    """Return a copy without an edit."""
    models = frozenset(UPSTREAM) - {"plain"}
    return Trial(AnyEdit(999, "", "none", ""), executed=models, chosen=models)


def to_run(trial: Trial) -> bool:
    """Choose what is run of a trial; return whether anything is."""
    models = sorted(trial.executed)
    if not RUN_ALL:
        models = [model for model in models if trial.verdicts.get(model, "same") == "same"]
    trial.chosen = frozenset(Random(trial.edit.number).sample(models, min(MODELS, len(models))))
    return bool(models)


def records(number):
    """Return records of ten minutes, ten seconds from one another, and an hour without any after five."""
    by_topic = {topic: [] for topic in TOPICS}
    start = dt.datetime(2026, 1, 1, 1 + 2 * number, tzinfo=dt.timezone.utc)
    for position in range(number * HALF, number * HALF + HALF):
        timestamp = (start + dt.timedelta(seconds=10 * (position % HALF))).strftime("%Y-%m-%dT%H:%M:%SZ")
        for topic, shift in (("events", 0), ("others", 3)):
            user = "abc"[(position + shift) % 3] + "xy"[position % 2]
            value = {
                "id": position,
                "kind": "cdex"[position % 4],
                "value": (position * 7 + shift) % 11 - 1.0,
                "at": timestamp,
            }
            if topic == "events" and position % 5:
                value["note"] = f"n{position % 4}"
            by_topic[topic].append((user, value))
        line = f"{position};{(position * 7) % 12};{(position * 5) % 11};2026-01-{1 + position % 28:02}"
        by_topic["lines"].append(("ab"[position % 2], line))
    # Bad for all models, then for those that read one of its columns.
    by_topic["events"] += [("ax", "{not json"), ("bx", "[1]")]
    for position, wrong in enumerate(
        ({"id": "many"}, {"value": "much"}, {"kind": 7.5}, {"at": "soon"}, {"note": [0]})
    ):
        value = {"id": number * HALF + 7 * position, "kind": "d", "value": 3.0, "note": "n1"}
        timestamp = (start + dt.timedelta(seconds=95 * position)).strftime("%Y-%m-%dT%H:%M:%SZ")
        by_topic["events"].append(("bx", {**value, "at": timestamp, **wrong}))
    if number == 0:
        people = [
            ("ax", "Ann", 30),
            ("bx", "Bob", 20),
            ("cx", "Cid", 40),
            ("ay", "Ann", 25),
            ("by", "Bea", 70),
        ]
        by_topic["people"] = [(user, json.dumps({"name": name, "age": age})) for user, name, age in people]
        by_topic["people"] += [("cx", None)]
    return by_topic


def report(trials, chosen):
    kinds = Counter(trial.edit.path.rpartition(".")[2] for trial in trials if trial.compiled)
    compiled = [trial for trial in trials if trial.compiled]
    same = [trial for trial in compiled if set(trial.verdicts.values()) <= {"same"}]
    worst = Counter(
        next((kind for kind in ("rebuild", "mixed", "stored") if kind in trial.verdicts.values()), "same")
        for trial in compiled
    )
    queries = Counter(
        f"{trial.verdicts.get(model, 'same')}: {seen}"
        for trial in chosen
        for model, seen in trial.ran.items()
    )
    harmless = [
        trial
        for trial in chosen
        if trial.ran and trial.executed == trial.ran.keys() and all(map(_is_equal, trial.ran.values()))
    ]
    stopped = [trial for trial in harmless if not set(trial.verdicts.values()) <= {"same"}]
    nothing = [trial for trial in compiled if not trial.executed and trial not in same]
    lines = [
        f"edits {FIRST} to {trials[-1].edit.number}: {len(trials)} edits, {len(compiled)} compile: {dict(kinds)}",
        f"the strictest verdict of each: {dict(worst)}",
        f"{len(chosen)} run, with {sum(len(trial.ran) for trial in chosen)} queries: {dict(sorted(queries.items()))}",
        f"{len(nothing)} execute nothing else and are not `same`: {[trial.edit[:3] for trial in nothing]}",
        (
            f"{len(harmless)} run with the rows of before, {len(stopped)} of them not `same`: "
            f"{[(*trial.edit[:3], trial.verdicts) for trial in stopped]}"
        ),
    ]
    sys.stdout.write("\n" + "\n".join(lines) + "\n")


def _is_equal(seen: str) -> bool:
    return seen.startswith("equal")
