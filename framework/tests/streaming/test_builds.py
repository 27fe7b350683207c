"""A few random projects through real builds, on Kafka and Delta."""

from functools import cache
from itertools import islice

import pytest
from support.long import STREAMED
from support.spark import SPARK_WARNINGS

from streaming.builds import build_in_parts, fits, is_accepted
from streaming.generator import project
from streaming.records import generated_records

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

COUNT = max(2, min(10, STREAMED // 60 * 2))


@cache
def seeds() -> list[int]:
    """Return the numbers of projects that a build accepts."""
    accepted = (seed for seed in range(10_000, 11_000) if fits(project(seed)) and is_accepted(project(seed)))
    return list(islice(accepted, COUNT))


@pytest.mark.parametrize("index", range(COUNT))
def test_a_project_in_several_builds(tmp_path, broker, first_spark, index):
    seed = seeds()[index]
    generated_project = project(seed)
    target = ["all_all", "none_off"][index % 2]
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
