"""Random mistakes in three projects: what `compile` says of them, how long it takes, and that the cache changes nothing.

`MILLSTREAM_MUTANTS=2000 uv run pytest framework/tests/mutants -m long -s` tries 2,000, and `MILLSTREAM_MUTANTS_FIRST` says which.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from mutants.causes import unexplained
from support.long import FRESH, MUTANTS, MUTANTS_FIRST

WORKERS = min(2, os.cpu_count() or 1)
FOLDER = Path(__file__).parents[1]


@pytest.fixture(scope="module", params=[number * 1000 for number in FRESH] or [MUTANTS_FIRST])
def trials(request, tmp_path_factory):
    folder, first = tmp_path_factory.mktemp("mutants"), request.param
    last = first + MUTANTS
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MILLSTREAM_")}
    running = []
    for worker in range(WORKERS):
        lines = folder / f"{worker}.jsonl"
        numbers = [str(first + worker), str(last), str(WORKERS)]
        command = [sys.executable, "-m", "mutants.trial", *numbers, str(folder / str(worker)), str(lines)]
        running.append((subprocess.Popen(command, cwd=FOLDER, env=environment), lines))
    assert [process.wait() for process, _ in running] == [0] * WORKERS
    trials = [json.loads(line) for _, lines in running for line in lines.read_text().splitlines()]
    assert len(trials) == MUTANTS
    report(trials)
    return trials


def report(trials):
    wrong = [trial for trial in trials if trial["errors"]]
    codes = Counter(trial["errors"][0]["code"] for trial in wrong)
    suffixes = Counter(Path(trial["path"]).suffix for trial in trials)
    lines = [
        f"{len(trials)} mutants: {', '.join(f'{count} {suffix}' for suffix, count in suffixes.items())}",
        f"{len(wrong)} have errors, the first one in the mutated file in {sum(map(located, wrong))}",
        f"the first errors: {', '.join(f'{code} {count}' for code, count in sorted(codes.items()))}",
        f"largest process: {max(trial['peak'] for trial in trials) >> 20} MB",
    ]
    sys.stdout.write("\n" + "\n".join(lines) + "\n")


def located(trial):
    """Return whether the first error is in the mutated file, or at a call of its macro, which a note names."""
    first = trial["errors"][0]
    return trial["path"] in {first["path"], *first["notes"]}


def named(trials):
    return [
        (t["number"], t["project"], t["path"], t["mutation"], t["ended"], t["errors"][:3]) for t in trials
    ]


@pytest.mark.long
def test_no_mistake_is_an_internal_error(trials):
    assert named(trial for trial in trials if trial["internal"] or trial["traceback"]) == []


@pytest.mark.long
def test_no_mistake_takes_long_or_needs_much_memory(trials):
    assert named(trial for trial in trials if trial["ended"] or trial["peak"] > 1 << 30) == []


@pytest.mark.long
def test_the_cache_changes_nothing(trials):
    assert named(trial for trial in trials if not trial["agree"]) == []


@pytest.mark.long
def test_one_mistake_has_no_false_cascade(trials):
    assert [(trial["unexplained"], *named([trial])) for trial in trials if trial["unexplained"]] == []


@pytest.mark.long
def test_the_first_error_is_in_the_mutated_file(trials):
    """Where a mutated file is right in itself, and only its readers are wrong, the errors are theirs."""
    wrong = [
        trial for trial in trials if any(trial["path"] in {e["path"], *e["notes"]} for e in trial["errors"])
    ]
    assert len(wrong) > len(trials) / 2
    assert sum(map(located, wrong)) >= (0.97 if len(wrong) > 1000 else 0.94) * len(wrong)


FILES = {
    "models/a.sql": "select 1 as x from {{ source('app', 'events') }}",
    "models/b.sql": "select a.x from {{ ref('a') }} as a",
    "models/c.sql": "select b.x from {{ ref('b') }} as b",
    "models/other.sql": "select 1 as y",
    "models/c.yml": "models: [{name: c}]",
}


@pytest.mark.parametrize(
    ("erring", "wrong"),
    [
        ({"models/a.sql"}, set()),
        ({"models/a.sql", "models/b.sql"}, {"models/b.sql"}),
        ({"models/b.sql"}, set()),
        ({"models/c.sql"}, set()),
        ({"models/c.yml"}, set()),
        ({"models/b.sql", "models/c.sql"}, {"models/c.sql"}),
        ({"models/other.sql"}, {"models/other.sql"}),
    ],
)
def test_what_explains_an_error(erring, wrong):
    assert unexplained(FILES, "models/a.sql", "models/a.sql", FILES["models/a.sql"], erring) == wrong
