"""The example project, built on Kafka, Spark and Delta, gives what an independent computation gives."""

import pytest
from example.differing_rows import differences, piece
from example.generated import generated
from support.long import BUILDS
from support.runs import built, create_topics, errors, send, statuses
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS
EVENTS = 1000


def test_all_outputs_are_right_with_and_without_fast_paths(example, first_spark):
    """The second build goes on without shortcuts where the first one has ended."""
    root, bootstrap = example
    records = generated(EVENTS)
    create_topics(bootstrap, *records)
    for number, fast_paths in enumerate(("on", "off")):
        use_settings(root, f"fast_paths: {fast_paths}")
        send(bootstrap, piece(records, number, EVENTS // 2))
        results, events = built(root, first_spark)
        assert errors(events) == []
        assert set(statuses(results).values()) == {"success"}
    assert differences(root, bootstrap, records) == []
    use_settings(root, "fast_paths: on")
    again, _ = built(root, first_spark)
    assert sum(node.rows_read for node in again.results) == 0
    assert differences(root, bootstrap, records) == []


def use_settings(root, settings):
    """Write the settings of the only target."""
    target = f'{{master: "local[2]", kafka: embedded, {settings}}}'
    (root / "profiles.yml").write_text(f"shop: {{target: local, outputs: {{local: {target}}}}}\n")


@pytest.mark.long
@pytest.mark.parametrize("grouping", ["all", "off"])
@pytest.mark.parametrize("optimization", ["all", "none"])
def test_many_builds_give_what_one_gives(example, first_spark, optimization, grouping):
    root, bootstrap = example
    records = generated(BUILDS * EVENTS)
    create_topics(bootstrap, *records)
    for number in range(BUILDS):
        fast_paths = ("off", "on")[number % 2]
        use_settings(root, f"optimization: {optimization}, grouping: {grouping}, fast_paths: {fast_paths}")
        send(bootstrap, piece(records, number, EVENTS))
        results, events = built(root, first_spark)
        assert errors(events) == []
        assert set(statuses(results).values()) == {"success"}
    assert differences(root, bootstrap, records) == []


@pytest.mark.long
def test_twenty_thousand_events(example, first_spark):
    root, bootstrap = example
    records = generated(20_000)
    create_topics(bootstrap, *records)
    send(bootstrap, records)
    results, events = built(root, first_spark)
    assert errors(events) == []
    assert set(statuses(results).values()) == {"success"}
    assert differences(root, bootstrap, records) == []
