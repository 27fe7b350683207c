"""Products and profiles: every key once, then changes of some, for as long as they are asked for."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain, repeat
from random import Random
from typing import Any, Final

Record = tuple[str | None, dict[str, Any] | None]

USERS: Final = 100
PRODUCTS: Final = 1000
CATEGORIES: Final = ("electronics", "clothing", "books", "home", "sports")
SEGMENTS: Final = ("new", "regular", "regular", "premium", "vip")


def products(random: Random, now: datetime) -> Iterator[Record]:
    """Products by id; a change gives one a new category and price."""
    for number, timestamp in _changes(random, now, PRODUCTS):
        yield (
            f"prod_{number:04d}",
            {
                "name": f"Product {number}",
                "category": random.choice(CATEGORIES),
                "price": round(random.uniform(1.0, 250.0), 2),
                "timestamp": timestamp,
            },
        )


def user_profiles(random: Random, now: datetime) -> Iterator[Record]:
    """Profiles by user id; a change gives one a new segment."""
    ages = [random.randint(0, 3000) for _ in range(USERS)]
    for number, timestamp in _changes(random, now, USERS):
        yield (
            f"user_{number:04d}",
            {
                "segment": random.choice(SEGMENTS),
                "account_age_days": ages[number - 1],
                "timestamp": timestamp,
            },
        )


def _changes(random: Random, now: datetime, last: int) -> Iterator[tuple[int, int]]:
    """Yield the numbers of all keys, then of random ones, with the times of the changes."""
    later = (random.randint(1, last) for _ in repeat(None))
    for number in chain(range(1, last + 1), later):
        yield number, round(now.timestamp() * 1000)
        now += timedelta(milliseconds=random.randint(10, 100))
