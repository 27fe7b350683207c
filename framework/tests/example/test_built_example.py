"""The example project, built on Kafka, Spark and Delta, gives what an independent computation gives."""

import pytest
from example.differing import differences, piece
from example.generated import generated
from support.long import BUILDS
from support.runs import built, create_topics, problems, send, statuses
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS
EVENTS = 1000


def test_all_outputs_are_right(example, first_spark):
    root, bootstrap = example
    records = generated(1000)
    create_topics(bootstrap, *records)
    send(bootstrap, records)
    results, events = built(root, first_spark)
    assert problems(events) == []
    assert set(statuses(results).values()) == {"success"}
    assert differences(root, bootstrap, records) == []
    again, _ = built(root, first_spark)
    assert sum(node.rows_read for node in again.results) == 0
    assert differences(root, bootstrap, records) == []


@pytest.mark.long
@pytest.mark.parametrize("grouping", ["all", "off"])
@pytest.mark.parametrize("optimization", ["all", "none"])
def test_many_builds_give_what_one_gives(example, first_spark, optimization, grouping):
    root, bootstrap = example
    settings = (
        f'local: {{master: "local[2]", kafka: embedded, optimization: {optimization}, grouping: {grouping}}}'
    )
    profiles = (root / "profiles.yml").read_text()
    (root / "profiles.yml").write_text(
        profiles.replace('local: {master: "local[*]", kafka: embedded}', settings)
    )
    records = generated(BUILDS * EVENTS)
    create_topics(bootstrap, *records)
    for number in range(BUILDS):
        send(bootstrap, piece(records, number, EVENTS))
        results, events = built(root, first_spark)
        assert problems(events) == []
        assert set(statuses(results).values()) == {"success"}
    assert differences(root, bootstrap, records) == []


@pytest.mark.long
def test_twenty_thousand_events(example, first_spark):
    root, bootstrap = example
    records = generated(20_000)
    create_topics(bootstrap, *records)
    send(bootstrap, records)
    results, events = built(root, first_spark)
    assert problems(events) == []
    assert set(statuses(results).values()) == {"success"}
    assert differences(root, bootstrap, records) == []
