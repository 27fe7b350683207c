"""What a run logs: rows that models choose, and what Python functions log, with where they are from."""

import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from support.running import running
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.cli.output import OutputStyle
from millstream.cli.run_progress import run_progress
from millstream.deploy.values import BatchCompleted, LineLogged
from millstream.engine.python.forwarding import MOST
from millstream.ops.query_status import RunTotals
from millstream.ops.run_log import RunLog
from millstream.project.secrets import Secret
from millstream.project.values import Target

pytestmark = SPARK_WARNINGS

FUNCTIONS = """
    import logging

    logger = logging.getLogger("shop.prices")

    def priced(id: int, value: float) -> float:
        if value > 100:
            logger.warning("value %s of %s", value, id)
        try:
            return 1 / (id - 3)
        except ZeroDivisionError:
            logger.exception("no price of hush-hush")
            return 0.0

    def doubled(value: float) -> float:
        logging.info("doubled %s", value)
        return value * 2
"""


KEYED = """
    import logging
    from collections.abc import Iterator
    from dataclasses import dataclass

    @dataclass
    class Event:
        id: int | None

    @dataclass
    class Seen:
        last: int = 0

    def watch(key: str, rows: Iterator[Event], state: Seen) -> Iterator[int]:
        for row in rows:
            logging.getLogger(__name__).error("row %s", row.id)
            yield row.id
"""
GUIDE = (Path(__file__).parents[3] / "docs/running.md").read_text()
SECTION = GUIDE.partition("## Log of rows and functions")[2].partition("\n## ")[0]
BLOCKS = dict(re.findall(r"```(yaml|python|json)\n(.*?)```", SECTION, re.DOTALL))


def test_rows_and_functions_are_logged_with_their_positions(shop, first_spark, capfd):
    shop.write("macros/prices.py", FUNCTIONS)
    shop.write("macros/checks.py", BLOCKS["python"])
    shop.model(
        "priced",
        "{{ config(materialized='sink') }} select id, user, value, kind, priced(id, value) as price "
        "from {{ source('web', 'events') }}",
    )
    shop.model(
        "payments",
        "{{ config(materialized='sink') }} select id, user, checked(value) as value "
        "from {{ source('web', 'events') }}",
    )
    shop.model("totals", TOTALS.replace("sum(value)", "doubled(sum(value))"))
    shop.write("models/payments.yml", BLOCKS["yaml"])
    shop.write(
        "models/logs.yml",
        """
        models:
          - name: priced
            log: {when: "value > 100 or value < 0", columns: [id, user, kind], level: error}
          - name: totals
            log: {when: "total > 1"}
        """,
    )
    shop.send(event(1), event(2, value=150.0, kind="secret-word"), event(3, kind=None, value=-3.0))
    logged = []
    secrets = {"x": Secret("secret-word"), "y": Secret("hush-hush")}
    log = RunLog(Target("shop", "local", secrets), logged.append)
    with running(shop.root, first_spark, also=[log.tell]) as run:
        run.until(lambda: models_in(run) == {"payments", "priced", "totals"})
    events = [event for event in logged if isinstance(event, LineLogged)]
    lines = sorted((event.level, event.text) for event in events if "payments" not in event.text)
    assert lines == [
        ("error", 'priced events-0-1: {"id":2,"user":"a","kind":"****"}'),
        ("error", 'priced events-0-2: {"id":3,"user":"a","kind":null}'),
        ("error", "priced() of priced events-0-2: no price of ****: ZeroDivisionError: division by zero"),
        ("info", "doubled() of totals, user a: doubled 148.0"),
        ("info", 'totals: {"user":"a","total":296.0}'),
        ("warning", "priced() of priced events-0-1: value 150.0 of 2"),
    ]  # fmt: skip
    as_in_the_guide = [event for event in events if event.text.startswith(("payments", "checked"))]
    assert shown(as_in_the_guide, capfd) == [json.loads(line) for line in BLOCKS["json"].splitlines()]


def shown(logged, capfd):
    """Return the lines of JSON that the command prints, with the guide's time."""
    capfd.readouterr()
    with run_progress(OutputStyle(json=True), RunTotals()) as progress:
        for event in sorted(logged, key=lambda event: event.level, reverse=True):
            progress.handle(event)
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    return [line | {"time": "2026-03-01T10:00:00.000+00:00"} for line in lines]


def models_in(run):
    return {name for event in run.of(BatchCompleted) for name in event.batch.model_rows}


@pytest.mark.long
def test_keyed_functions_log_with_their_key_and_floods_stop_nothing(shop, first_spark):
    """A cluster's functions log in the same way; see `crash/test_logs_on_a_cluster.py`."""
    shop.write("macros/watching.py", KEYED)
    shop.model(
        "watched",
        "{{ config(materialized='sink') }} select w.* from "
        "(select user, id from {{ source('web', 'events') }}) e, lateral watch(e.user) w",
    )
    shop.write("models/watched.yml", "models: [{name: watched, log: {per_minute: 5}}]")
    shop.send(*map(event, range(1000)))
    logged = []
    with (
        closing(RunLog(Target("shop", "local", {}), logged.append)) as log,
        running(shop.root, first_spark, also=[log.tell]) as run,
    ):
        run.until(
            lambda: sum(event.batch.model_rows.get("watched", 0) for event in run.of(BatchCompleted)) == 1000
        )
    events = [event for event in logged if isinstance(event, LineLogged)]
    of_function = [event for event in events if event.text.startswith("watch() of watched, user a: row ")]
    assert len(of_function) == MOST
    (left_out,) = (
        event for event in events if event.data.get("model") == "watched" and "left_out" in event.data
    )
    assert left_out.data["left_out"] == 995
    assert sum("row" in event.data for event in events) == 5


def test_gathered_texts_are_chosen_and_cut(first_spark):
    """The aggregate of logged rows; the share is within seven standard deviations."""
    call = "select gather(if(id % 2 = 0, repeat('x', 20000), null), '{}', '3') as found from range(0, 20000, 1, 4)"
    ((some,),) = first_spark.sql(call.format(0.25)).collect()
    assert abs(some["rows"] - 2500) < 7 * 43.3
    ((gathered,),) = first_spark.sql(call.format(1.0)).collect()
    assert gathered["rows"] == 10_000
    assert list(gathered["texts"]) == ["x" * 10_000 + "…"] * 3
    ((none,),) = first_spark.sql(
        "select gather(if(id < 0, 'x', null), '1.0', '3') as found from range(5)"
    ).collect()
    assert (none["rows"], list(none["texts"])) == (0, [])
