"""Python functions with keyed state."""

GROWING = """
    from dataclasses import dataclass
    from typing import Iterator

    @dataclass
    class Event:
        id: int

    @dataclass
    class State:
        total: int = 0

    def growing(key: str, rows: Iterator[Event], state: State) -> Iterator[int]:
        for row in rows:
            state.total += row.id
            yield state.total
"""
