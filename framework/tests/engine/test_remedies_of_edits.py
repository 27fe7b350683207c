"""An edit that a query can't continue with is refused: each command that the error names deploys it."""

import re
import shlex

import pytest
from support.runs import built, errors, statuses, table_rows
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, Update
from millstream.queries.verdict import AcceptedModels

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
TABLE = "{{{{ config(materialized='table', unique_key='{}') }}}}\n"
MODELS = {
    "largest": TABLE.format("kind") + f"select kind, max(value) as value from {EVENTS} group by kind",
    "counted": TABLE.format("user") + f"select user, count(*) as n from {EVENTS} where id > 0 group by user",
    "scaled": TABLE.format("id") + f"select id, value * 2 as value from {EVENTS}",
    "raw": f"{{{{ config(materialized='table') }}}}\nselect id, value as part from {EVENTS}",
}
EXPANDED = (
    MODELS["raw"].replace("value as part", "part") + " lateral view explode(array(value, -value)) as part"
)
EDITS = {
    "largest": ("MS870", "max(value)", "min(value)"),
    "counted": ("MS871", "id > 0", "id > 2"),
    "scaled": ("MS880", "value * 2", "value * 3"),
}


def follow(shop, spark, command):
    """Run what a command of `millstream` would run."""
    words = shlex.split(command)
    if words[:2] == ["millstream", "apply"]:
        assert words[2:] == []
        return built(shop.root, spark, intent=Apply())
    options = dict(zip(words[2::2], words[3::2], strict=True))
    assert (words[:2], options.keys()) == (["millstream", "build"], {"--accept", "--select"})
    kind, model = options["--accept"].split(":")
    accepted = AcceptedModels(**{kind: frozenset({NodeId("model", model)})})
    models = frozenset({f"model.{options['--select']}"})
    return built(shop.root, spark, intent=Update(accepted=accepted), models=models)


def commands(help_text):
    return re.findall(r"millstream (?:apply|build[^,]*)", help_text)


@pytest.mark.long
def test_an_edit_that_is_refused_is_deployed_by_the_commands_that_are_named(shop, first_spark):
    for name, sql in MODELS.items():
        shop.model(name, sql)
    shop.send(event(1, value=5.0), event(2, value=1.0), event(3, value=3.0))
    results, events = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"success"}, errors(events)

    # A query of several tables can't expand rows, so `raw` would move to another query.
    shop.model("raw", EXPANDED)
    results, events = built(shop.root, first_spark)
    (moved,) = errors(events)
    assert moved.code == "MS870"
    assert moved.help.endswith("or leave raw as it was, and select the new rows in a table of another name")
    shop.model("raw", MODELS["raw"])
    shop.model("parts", EXPANDED)
    results, events = built(shop.root, first_spark, models=frozenset({"model.raw", "model.parts"}))
    assert set(statuses(results).values()) == {"success"}, errors(events)
    # While it was refused, its former query went on; it returns to where it left.
    assert len(table_rows(shop.root, "model.raw")) == 3
    assert len(table_rows(shop.root, "model.parts")) == 6
    for name in ("raw", "parts"):
        (shop.root / f"models/{name}.sql").unlink()

    for name, (_, old, new) in EDITS.items():
        shop.model(name, MODELS[name].replace(old, new))
    results, events = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"error"}
    refused = {diagnostic.code: diagnostic.help for diagnostic in errors(events)}
    assert refused.keys() == {code for code, _, _ in EDITS.values()}

    # What continues has the old rows.
    for name in ("counted", "scaled"):
        on, _ = commands(refused[EDITS[name][0]])
        results, events = follow(shop, first_spark, on)
        assert statuses(results) == {name: "success"}, errors(events)
    assert table_rows(shop.root, "model.counted") == [{"user": "a", "n": 3}]
    assert table_rows(shop.root, "model.scaled")[0] == {"id": 1, "value": 10.0}

    # What is rebuilt does not.
    for name in ("counted", "scaled"):
        shop.model(name, MODELS[name].replace(EDITS[name][1], EDITS[name][2] + " + 0"))
    results, events = built(shop.root, first_spark)
    rebuilds = {commands(diagnostic.help)[-1] for diagnostic in errors(events)}
    assert rebuilds == {"millstream apply"}
    results, events = follow(shop, first_spark, *rebuilds)
    assert set(statuses(results).values()) == {"success"}, errors(events)
    assert table_rows(shop.root, "model.largest") == [{"kind": "x", "value": 1.0}]
    assert table_rows(shop.root, "model.counted") == [{"user": "a", "n": 1}]
    assert sorted(row["value"] for row in table_rows(shop.root, "model.scaled")) == [3.0, 9.0, 15.0]
