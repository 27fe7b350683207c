"""How large the states of queries were after their last batch, in files next to their checkpoints.

Spark reports it with each batch, but does not store it. `build` and `run` write the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from msgspec import Struct

from millstream.results.checkpoint_stats import figures_at

FILE = "state.json"


class RestoredState(Struct, frozen=True):
    """How the state of an operator was loaded from the files of its checkpoint."""

    bytes: int
    """Of its files after the first batch."""
    seconds: float
    """Of all stores together."""


def restore_seconds(files: int, restored: RestoredState | None) -> float:
    """Estimate how long the stores of a state take together to load files, from how it was loaded before."""
    rate = restored.bytes / restored.seconds if restored and restored.bytes and restored.seconds else _RATE
    return files / rate


_RATE = 50e6
"""Bytes of files that are assumed to be loaded in a second by a core, until it has been measured."""


class OperatorState(Struct, frozen=True):
    """The state of one of Spark's stateful operators after a batch."""

    name: str
    """Spark's name, such as `stateStoreSave`."""
    rows: int
    bytes: int
    """Memory, as its state store reports it."""
    late: int = 0
    expired: int = 0
    """Rows that the batch removed because they expired: Spark's `numRowsRemoved`, also of a time to live."""
    figures: dict[str, int] = {}
    """What its state store reports besides."""

    @property
    def duplicates(self) -> int:
        """Rows that a dedupe dropped because their key came before."""
        return self.figures.get("numDroppedDuplicateRows", 0)

    @property
    def restored(self) -> RestoredState | None:
        """How its stores were loaded for the batch; None if they were loaded before, or are new.

        Spark does not tell it of aggregates: the step that reads a state loads it; the step that stores it,
        which reports figures, finds it loaded.
        """
        if not self.figures.get("rocksdbNumLoadedFromDfs"):
            return None
        return RestoredState(self.files, self.figures.get("rocksdbLoadLatencyMs", 0) / 1000)

    @property
    def files(self) -> int:
        """The bytes of its files; 0 if its store has none."""
        return self.figures.get("rocksdbSstFileSize", 0)


def last_restored(
    restored: Sequence[RestoredState | None], operators: Sequence[OperatorState]
) -> tuple[RestoredState | None, ...]:
    """Return how operators were loaded last, after a batch."""
    return tuple(
        operator.restored or before
        for operator, before in zip_longest(operators, restored)
        if operator is not None
    )


class StateFigures(Struct, frozen=True):
    id: str
    """Id of the checkpoint."""
    batch: int
    time: str
    watermark: str
    operators: tuple[OperatorState, ...]
    contents: tuple[str, ...] = ()
    """What each operator stores, as `content_id` names it. Older files have none."""
    restored: tuple[RestoredState | None, ...] = ()
    """How each operator was loaded at the last start that loaded it. Older files have none."""


class MeasuredState(Struct, frozen=True):
    rows: int
    memory: int
    files: int
    """Bytes on disk."""
    time: str
    restored: RestoredState | None = None


def measured_states(checkpoints: str) -> Mapping[str, MeasuredState]:
    """Return the figures of all states by what they store, if checkpoints are on this machine."""
    states: dict[str, MeasuredState] = {}
    for _, figures in figures_at(checkpoints, FILE, StateFigures):
        for content, state, restored in zip_longest(figures.contents, figures.operators, figures.restored):
            if content is not None and state is not None:
                states[content] = MeasuredState(state.rows, state.bytes, state.files, figures.time, restored)
    return states
