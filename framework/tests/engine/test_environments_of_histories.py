"""Environments of a project that reads a topic after its history."""

from collections import Counter

import pytest
from engine.test_environments import production  # noqa: F401 - a fixture
from support.histories import append_history, forget, row, send_events
from support.spark import SPARK_WARNINGS

pytestmark = [SPARK_WARNINGS, pytest.mark.long]


def test_an_environment_reads_both_parts(production, tmp_path, first_spark):  # noqa: F811
    """Its own models do, and production's rows are those of before."""
    history = f"        history: {{delta_table: {tmp_path}/old}}\n"
    sources = production.root / "models/sources.yml"
    sources.write_text(sources.read_text() + history)
    production.bootstrap = production.broker
    topic = production.names["events"]
    append_history(production, *range(20), partitions=2, root=tmp_path)
    send_events(production, *range(30), partitions=2, topic=topic)
    forget(production, 5, topic)
    production.build(first_spark)
    expected = Counter(row(number)["kind"] for number in range(30))
    assert production.rows("kinds", production) == expected
    forget(production, 9, topic, partition=1)
    developer = production.copy(tmp_path / "developer", "ann")
    developer.edit("kinds", "count(*) as events", "count(*) + 100 as events")
    developer.build(first_spark)
    assert developer.rows("kinds") == {kind: count + 100 for kind, count in expected.items()}
    assert production.rows("kinds", production) == expected
