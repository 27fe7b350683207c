"""Traffic of the shop: events of a hundred users, ten to a hundred milliseconds apart."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any, Final

Record = tuple[str | None, dict[str, Any] | None]

USERS: Final = 100
PRODUCTS: Final = 1000
SHARE_OUT_OF_ORDER: Final = 0.03
MOST_LATE: Final = 2000
SHARE_UNKNOWN: Final = 0.02

SHOP_EVENTS: Final = ("view", "click", "purchase", "search", "scroll", "hover")
CATEGORIES: Final = ("electronics", "clothing", "books", "home", "sports")
DEVICES: Final = ("desktop", "mobile", "tablet")
BROWSERS: Final = ("chrome", "firefox", "safari")
ACTIVITIES: Final = ("login", "page_view", "click", "purchase", "logout")
PARTNER_EVENTS: Final = ("valid_purchase", "valid_view", "spam", "invalid", "test", "bot_traffic")
PRIORITIES: Final = ("high", "medium", "low", "spam")
ANALYTICS_EVENTS: Final = ("view", "view", "view", "view", "click", "click", "search", "purchase", "logout")
REGIONS: Final = ("nl-ut", "nl-nh", "nl-zh", "be-vl", "be-br", "de-nw", "de-be", "fr-id")
PATHS: Final = ("/", "/search", "/product", "/basket", "/checkout")


def storefront_events(random: Random, now: datetime) -> Iterator[Record]:
    """Every move of a visitor; each of six types is as frequent as the others."""
    for number, timestamp in _numbered(random, now):
        user = random.randint(1, USERS)
        type_ = random.choice(SHOP_EVENTS)
        yield (
            _user(user),
            {
                "event_id": f"evt_{number:08d}",
                "type": type_,
                "user_id": _user(user),
                "timestamp": timestamp,
                "product_id": _product(random),
                "category": random.choice(CATEGORIES),
                "value": round(random.uniform(1.0, 100.0), 2) if type_ == "purchase" else 0.0,
                "session_id": f"sess_{user % 50:03d}",
                "metadata": {
                    "source": "web",
                    "device": random.choice(DEVICES),
                    "browser": random.choice(BROWSERS),
                },
            },
        )


def account_activity(random: Random, now: datetime) -> Iterator[Record]:
    """Activities with a score; of a few the type is not known."""
    for _, timestamp in _numbered(random, now):
        user = random.randint(1, USERS)
        type_ = random.choice(ACTIVITIES)
        yield (
            _user(user),
            {
                "activity_type": None if random.random() < SHARE_UNKNOWN else type_,
                "score": random.randint(1, 100),
                "timestamp": timestamp,
                "session_id": f"sess_{user % 10:02d}",
                "duration_ms": random.randint(100, 5000),
            },
        )


def partner_events(random: Random, now: datetime) -> Iterator[Record]:
    """Partners' events: a third has a valid type, and a quarter of those is spam all the same."""
    for number, timestamp in _numbered(random, now):
        type_, priority = random.choice(PARTNER_EVENTS), random.choice(PRIORITIES)
        yield (
            f"event_{number:06d}",
            {
                "event_type": type_,
                "priority": priority,
                "is_valid": type_.startswith("valid") and priority != "spam",
                "score": random.randint(1, 1000),
                "timestamp": timestamp,
                "batch_id": number // 100,
                "source": "partners",
            },
        )


def device_events(random: Random, now: datetime) -> Iterator[Record]:
    """Devices' events, whose types are numbers from 1 to 5."""
    for number, timestamp in _numbered(random, now):
        user = random.randint(1, USERS)
        yield (
            str(user),
            {
                "user_id": user,
                "timestamp": timestamp,
                "event_type_id": random.randint(1, 5),
                "value": random.randint(1, 10_000),
                "score": random.randint(1, 100),
                "metadata": {"batch": number // 50, "version": 1},
            },
        )


def app_events(random: Random, now: datetime) -> Iterator[Record]:
    """Events for analytics: many views, few purchases, and logouts that nobody counts."""
    for number, timestamp in _numbered(random, now):
        type_ = random.choice(ANALYTICS_EVENTS)
        yield (
            _user(random.randint(1, USERS)),
            {
                "event_id": f"uev_{number:08d}",
                "event_type": type_,
                "product_id": _product(random) if type_ in {"view", "click", "purchase"} else None,
                "value": round(random.uniform(1.0, 250.0), 2) if type_ == "purchase" else None,
                "timestamp": timestamp,
            },
        )


def page_hits(random: Random, now: datetime) -> Iterator[Record]:
    """Page hits of visitors in eight regions; the region begins the key."""
    for _, timestamp in _numbered(random, now):
        key = f"{random.choice(REGIONS)}-{random.randint(1, USERS):06d}"
        yield key, {"path": random.choice(PATHS), "timestamp": timestamp}


def _numbered(random: Random, now: datetime) -> Iterator[tuple[int, int]]:
    """Yield numbers from 1 and event times; now and then one is older than the one before."""
    for number in count(1):
        late = random.randint(1, MOST_LATE) if number > 1 and random.random() < SHARE_OUT_OF_ORDER else 0
        yield number, round((now - timedelta(milliseconds=late)).timestamp() * 1000)
        now += timedelta(milliseconds=random.randint(10, 100))


def _user(number: int) -> str:
    return f"user_{number:04d}"


def _product(random: Random) -> str:
    return f"prod_{random.randint(1, PRODUCTS):04d}"
