"""`millstream clean --orphans` on checkpoints that Spark has written."""

import json

import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from support.runs import built, statuses, table_rows
from support.shops import TOTALS, UNOPTIMIZED, event
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

KINDS = TOTALS.replace("user", "kind")
LETTERS = """
    {{ config(materialized='sink') }} select id, user from {{ source('web', 'events') }}
"""


def consumer(shop, group):
    settings = {"bootstrap.servers": shop.bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    return Consumer(settings)


def clean(shop, *options):
    """Run the command without a terminal, so that it does not ask."""
    result = CliRunner().invoke(millstream, ["clean", "--orphans", "--project-dir", str(shop.root), *options])
    assert result.exit_code == 0, result.stderr
    return result


def checkpoints(shop):
    return {path.name for path in (shop.root / ".millstream/local/checkpoints").iterdir() if path.is_dir()}


def totals(shop, name):
    return {
        row[name]: row["total"]
        for row in table_rows(shop.root, f"model.{'totals' if name == 'user' else 'kinds'}")
    }


def test_only_what_the_project_no_longer_has_is_removed(shop, first_spark):
    shop.write("profiles.yml", UNOPTIMIZED)
    for name, sql in {"totals": TOTALS, "kinds": KINDS, "letters": LETTERS}.items():
        shop.model(name, sql)
    shop.send(event(1, value=2.0), event(2, "b", kind="y", value=3.0))
    assert set(statuses(built(shop.root, first_spark)[0]).values()) == {"success"}
    before = checkpoints(shop)
    assert clean(shop, "--yes").stdout == "there is nothing to remove\n"
    for group in ("millstream.shop.totals", "millstream.shop.kinds", "millstream.other.kinds", "shop.kinds"):
        consumer(shop, group).commit(offsets=[TopicPartition("events", 0, 1)], asynchronous=False)
    assert checkpoints(shop) == before

    (shop.root / "models/kinds.sql").unlink()
    preview = clean(shop)
    assert "the checkpoint kinds of kinds: " in preview.stderr
    assert "\nthe consumer group millstream.shop.kinds\n" in preview.stderr
    assert preview.stderr.count("consumer group") == 1
    assert preview.stdout == "nothing was removed; --yes removes it without asking\n"
    assert checkpoints(shop) == before
    member = consumer(shop, "millstream.shop.kinds")
    member.subscribe(["events"])
    assert member.consume(timeout=30)
    assert json.loads(clean(shop, "--output", "json").stdout)["groups"] == []
    member.close()
    removed = json.loads(clean(shop, "--yes", "--output", "json").stdout)
    assert [(checkpoint["query"], checkpoint["stored"]) for checkpoint in removed["checkpoints"]] == [
        ("kinds", ["model.kinds"])
    ]
    assert (removed["groups"], removed["removed"]) == (["millstream.shop.kinds"], True)
    admin = AdminClient({"bootstrap.servers": shop.bootstrap})
    admin.list_topics(timeout=10)  # a new client knows no broker that could list groups
    assert sorted(group.group_id for group in admin.list_consumer_groups().result(10).valid) == [
        "millstream.other.kinds",
        "millstream.shop.totals",
        "shop.kinds",
    ]
    assert checkpoints(shop) == before - {"kinds"}
    assert totals(shop, "kind") == {"x": 2.0, "y": 3.0}  # the table stays

    shop.send(event(3, value=7.0))
    results, _ = built(shop.root, first_spark)
    assert {result.id: result.rows_read for result in results.results} == {
        "model.totals": 1,
        "model.letters": 1,
    }
    assert totals(shop, "user") == {"a": 9.0, "b": 3.0}
    assert [letter["id"] for letter in shop.values("letters")] == [1, 2, 3]

    shop.model("kinds", KINDS)
    assert statuses(built(shop.root, first_spark)[0])["kinds"] == "success"
    assert totals(shop, "kind") == {"x": 9.0, "y": 3.0}
