"""`apply` while a project runs that reads folders, which goes as it does with a topic."""

import json

import pytest
from engine.test_handover import applied
from engine.test_source_kinds import write_file
from support.kinds import LAKE, parquet_folders  # noqa: F401 - a fixture
from support.running import running
from support.runs import received
from support.shops import PROFILES, event
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import Apply

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

PLAIN = "{{{{ config(materialized='sink') }}}} select id, {columns} from {source}"


class Topic:
    name = "events"
    source = "{{ source('web', 'events') }}"
    columns = "value as amount"

    def add(self, shop, number):
        shop.send(event(number, value=float(number)))


class Folder:
    name = "lake.orders"
    source = "{{ source('lake', 'orders') }}"
    columns = "amount"

    def add(self, shop, number):
        write_file(shop, f"file{number}", (number, "ann", float(number)))


@pytest.fixture(params=[Topic(), Folder()], ids=["topic", "folder"])
def kind(request):
    return request.param


@pytest.fixture(params=["at_least_once", "exactly_once"])
def lake(shop, parquet_folders, request):  # noqa: F811
    shop.write("models/lake.yml", LAKE)
    shop.write(
        "profiles.yml", PROFILES.replace("kafka: embedded", f"kafka: embedded, guarantee: {request.param}")
    )
    return shop


def ids(shop, topic):
    return sorted(json.loads(record.value())["id"] for record in received(shop.bootstrap, topic))


def test_a_sink_gets_a_state_and_goes_back(lake, kind, first_spark):
    """What the version without a state has sent is not sent again when it takes over again."""
    plain = PLAIN.format(columns=kind.columns, source=kind.source)
    lake.model("plain", plain)
    lake.model("other", plain.replace(kind.columns, "1 as one"))
    for number in (1, 2):
        kind.add(lake, number)
    with running(lake.root, first_spark) as run:
        run.until(lambda: len(ids(lake, "plain")) == 2)
        lake.model("plain", plain.replace("select", "select distinct"))
        applied(lake, Apply())
        kind.add(lake, 3)
        run.until(lambda: 3 in ids(lake, "plain"))
        after = ids(lake, "plain")
        applied(lake, None)
        kind.add(lake, 4)
        run.until(lambda: 4 in ids(lake, "plain"))
        run.until(lambda: 4 in ids(lake, "other"))
        assert (after, ids(lake, "plain")) == ([1, 1, 2, 2, 3], [1, 1, 2, 2, 3, 4])
        assert ids(lake, "other") == [1, 2, 3, 4]


def test_a_model_that_joins_and_one_that_is_edited(lake, kind, first_spark):
    plain = PLAIN.format(columns=kind.columns, source=kind.source)
    lake.model("plain", plain)
    for number in (1, 2):
        kind.add(lake, number)
    with running(lake.root, first_spark) as run:
        run.until(lambda: len(ids(lake, "plain")) == 2)
        lake.model("plain", plain.replace("select id", "select id + 100 as id"))
        lake.model("fresh", plain)
        applied(lake, Apply())
        kind.add(lake, 3)
        run.until(lambda: len(ids(lake, "plain")) == 3 and len(ids(lake, "fresh")) == 3)
        assert (ids(lake, "plain"), ids(lake, "fresh")) == ([1, 2, 103], [1, 2, 3])
        run.until(lambda: all(set(status.lag.values()) == {0} for status in run.totals.all()))
        assert {name for status in run.totals.all() for name in status.lag} == {kind.name}


def test_a_sink_loses_its_state(lake, kind, first_spark):
    plain = PLAIN.format(columns=kind.columns, source=kind.source)
    lake.model("plain", plain.replace("select", "select distinct"))
    lake.model("other", plain.replace(kind.columns, "1 as one"))
    for number in (1, 2):
        kind.add(lake, number)
    with running(lake.root, first_spark) as run:
        run.until(lambda: len(ids(lake, "plain")) == 2)
        lake.model("plain", plain)
        applied(lake, Apply())
        kind.add(lake, 3)
        run.until(lambda: 3 in ids(lake, "plain"))
        run.until(lambda: 3 in ids(lake, "other"))
        assert (ids(lake, "plain"), ids(lake, "other")) == ([1, 2, 3], [1, 2, 3])
