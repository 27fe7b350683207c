"""After each batch of changes, every table over tables equals DuckDB's answer over the base tables.

The statements that maintain tables run in DuckDB as well, translated: that is quick, and they are SQL of both. On Spark,
fewer sequences run. `MILLSTREAM_MAINTAINED=1000 uv run pytest -m long framework/tests/maintained` runs 1,000 of them.
"""

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from support.long import MAINTAINED, MAINTAINED_FIRST
from support.spark import SPARK_WARNINGS

from maintained.generator import sequences
from maintained.harness import InDuckDB, Maintained

pytestmark = SPARK_WARNINGS
SHORT = 25


def maintained(folders, examples, tables_of):
    @seed(MAINTAINED_FIRST)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(sequences())
    def check(sequence):
        tables = tables_of(folders.mktemp("project"), sequence)
        for batch in sequence.batches:
            tables.apply(batch)
            tables.check()

    check()


def test_random_tables_over_tables_equal_their_sql(tmp_path_factory):
    maintained(tmp_path_factory, SHORT, InDuckDB)


@pytest.mark.long
def test_many_random_tables_over_tables_equal_their_sql(tmp_path_factory):
    maintained(tmp_path_factory, MAINTAINED, InDuckDB)


@pytest.mark.long
def test_random_tables_over_tables_equal_their_sql_on_spark(spark, tmp_path_factory):
    maintained(
        tmp_path_factory, max(4, MAINTAINED // 25), lambda root, sequence: Maintained(spark, root, sequence)
    )
