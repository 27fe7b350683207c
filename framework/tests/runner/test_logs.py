"""What a run logs: rows that models choose, and what Python functions log, with where they are from."""

from support.running import running
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.ops.run_log import RunLog
from millstream.project.secrets import Secret
from millstream.project.values import Target
from millstream.runner.values import Batched, Logged

pytestmark = SPARK_WARNINGS

FUNCTIONS = """
    import logging
    from collections.abc import Iterator
    from dataclasses import dataclass

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


def test_rows_and_functions_are_logged_with_their_positions(shop, first_spark):
    shop.write("macros/prices.py", FUNCTIONS)
    shop.model(
        "priced",
        "{{ config(materialized='sink') }} select id, user, value, kind, priced(id, value) as price "
        "from {{ source('web', 'events') }}",
    )
    shop.model("totals", TOTALS.replace("sum(value)", "doubled(sum(value))"))
    shop.model(
        "watched",
        "{{ config(materialized='sink') }} select w.* from "
        "(select user, id from {{ source('web', 'events') }}) e, lateral watch(e.user) w",
    )
    shop.write(
        "models/logs.yml",
        """
        models:
          - name: priced
            log: {when: value > 100, columns: [id, user, kind], level: warning}
          - name: totals
            log: {when: "total > 1"}
        """,
    )
    shop.send(event(1), event(2, value=150.0, kind="secret-word"), event(3, kind=None, value=500.0))
    logged = []
    log = RunLog(
        Target("shop", "local", {"x": Secret("secret-word"), "y": Secret("hush-hush")}), logged.append
    )
    with running(shop.root, first_spark, also=[log.tell]) as run:
        run.until(lambda: sum(each.batch.rows for each in run.of(Batched)) == 9)
    lines = sorted((each for each in logged if isinstance(each, Logged)), key=lambda each: each.text)
    assert [(each.level, each.text) for each in lines] == [
        ("info", "doubled() of totals, user a: doubled 651.0"),
        ("warning", 'priced events-0-1: {"id":2,"user":"a","kind":"****"}'),
        ("warning", 'priced events-0-2: {"id":3,"user":"a","kind":null}'),
        ("warning", "priced() of priced events-0-1: value 150.0 of 2"),
        ("error", "priced() of priced events-0-2: no price of ****: ZeroDivisionError: division by zero"),
        ("warning", "priced() of priced events-0-2: value 500.0 of 3"),
        ("info", 'totals: {"user":"a","total":1302.0}'),
        *(("error", f"watch() of watched, user a: row {number}") for number in (1, 2, 3)),
    ]
