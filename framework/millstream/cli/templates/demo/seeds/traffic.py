"""Live traffic: each function yields records for the topic of its name, the same ones for the same seed."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

DRINKS = ["espresso", "cappuccino", "flat white", "green tea", "earl grey", "lemonade"]
CUSTOMERS = 40
Record = tuple[str, dict[str, Any]]


def orders(random: Random, now: datetime) -> Iterator[Record]:
    """Orders about a second apart; some customers order more often than others."""
    number = 0
    while True:
        number += 1
        now += timedelta(seconds=random.expovariate(1))
        customer = min(int(random.expovariate(1 / 10)), CUSTOMERS - 1) + 1
        yield (
            f"order_{number:06d}",
            {
                "customer_id": f"customer_{customer:03d}",
                "drink": random.choice(DRINKS),
                "quantity": random.choice([1, 1, 1, 1, 2, 2, 3, 4]),
                "ordered_at": now.isoformat(),
            },
        )


def payments(random: Random, now: datetime) -> Iterator[Record]:
    """Payments of the same orders, one in ten of them declined."""
    number = 0
    while True:
        number += 1
        now += timedelta(seconds=random.expovariate(1))
        yield (
            f"order_{number:06d}",
            {
                "status": "declined" if random.random() < 0.1 else "paid",
                "method": random.choice(["card", "cash"]),
                "paid_at": now.isoformat(),
            },
        )
