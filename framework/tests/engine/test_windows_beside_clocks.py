"""Windows close in the batch without rows that Spark runs last, also beside state that expires by the clock."""

import pytest
from support.keyed import GROWING
from support.runs import built, create_topics, job_of, statuses
from support.shops import Shop, minute
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
MODELS = {
    "minutes": "{{ config(materialized='sink', emit='on_close') }}\n"
    f"select window.start as start, user, count(*) as events from {EVENTS} group by window(at, '1 minute'), user",
    "grown": "{{ config(materialized='sink', state={'ttl': '1 day'}) }}\n"
    f"select g.value as total from {EVENTS} as e, lateral growing(e.user) as g",
}


@pytest.mark.parametrize("grouping", ["all", "off"])
@pytest.mark.long
def test_what_shares_a_shuffle_does_not_keep_windows_open(tmp_path, broker, first_spark, grouping):
    shop = Shop(tmp_path, broker)
    shop.write(
        "profiles.yml",
        f'shop: {{target: local, outputs: {{local: {{master: "local[2]", kafka: embedded, grouping: {grouping}}}}}}}',
    )
    shop.write("macros/growing.py", GROWING)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    create_topics(shop.bootstrap, "events")
    shop.send(*map(minute, range(5)))
    results, _ = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"success"}
    closed = sorted(row["start"][14:16] for row in shop.values("minutes"))
    assert closed == ["00", "01", "02"], "the watermark is at 00:03"
    assert sorted(row["total"] for row in shop.values("grown")) == [0, 1, 3, 6, 10]

    shop.send(minute(0))
    results, _ = built(shop.root, first_spark)
    late = {result.id: result.late for result in results.results}
    assert late == {"model.minutes": 1, "model.grown": 0}
    separations = {separation.model: separation.why for separation in job_of(shop.root).physical.separations}
    assert (grouping == "all") == any("expires by the clock" in why for why in separations.values())
