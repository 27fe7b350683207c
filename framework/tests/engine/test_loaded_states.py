"""How states are loaded after a restart, as real stores report it."""

import pytest
from support.runs import built, create_topics, send
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from millstream.core.decoding import from_json
from millstream.results.state_sizes import StateFigures

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
MODELS = {
    "first": "{{ config(materialized='sink', unbounded_state='accept') }}\n"
    f"select distinct user, id from {EVENTS}",
    "both": "{{ config(materialized='sink') }}\n"
    f"select e.id, o.id as other from {EVENTS} e join {EVENTS} o\n"
    "on e.user = o.user and o.at between e.at - interval 1 minute and e.at",
    "totals": "{{ config(materialized='table', unique_key='user') }}\n"
    f"select user, sum(value) as total from {EVENTS} group by user",
}


def figures(root):
    """Return what is stored of the state of each query after its last batch."""
    contents = {
        path.parent.name: path.read_bytes()
        for path in (root / ".millstream").rglob("checkpoints/*/state.json")
    }
    return {name: from_json(data, StateFigures) for name, data in contents.items()}


@pytest.mark.long
def test_a_restart_tells_how_the_states_were_loaded(tmp_path, broker, first_spark):
    shop = Shop(tmp_path, broker)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    create_topics(shop.bootstrap, "events")
    loaded = []
    for part in range(3):
        rows = [
            (f"u{n % 50}", {"id": n, "value": 1.0, "at": f"2026-01-01T00:0{part}:00Z"})
            for n in range(200 * part, 200 * part + 200)
        ]
        send(shop.bootstrap, {"events": rows})
        built(shop.root, first_spark)
        loaded.append({name: state.restored for name, state in figures(shop.root).items()})
    assert loaded[0] == {"first": (None,), "both": (None,), "totals": (None,)}, "new states are not loaded"
    for restart in loaded[1:]:
        for name in ("first", "both"):
            (restored,) = restart[name]
            assert restored.bytes > 1000
            assert 0 < restored.seconds < 60
        assert restart["totals"] == (None,), "Spark does not tell it of an aggregate"
    assert loaded[2]["first"][0].bytes > loaded[1]["first"][0].bytes
