"""In every store: versions of rows, of which each batch is stored once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from support.stored_tables import Store
from versions.history import cut, history, records
from versions.versioned_table import BATCHES, DELTA, Versioned


def test_versions_are_kept(keyed_store):
    versioned = Versioned(keyed_store)
    for number, rows in enumerate(BATCHES[:2]):
        versioned.batch(number, rows)
    assert versioned.rows() == history(BATCHES[0] + BATCHES[1], 10)


@pytest.mark.long
def test_a_batch_is_stored_once(keyed_store):
    versioned, seen = Versioned(keyed_store), []
    for number, rows in enumerate(BATCHES):
        seen += rows
        for _ in range(2):  # as after an interruption
            versioned.batch(number, rows)
            assert versioned.rows() == history(seen, 10)


@pytest.mark.long
def test_random_versions(keyed_store):
    count = iter(range(1000))

    @seed(0)
    @settings(
        max_examples=5,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(records(), st.lists(st.integers(0, 1000), max_size=4))
    def check(all_rows, where):
        versioned, seen = Versioned(keyed_store, f"latest{next(count)}"), []
        for number, rows in enumerate(cut(all_rows, where)):
            seen += rows
            versioned.batch(number, rows)
            assert versioned.rows() == history(seen, 10)

    check()


@pytest.mark.long
@pytest.mark.parametrize("moment", ["before", "during", "after"])
def test_a_process_that_is_killed_leaves_versions_that_the_next_one_continues(spark, tmp_path, moment):
    versioned, seen = Versioned(Store(spark, tmp_path, DELTA)), []
    for number, rows in enumerate(BATCHES):
        if number == 1:
            folder = Path(__file__).parents[1]
            killed = subprocess.run(
                [sys.executable, "-m", "versions.stored", str(tmp_path), moment, str(number)],
                cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, start_new_session=True, check=False,
                capture_output=True, text=True,
            )  # fmt: skip
            assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
        versioned.batch(number, rows)
        seen += rows
        assert versioned.rows() == history(seen, 10)
