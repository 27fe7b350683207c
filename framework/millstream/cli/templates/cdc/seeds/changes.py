"""Test traffic: each function yields records for the topic of its name, the same ones for the same seed."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

Change = tuple[dict[str, int], dict[str, Any]]
NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gia", "Hugo"]
CITIES = ["Bergen", "Lyon", "Oslo", "Porto", "Riga"]
CUSTOMERS = 40


def customers(random: Random, now: datetime) -> Iterator[Change]:
    """Create the customers, then let some of them move, and delete a few."""
    rows: dict[int, dict[str, Any]] = {}
    lsn = 0
    while True:
        lsn, now = lsn + 1, now + timedelta(seconds=1)
        number = len(rows) + 1 if lsn <= CUSTOMERS else random.randint(1, CUSTOMERS)
        before = rows.get(number)
        after = {"customer_id": number, "name": NAMES[number % len(NAMES)], "city": random.choice(CITIES)}
        if before and number % 10 == 0:
            yield _change("customer_id", before, None, lsn, now)
            del rows[number]
        else:
            yield _change("customer_id", before, after, lsn, now)
            rows[number] = after


def orders(random: Random, now: datetime) -> Iterator[Change]:
    """Create orders, most of which are paid and sent later; some are deleted before."""
    rows: dict[int, dict[str, Any]] = {}
    number = lsn = 0
    while True:
        lsn, now = lsn + 1, now + timedelta(seconds=1)
        if len(rows) < CUSTOMERS:
            number += 1
            rows[number] = {
                "order_id": number,
                "customer_id": random.randint(1, CUSTOMERS),
                "status": "open",
                "amount": random.randint(500, 20_000) / 100,
            }
            yield _change("order_id", None, rows[number], lsn, now)
            continue
        before = rows.pop(random.choice([*rows]))
        if before["status"] == "open" and random.random() < 0.1:
            yield _change("order_id", before, None, lsn, now)
            continue
        after = before | {"status": "paid" if before["status"] == "open" else "sent"}
        if after["status"] == "paid":
            rows[after["order_id"]] = after
        yield _change("order_id", before, after, lsn, now)


def _change(
    key: str, before: dict[str, Any] | None, after: dict[str, Any] | None, lsn: int, now: datetime
) -> Change:
    """Return a record as Debezium writes it."""
    time = round(now.timestamp() * 1000)
    value = {
        "op": "d" if after is None else "u" if before else "c",
        "before": before,
        "after": after,
        "source": {"lsn": lsn, "ts_ms": time},
        "ts_ms": time,
    }
    return {key: (after or before or {})[key]}, value
