"""Two edits at once: what one of them stops does not go on because of the other, and what goes on has its rows.

`MILLSTREAM_EDIT_PAIRS=300 uv run pytest framework/tests/edits/test_edit_pairs.py -m long -s` tells 300 random
pairs, and runs the queries that go on although they execute something else.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from random import Random

import pytest
from edits.any_edit import AnyEdit, any_edit
from edits.any_project import files_of_all
from edits.any_trial import Batch, Teller
from edits.test_any_edit import TOGETHER, TOPICS, records, to_run
from support.runs import create_topics, send
from support.spark import SPARK_WARNINGS

from millstream.local.broker import shared_broker

pytestmark = SPARK_WARNINGS

PAIRS = int(os.environ.get("MILLSTREAM_EDIT_PAIRS", "40"))
FIRST = int(os.environ.get("MILLSTREAM_EDIT_PAIRS_FIRST", "0"))
FEW = 8
FILES = files_of_all()
STRICTER = {kind: rank for rank, kind in enumerate(("same", "stored", "mixed", "rebuild"))}
HARMLESS = {
    "counts": ("value * 2", "2 * value", "id >= 0", "0 <= id"),
    "windows": ("value >= 0", "0 <= value"),
    "pairs": ("e.value + o.value", "o.value + e.value"),
    "rows": ("k.weight * e.value", "e.value * k.weight", "e.value > 1", "1 < e.value"),
    "sent": ("id % 3 <> 0", "0 <> id % 3"),
    "plain": ("kind <> 'x'", "'x' <> kind"),
    "of_sent": ("count(*) > 1", "1 < count(*)"),
    "firsts": ("length(kind) + points", "points + length(kind)"),
    "looked_up": ("p.age > 20", "20 < p.age"),
    "both": ("value > 2", "2 < value"),
    "lines": ("x > y", "y < x"),
    "all_users": ("note is not null", "not note is null"),
}
"""By model: texts of its SQL, each followed by one that means the same."""
SOURCES, SEED, SEEDS = "models/zz/sources.yml", "seeds/zz_kinds.csv", "seeds/zz_kinds.yml"
OTHERS = (
    (SOURCES, "{name: x, type: int}, {name: y, type: int}", "{name: y, type: int}, {name: x, type: int}"),
    (SOURCES, 'delimiter: ";"', 'delimiter: ","'),
    (SOURCES, "id * 10", "id * 11"),
    (SOURCES, "{name: age, type: int}", "{name: years, type: int}, {name: age, type: int, from: years}"),
    (SOURCES, "decoding: lenient", "decoding: strict"),
    (SOURCES, "on_bad_record: skip", "on_bad_record: fail"),
    (SOURCES, "delay: 2 minutes", "delay: 3 minutes"),
    (SOURCES, "{name: value, type: double}", "{name: value, type: float}"),
    (SEED, "d,drag,2", "d,drag,5"),
    (SEEDS, "weight: int", "weight: bigint"),
    ("schemas/zz_others.json", '"value": {"type": "number"}', '"value": {"type": "integer"}'),
    ("macros/zz_macros.sql", "left(", "right("),
    ("macros/zz_functions.py", "LIMIT = 5", "LIMIT = 6"),
    ("zz_lib/words.py", "BASE = 1", "BASE = 2"),
    ("zz_lib/rates.py", '"low": 0.5', '"low": 0.25'),
    ("models/zz/zz_rows.yml", "id < 115", "id < 110"),
    ("models/zz/zz_counts.yml", "[ax, bx, cx, ay, by]", "[ax, bx, cx, ay]"),
)
"""Edits of what models are computed from: a path, a text and another one."""


def replaced(path, what, *texts):
    content = FILES[path]
    for old, new in zip(texts[::2], texts[1::2], strict=True):
        assert old in content, (path, old)
        content = content.replace(old, new)
    return AnyEdit(0, path, what, content)


def harmless():
    return [replaced(f"models/zz/zz_{model}.sql", "harmless", *texts) for model, texts in HARMLESS.items()]


def random_pair(number):
    """Return two edits of different files."""
    random = Random(f"pair {number}")
    first = any_edit(random.randrange(1_000_000), FILES)._replace(number=number)
    while (second := any_edit(random.randrange(1_000_000), FILES)).path == first.path:
        pass
    return first, second


def weaker(teller, first, *more):
    """Return the verdicts of edits together, of models that one of them alone stops for more."""
    alone = teller.edited(first)
    others = [teller.edited(edit) for edit in more]
    both = teller.edited(first, *more)
    if not all(trial.compiled for trial in (alone, *others, both)):
        return both, {}
    weakened = {}
    for trial in (alone, *others):
        for model, kind in trial.verdicts.items():
            together = both.verdicts.get(model, "same")
            if STRICTER[together] < STRICTER[kind] and model in both.planned:
                weakened[model] = (trial.edit.path, trial.edit.what, kind, together)
    return both, weakened


@pytest.fixture(scope="module")
def teller(tmp_path_factory):
    return Teller(tmp_path_factory.mktemp("pairs"))


def test_harmless_edits_change_nothing(teller):
    edits = harmless()
    trial = teller.edited(*edits)
    assert trial.error == ""
    assert {model: kind for model, kind in trial.verdicts.items() if kind != "same"} == {}


@pytest.mark.long
def test_no_edit_goes_on_next_to_harmless_ones(teller):
    unsafe, stopped = {}, 0
    for path, old, new in OTHERS:
        edit = replaced(path, new, old, new)
        alone, together = teller.edited(edit), teller.edited(edit, *harmless())
        assert alone.compiled, alone.error
        assert together.compiled, together.error
        stops = {model: kind for model, kind in alone.verdicts.items() if kind != "same"}
        stopped += bool(stops)
        assert stops, edit[:3]
        pairs = {model: (kind, together.verdicts.get(model, "same")) for model, kind in stops.items()}
        if wrong := {model: pair for model, pair in pairs.items() if STRICTER[pair[1]] < STRICTER[pair[0]]}:
            unsafe[path, new] = wrong
    assert unsafe == {}
    assert stopped == len(OTHERS)


def test_few_random_pairs(teller):
    by_seed = {number: weaker(teller, *random_pair(number)) for number in range(FEW)}
    assert {number: wrong for number, (_, wrong) in by_seed.items() if wrong} == {}
    assert any(trial.compiled for trial, _ in by_seed.values())


@pytest.mark.long
def test_many_random_pairs_have_the_rows_of_a_fresh_build(teller, tmp_path, first_spark):
    by_seed = {number: weaker(teller, *random_pair(number)) for number in range(FIRST, FIRST + PAIRS)}
    trials = [trial for trial, _ in by_seed.values() if trial.compiled]
    lower = {number: wrong for number, (_, wrong) in by_seed.items() if wrong}
    chosen = [trial for trial in trials if to_run(trial)]
    groups = [
        [trial for trial in chosen if not trial.changes_project][n : n + TOGETHER]
        for n in range(0, PAIRS, TOGETHER)
    ]
    groups = [*filter(None, groups), *([trial] for trial in chosen if trial.changes_project)]
    with shared_broker(tmp_path / "broker") as one, shared_broker(tmp_path / "fresh") as other:
        servers = one.ready(), other.ready()
        batches = [
            Batch(tmp_path / f"b{n}", n, group, servers, first_spark) for n, group in enumerate(groups)
        ]
        for server in servers:
            create_topics(server.address, *TOPICS)
            send(server.address, records(0))
        for batch in batches:
            batch.first()
        for server in servers:
            send(server.address, records(1))
        for batch in batches:
            batch.second()
            batch.compare({})
    kinds = Counter(kind for trial in trials for kind in trial.verdicts.values())
    sys.stdout.write(f"\n{PAIRS} pairs, {len(trials)} compile, {len(chosen)} run; {dict(kinds)}; {lower}\n")
    assert {trial.edit.number: trial.unsafe for trial in chosen if trial.unsafe} == {}
    # What together goes on, and alone does not, must have run.
    ran = {trial.edit.number: trial.ran.keys() for trial in chosen}
    assert {
        number: wrong for number, wrong in lower.items() if not wrong.keys() <= ran.get(number, set())
    } == {}
