"""A few random projects through real builds, on Kafka and Delta."""

import pytest
from support.long import STREAMED

from millstream.broker import shared_broker
from streaming.builds import build_in_parts, fits
from streaming.generator import project
from streaming.given import given

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"
    ),
]

_FIT = [seed for seed in range(10_000, 10_100) if fits(project(seed))]
SEEDS = _FIT[: max(2, min(10, STREAMED // 60 * 2))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_project_in_several_builds(tmp_path, first_spark, seed):
    made = project(seed)
    target = ["all_all", "none_off"][seed % 2]
    with shared_broker(tmp_path) as starting:
        bootstrap = starting.ready().bootstrap_servers
        assert build_in_parts(tmp_path, bootstrap, first_spark, made, given(made, seed), target, seed) == []
