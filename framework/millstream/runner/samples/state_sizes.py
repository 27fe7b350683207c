"""How large the states of queries are, from checkpoints alone."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from millstream.deploy.checkpoints.files import checkpoint_folder, last_done, records_in
from millstream.deploy.checkpoints.state_figures import read_figures
from millstream.deploy.planning.records import QueryRecord
from millstream.project.folders import local_path
from millstream.queries.values import StatefulOperator
from millstream.results.state_sizes import RestoredState, restore_seconds
from millstream.stores.files import Files, LocalFiles


class OperatorSize(Struct, frozen=True):
    """The state of one operator after the last batch whose figures are known."""

    query: str
    id: int
    operator: str
    """What it does: aggregate, dedupe, join, …"""
    models: tuple[str, ...]
    rows: int | None
    memory: int | None
    disk: int
    watermark: str
    measured: str
    """When rows and memory were measured."""
    restore_seconds: float | None = None
    """How long all stores together take to load it after a restart, by how long it took before."""
    restored: RestoredState | None = None
    """How it was loaded last."""
    keys: int | None = None
    """How many keys the state has; only known once it is read."""
    oldest: str = ""
    """The oldest time among keys that are windows, or that expire."""


class StoredState(Struct, frozen=True):
    query: str
    id: int
    operator: StatefulOperator
    folder: str
    record: QueryRecord


def measure_states(files: Files, checkpoints: str) -> list[OperatorSize]:
    """Return the sizes of all states, as deployed."""
    operator_sizes = []
    for state in states_of(files, checkpoints):
        figures = read_figures(files, checkpoint_folder(checkpoints, state.query), state.record.id)
        has_figures = figures is not None and state.id < len(figures.operators)
        operator = figures.operators[state.id] if figures is not None and has_figures else None
        restored = next(iter(figures.restored[state.id :]), None) if figures is not None else None
        operator_sizes.append(
            OperatorSize(
                query=state.query,
                id=state.id,
                operator=state.operator.kind,
                models=tuple(model.name for model in state.operator.models),
                rows=operator.rows if operator else None,
                memory=operator.bytes if operator else None,
                disk=files.size(f"{state.folder}/state/{state.id}"),
                watermark=_no_epoch(figures.watermark) if figures else "",
                measured=figures.time if figures else "",
                restore_seconds=restore_seconds(operator.files, restored)
                if operator and operator.files
                else None,
                restored=restored,
            )
        )
    return operator_sizes


def states_of(files: Files, checkpoints: str) -> Iterator[StoredState]:
    """Yield the operators that have state, besides those of former models."""
    for name, record in sorted(records_in(files, checkpoints).items()):
        folder = checkpoint_folder(checkpoints, name).spark(record)
        if last_done(files, folder) is not None:
            numbers = files.names(f"{folder}/state")
            for number, operator in enumerate(record.signature.numbered):
                if operator in record.signature.operators and str(number) in numbers:
                    yield StoredState(name, number, operator, folder, record)


def _no_epoch(watermark: str) -> str:
    return "" if watermark.startswith("1970-01-01T00:00:00") else watermark


def local_files(checkpoints: str) -> Files | None:
    return LocalFiles() if local_path(checkpoints) is not None else None
