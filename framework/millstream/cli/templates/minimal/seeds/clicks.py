"""Test traffic: each function yields records for the topic of its name, the same ones for the same seed."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

PAGES = ["/", "/docs", "/pricing", "/blog"]


def clicks(random: Random, now: datetime) -> Iterator[tuple[str | None, dict[str, Any] | None]]:
    """Clicks about two seconds apart."""
    while True:
        yield None, {"page": random.choice(PAGES), "clicked_at": now.isoformat()}
        now += timedelta(seconds=random.expovariate(1 / 2))
