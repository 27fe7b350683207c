"""How large the states of queries were after their last batch, in files next to their checkpoints.

Spark reports it with each batch, but does not store it. `build` and `run` write the files.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from millstream.decoding import from_json
from millstream.project.folders import local_path

FILE = "state.json"
_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())


class OperatorState(Struct, frozen=True):
    """The state of one of Spark's stateful operators after a batch."""

    name: str
    """Spark's name, such as `stateStoreSave`."""
    rows: int
    bytes: int
    """Memory, as its state store reports it."""
    late: int = 0
    removed: int = 0
    """Rows that the batch removed."""
    figures: dict[str, int] = {}
    """What its state store reports besides."""

    @property
    def expired(self) -> int:
        """Rows that the batch removed because they expired: Spark counts those with a time to live apart."""
        return self.removed + self.figures.get("numValuesRemovedDueToTTLExpiry", 0)

    @property
    def files(self) -> int:
        """The bytes of its files; 0 if its store has none."""
        return self.figures.get("rocksdbSstFileSize", 0)


class StateFigures(Struct, frozen=True):
    id: str
    """Id of the checkpoint."""
    batch: int
    time: str
    watermark: str
    operators: tuple[OperatorState, ...]
    contents: tuple[str, ...] = ()
    """What each operator stores, as `content_id` names it. Older files have none."""


class MeasuredState(Struct, frozen=True):
    rows: int
    memory: int
    files: int
    """Bytes on disk."""
    time: str


def measured_states(checkpoints: str) -> Mapping[str, MeasuredState]:
    """Return the figures of all states by what they store, if checkpoints are on this machine."""
    folder = local_path(checkpoints)
    found: dict[str, MeasuredState] = {}
    for path in sorted(folder.glob(f"*/{FILE}")) if folder is not None else ():
        try:
            figures = from_json(path.read_bytes(), StateFigures)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            _log.debug("%s is not used: %s", path, error)
            continue
        for content, state in zip(figures.contents, figures.operators, strict=False):
            found[content] = MeasuredState(state.rows, state.bytes, state.files, figures.time)
    return found
