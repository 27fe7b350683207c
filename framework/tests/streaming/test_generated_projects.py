"""Generated projects of many models, built on Kafka, Spark and Delta with records in all topics.

`MILLSTREAM_GENERATED=300 MILLSTREAM_GENERATED_SEEDS=10` is the full size. What Spark plans differs from project
to project: a statement that it can't plan compiles, and fails in its first batch.
"""

import pytest
from support.long import GENERATED, GENERATED_SEEDS
from support.spark import SPARK_WARNINGS

from streaming.generated import differences, records, rows_of_build, write

pytestmark = [pytest.mark.long, SPARK_WARNINGS]


@pytest.mark.parametrize("seed", range(1, 1 + GENERATED_SEEDS))
def test_a_generated_project_builds_and_has_the_same_rows_without_optimization_and_fast_paths(
    tmp_path, broker_server, first_spark, seed
):
    rows = {}
    for target in ("all", "none"):
        root = tmp_path / target
        write(root, GENERATED, seed)
        inputs = records(root, seed)
        rows[target], failed = rows_of_build(broker_server, root, first_spark, target, inputs)
        assert not failed, failed
    assert any(rows["all"].values())
    assert differences(rows["all"], rows["none"]) == []
