"""The example project, built on Kafka, Spark and Delta, gives what an independent computation gives."""

import shutil

import pytest
from example.generated import ROOT, generated
from example.oracle import as_rows, expected, same
from example.reading import latest
from support.long import BUILDS
from support.runs import built, create_topics, pairs, problems, send, statuses, table_rows

from millstream.broker import shared_broker

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"
)
PARTS = ("pyproject.toml", "profiles.yml", "models", "macros", "seeds", "tests")
REFERENCES = {"product_data": "product_id", "user_profiles": "user_id"}

EVENTS = 1000


@pytest.fixture
def example(tmp_path):
    """Return a copy of the example without any records, and its broker's address."""
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, tmp_path / part)
    with shared_broker(tmp_path) as starting:
        yield tmp_path, starting.ready().bootstrap_servers


def stale(root, records):
    """Return the keys of reference tables that hold another record than the newest."""
    found = []
    for name, key in REFERENCES.items():
        newest = latest(records[name])
        rows = {row[key]: row["timestamp"] for row in table_rows(root, f"source.shop.{name}")}
        found += [each for each, row in newest.items() if rows.get(each) != row["timestamp"]]
    return found


def differences(root, bootstrap, records):
    assert stale(root, records) == []
    wanted = expected(records)
    found = {
        name: as_rows(
            name,
            [(row["user_id"], row) for row in table_rows(root, f"model.{name}")]
            if name == "user_activity_state"
            else pairs(bootstrap, name),
        )
        for name in wanted
    }
    return same(wanted, found)


def test_all_outputs_are_right(example, first_spark):
    root, bootstrap = example
    records = generated(1000)
    create_topics(bootstrap, *records)
    send(bootstrap, records)
    results, told = built(root, first_spark)
    assert problems(told) == []
    assert set(statuses(results).values()) == {"success"}
    assert differences(root, bootstrap, records) == []
    again, _ = built(root, first_spark)
    assert sum(each.rows_read for each in again.results) == 0
    assert differences(root, bootstrap, records) == []


def piece(records, number, size):
    """Return the events of one build; reference topics come whole before the first, since lookups see the newest."""
    return {
        name: (rows if number == 0 else [])
        if name in REFERENCES
        else rows[number * size : (number + 1) * size]
        for name, rows in records.items()
    }


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
        results, told = built(root, first_spark)
        assert problems(told) == []
        assert set(statuses(results).values()) == {"success"}
    assert differences(root, bootstrap, records) == []


@pytest.mark.long
def test_twenty_thousand_events(example, first_spark):
    root, bootstrap = example
    records = generated(20_000)
    create_topics(bootstrap, *records)
    send(bootstrap, records)
    results, told = built(root, first_spark)
    assert problems(told) == []
    assert set(statuses(results).values()) == {"success"}
    assert differences(root, bootstrap, records) == []
