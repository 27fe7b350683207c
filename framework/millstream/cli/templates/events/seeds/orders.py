"""Test traffic: each function yields records for the topic of its name, the same ones for the same seed."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

MENU = {
    "espresso": 220,
    "cappuccino": 320,
    "flat white": 360,
    "green tea": 280,
    "earl grey": 260,
    "lemonade": 340,
}
CUSTOMERS = 40


def orders(random: Random, now: datetime) -> Iterator[tuple[str | None, dict[str, Any] | None]]:
    """Orders about half a minute apart, a third of them without a customer card."""
    number = 0
    while True:
        number += 1
        drink = random.choice([*MENU])
        card = random.random() < 2 / 3
        yield (
            f"order_{number:06d}",
            {
                "customer_id": f"customer_{random.randint(1, CUSTOMERS):03d}" if card else "",
                "drink": drink,
                "quantity": random.choice([1, 1, 1, 2, 3]),
                "price_cents": MENU[drink],
                "timestamp": round(now.timestamp() * 1000),
            },
        )
        now += timedelta(seconds=random.expovariate(1 / 30))
