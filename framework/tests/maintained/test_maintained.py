"""After each batch of changes, every table over tables equals DuckDB's answer over the base tables.

`MILLSTREAM_MAINTAINED=1000 uv run pytest -m long framework/tests/maintained` runs 1,000 random sequences.
"""

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from support.long import MAINTAINED, MAINTAINED_FIRST
from support.spark import SPARK_WARNINGS

from maintained.generator import sequences
from maintained.harness import Maintained

pytestmark = SPARK_WARNINGS


@pytest.mark.long
def test_random_tables_over_tables_equal_their_sql(spark, tmp_path_factory):
    @seed(MAINTAINED_FIRST)
    @settings(
        max_examples=MAINTAINED,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(sequences())
    def check(sequence):
        tables = Maintained(spark, tmp_path_factory.mktemp("project"), sequence)
        for batch in sequence.batches:
            tables.apply(batch)
            tables.check()

    check()
