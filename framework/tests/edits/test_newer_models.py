"""Models that are added to a project that runs: what runs goes on, and they have the rows of a fresh build."""

import json

import pytest
from edits.bases import EVENTS, table
from edits.test_edited_states import OTHERS, PROFILES, half, succeeded
from support.runs import built, create_topics, send, table_rows
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import Regroup

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

VIEW = (
    "{{ config(materialized='view') }} select user, count(*) as events, sum(value) as total, max(id) as last\n"
    f"from {EVENTS} group by user"
)
FIRST = {
    "per_user": VIEW,
    "events": table("user", "select user, events from {{ ref('per_user') }}"),
    "counts": table("kind", f"select kind, count(*) as n from {EVENTS} group by kind"),
    "closed": "{{ config(materialized='sink', topic=target.name ~ '_closed', emit='on_close') }}\n"
    f"select window.start as s, user, count(*) as n from {EVENTS} group by window(at, '1 minute'), user",
}
NEWER = {
    "totals": table("user", "select user, total, last from {{ ref('per_user') }}"),
    "counts_again": table("kind", f"select kind, count(*) as n from {EVENTS} group by kind"),
    "counts_and_more": table(
        "kind", f"select kind, count(*) as n, sum(value) as v from {EVENTS} group by kind"
    ),
    "read_again": table(["user", "s"], "select user, s, n + 1 as more from {{ ref('closed') }}"),
}
TABLES = ["events", "counts", *NEWER]


def rows(shop, target=None):
    return {
        name: sorted(
            json.dumps(row, default=str, sort_keys=True)
            for row in table_rows(shop.root, f"model.{name}", target)
        )
        for name in TABLES
    }


def test_newer_models_have_all_rows_and_disturb_nobody(tmp_path, broker, first_spark):
    shop = Shop(tmp_path, broker)
    shop.write("profiles.yml", PROFILES.replace("grouping: off", "grouping: all"))
    shop.more(OTHERS)
    for name, sql in FIRST.items():
        shop.model(name, sql)
    create_topics(shop.bootstrap, "events", "others")
    send(shop.bootstrap, half(0))
    succeeded(built(shop.root, first_spark)[0])

    for name, sql in NEWER.items():
        shop.model(name, sql)
    succeeded(built(shop.root, first_spark)[0])
    send(shop.bootstrap, half(1))
    succeeded(built(shop.root, first_spark)[0])

    succeeded(built(shop.root, first_spark, target="fresh")[0])
    assert rows(shop) == rows(shop, "fresh")

    succeeded(built(shop.root, first_spark, intent=Regroup())[0])
    assert rows(shop) == rows(shop, "fresh")
