"""What functions log in workers of a standalone cluster arrives in the run's log, until it is stopped."""

import json

import pytest
from support.commands import Run
from support.runs import create_topics
from support.shops import Shop, event
from support.standalone import standalone

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

PROFILES = """
shop:
  target: local
  outputs:
    local: {master: "local[2]", kafka: embedded}
"""
FUNCTIONS = """
    import logging

    def checked(value: float) -> float:
        if value > 10:
            logging.warning("value %s", value)
        return value
"""


def test_functions_log_in_workers(tmp_path, broker):
    shop = Shop(tmp_path, broker)
    shop.write("profiles.yml", PROFILES)
    shop.write("macros/checks.py", FUNCTIONS)
    shop.model(
        "checked_events",
        "{{ config(materialized='sink') }} select id, checked(value) as value "
        "from {{ source('web', 'events') }}",
    )
    shop.write("models/checked.yml", "models: [{name: checked_events, log: {when: id = 3}}]")
    create_topics(broker, "events", "checked_events")
    shop.send(event(1), event(2, value=20.0), event(3, user="b", value=30.0))
    with standalone(shop.root, broker):
        run = Run(shop.root, "--target", "cluster")
        try:
            run.until("batch")
        finally:
            code = run.stop()
        message = [*run.output, *iter(run.lines.get, "")]
    assert code == 0, message[-5:]
    events = [json.loads(line) for line in message if '"event": "log"' in line]
    functions = sorted((event["message"], event["models"]) for event in events if "function" in event)
    assert functions == [("value 20.0", ["checked_events"]), ("value 30.0", ["checked_events"])]
    assert all(event["topic"] == "events" for event in events)
    assert [event["row"] for event in events if "row" in event] == [{"id": 3, "value": 30.0}]
