"""Scores of events. What does not change from row to row is worked out once per worker."""

from typing import Final

PRIORITY_EVENTS: Final = frozenset({"purchase", "search"})
CATEGORY_MULTIPLIERS: Final = {
    "electronics": 1.5,
    "clothing": 1.2,
    "books": 1.0,
    "home": 1.3,
    "sports": 1.1,
}
PRIORITY_MULTIPLIERS: Final = {"high": 3.0, "medium": 2.0, "low": 1.0}
POINTS_PER_VALUE: Final = 0.1
MOST_FOR_VALUE: Final = 10.0
SIMULATED_ROUNDS: Final = 100


def calculate_score(event_type: str | None, category: str | None, value: float | None) -> float:
    """Weigh an event by its type and category; its value adds ten points at most."""
    base = 10 if event_type in PRIORITY_EVENTS else 5
    for_value = min((value or 0.0) * POINTS_PER_VALUE, MOST_FOR_VALUE)
    return round(base * CATEGORY_MULTIPLIERS.get(category or "", 1.0) + for_value, 2)


def calculate_complex_score(event_type: str | None, priority: str | None, base_score: int | None) -> float:
    """Score an event by its priority; a loop stands in for a calculation that takes long."""
    bonus = 50 if "purchase" in (event_type or "") else 10
    score = (base_score or 0) * PRIORITY_MULTIPLIERS.get(priority or "", 1.0) + bonus
    for step in range(SIMULATED_ROUNDS):
        score += step % 5 / 10
    return round(score, 2)
