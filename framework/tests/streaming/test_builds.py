"""A few random projects through real builds, on Kafka and Delta; also with files or tables instead of topics."""

from functools import cache
from itertools import cycle, islice, product

import pytest
from support.long import STREAMED
from support.spark import SPARK_WARNINGS

from streaming.builds import build_in_parts, fits, is_accepted
from streaming.generator import project
from streaming.records import generated_records
from streaming.row_inputs import KINDS

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

COUNT = max(2, min(10, STREAMED // 60 * 2))
TARGETS = ("all_all", "none_off")
WAYS = [*product(KINDS, TARGETS)] if STREAMED >= 60 else [*zip(KINDS, cycle(TARGETS), strict=False)]
"""Of the sources and the target; with few projects, only one target for each kind."""


@cache
def seeds() -> list[int]:
    """Return the numbers of projects that a build accepts."""
    accepted = (seed for seed in range(10_000, 11_000) if fits(project(seed)) and is_accepted(project(seed)))
    return list(islice(accepted, COUNT))


@pytest.mark.parametrize("index", range(COUNT))
def test_a_project_in_several_builds(tmp_path, broker, first_spark, index):
    seed = seeds()[index]
    generated_project = project(seed)
    target = TARGETS[index % 2]
    assert (
        build_in_parts(
            tmp_path,
            broker,
            first_spark,
            generated_project,
            generated_records(generated_project, seed),
            target,
            seed,
        )
        == []
    )


@pytest.mark.parametrize("index", range(COUNT // 2))
@pytest.mark.parametrize(("kind", "target"), WAYS)
def test_a_project_over_files_or_tables(tmp_path, broker, first_spark, kind, index, target):
    seed = seeds()[index]
    generated_project = project(seed)
    records = generated_records(generated_project, seed)
    inputs = KINDS[kind](tmp_path)
    assert (
        build_in_parts(tmp_path, broker, first_spark, generated_project, records, target, seed, inputs=inputs)
        == []
    )
