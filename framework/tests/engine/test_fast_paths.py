"""`fast_paths: off` runs every query without shortcuts, also in turns with builds that take them."""

import pytest
from support.runs import built, engines_of, errors, table_rows
from support.shops import SHARE, TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.engine.python import functions
from millstream.engine.queries.small_batches import evaluate_batch
from millstream.project.load import load_project
from millstream.stores.session_settings import fast_path_settings

pytestmark = SPARK_WARNINGS

SHARES = """
    {{ config(materialized='sink') }}
    select id, share(value) as share, t.total from {{ source('web', 'events') }} e
    left join {{ ref('totals') }} t on t.user = e.user
"""
PLAIN = """
    {{ config(materialized='sink') }}
    select id, share(value) as share from {{ source('web', 'events') }}
"""
USERS = """
    {{ config(materialized='table', unique_key='total') }}
    select cast(total as bigint) as total, count(*) as users from {{ ref('totals') }} group by cast(total as bigint)
"""


def use_fast_paths(shop, setting):
    shop.write(
        "profiles.yml",
        f"""
        shop: {{target: local, outputs: {{local: {{master: "local[2]", kafka: embedded, fast_paths: {setting}}}}}}}
        """,
    )


@pytest.mark.long
def test_builds_with_and_without_fast_paths_take_turns(shop, first_spark):
    shop.write("macros/shares.py", SHARE)
    for name, sql in {"totals": TOTALS, "shares": SHARES, "plain": PLAIN, "users": USERS}.items():
        shop.model(name, sql)
    sent, written = [], {"totals": [], "users": []}
    for number, setting in enumerate(["off", "on", "off"]):
        use_fast_paths(shop, setting)
        records = [event(10 * number + i, user=f"u{i % 3}", value=1.0 + i % 2) for i in range(6)]
        shop.send(*records)
        sent += [(value["id"], 1 / value["value"]) for _, value in records]
        _, events = built(shop.root, first_spark)
        assert errors(events) == []
        for model, before in written.items():
            written[model] = engines_of(shop.root, model)
            added = set(written[model][len(before) :])
            assert added == ({"delta-rs"} if setting == "on" else {"Apache-Spark"}), model
    assert sorted((row["id"], row["share"]) for row in shop.values("plain")) == sent
    assert sorted((row["id"], row["share"]) for row in shop.values("shares")) == sent
    totals = {row["user"]: row["total"] for row in table_rows(shop.root, "model.totals")}
    assert totals == {"u0": 9.0, "u1": 9.0, "u2": 9.0}
    assert table_rows(shop.root, "model.users") == [{"total": 9, "users": 3}]


@pytest.mark.parametrize("setting", ["on", "off"])
def test_a_session_follows_the_setting(shop, first_spark, setting):
    use_fast_paths(shop, setting)
    shop.write("macros/shares.py", SHARE)
    project = load_project(shop.root, None, None, None)
    session = first_spark.newSession()
    for name, value in fast_path_settings(project.target).items():
        session.conf.set(name, value)
    functions.register_functions(session, project, ["share"])
    rows = session.sql("select share(value) from values (1.0D), (2.0D) as t(value)")
    assert ("ArrowEvalPython" in rows._jdf.queryExecution().executedPlan().toString()) == (setting == "off")
    with evaluate_batch(rows) as computed:
        assert computed.few == (setting == "on")
        assert sorted(row[0] for row in computed.rows.collect()) == [0.5, 1.0]
