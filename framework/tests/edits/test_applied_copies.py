"""Sinks that take the rows of another sink before they are written: an edit below its state reaches all of them."""

import pytest
from edits.bases import EVENTS
from edits.test_edited_states import OTHERS, PROFILES, half, succeeded
from support.runs import built, create_topics, job_of, send, table_rows
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import Apply

pytestmark = SPARK_WARNINGS

CLEAN = (
    "{{ config(materialized='view', dedupe={'keys': ['id', 'at'], 'within': '1 day'}) }}\n"
    f"select id, user, value, at from {EVENTS} where value >= 0"
)


def sink(name, sql):
    return f"{{{{ config(materialized='sink', topic=target.name ~ '_{name}') }}}}\n{sql}"


def table_of(name):
    return f"{{{{ config(materialized='table', unique_key='id') }}}}\nselect id, user from {{{{ ref('{name}') }}}}"


MODELS = {
    "clean": CLEAN,
    "firsts": sink("firsts", "select id, user, at from {{ ref('clean') }}"),
    "plain": sink("plain", f"select id, user from {EVENTS} where kind = 'c'"),
    "twice": sink(
        "twice",
        "select 2 * id as id, user from {{ ref('firsts') }}"
        " union all select 2 * id + 1 as id, user from {{ ref('firsts') }}",
    ),
    "mixed": sink(
        "mixed",
        "select 2 * id as id, user from {{ ref('firsts') }}"
        " union all select 2 * id + 1 as id, user from {{ ref('plain') }}",
    ),
    "of_twice": table_of("twice"),
    "of_mixed": table_of("mixed"),
}


def rows(shop, target):
    return {
        name: sorted(map(repr, table_rows(shop.root, f"model.{name}", target)))
        for name in ("of_twice", "of_mixed")
    }


@pytest.mark.long
def test_an_applied_filter_below_a_shared_state_gives_the_rows_of_a_fresh_build(
    tmp_path, broker, first_spark
):
    shop = Shop(tmp_path, broker)
    shop.write("profiles.yml", PROFILES.replace("grouping: off", "grouping: all"))
    shop.more(OTHERS)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    queries = {model: query for query in job_of(shop.root).physical.queries for model in query.stored}
    assert queries["model.firsts"] is queries["model.twice"]
    assert [read.relation for read in queries["model.twice"].sources] == ["source.web.events"]
    create_topics(shop.bootstrap, "events", "others")
    send(shop.bootstrap, half(0))
    succeeded(built(shop.root, first_spark)[0])
    before = rows(shop, "local")

    shop.model("clean", CLEAN.replace("value >= 0", "value > 3"))
    succeeded(built(shop.root, first_spark, intent=Apply())[0])
    succeeded(built(shop.root, first_spark, target="fresh")[0])
    applied = rows(shop, "local")
    assert applied == rows(shop, "fresh")
    assert all(len(applied[name]) < len(before[name]) for name in before)
    send(shop.bootstrap, half(1))
    succeeded(built(shop.root, first_spark)[0])
    succeeded(built(shop.root, first_spark, target="fresh")[0])
    assert rows(shop, "local") == rows(shop, "fresh")
