"""Projects and rows as JSON: those that differed once are run again by each test."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from streaming import shapes
from streaming.query_runner import Corner, Record
from streaming.shapes import Project

FOLDER = Path(__file__).parent / "found"


def text_of(why: str, project: Project, all_records: dict[str, list[Record]], corners: list[Corner]) -> str:
    """Return a fixture."""
    return json.dumps(
        {
            "why": why,
            "corners": [list(corner) for corner in corners],
            "models": [_plain(model) for model in project.models],
            "rows": {
                name: [[_text(record.key), _text(record.value)] for record in records]
                for name, records in all_records.items() if records
            },
        },
        indent=1,
    )  # fmt: skip


def read(
    path: Path, sources: tuple[Any, ...], seeds: tuple[Any, ...]
) -> tuple[Project, dict[str, list[Record]], list[Corner]]:
    message = json.loads(path.read_text())
    project = Project(sources, seeds, tuple(_value(model) for model in message["models"]))
    rows = {source.name: [] for source in sources}
    rows |= {
        name: [Record(_bytes(k), _bytes(v)) for k, v in pairs] for name, pairs in message["rows"].items()
    }
    return project, rows, [_corner(*corner) for corner in message["corners"]]


def _corner(*parts: Any) -> Corner:
    # JSON has no tuples.
    return Corner(*(tuple(part) if isinstance(part, list) else part for part in parts))


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        members = {
            f.name: _plain(getattr(value, f.name))
            for f in fields(value)
            if getattr(value, f.name) != f.default
        }
        return {"is": type(value).__name__, **members}
    return [_plain(member) for member in value] if isinstance(value, tuple) else value


def _value(message: Any) -> Any:
    match message:
        case {"is": name, **rest}:
            return getattr(shapes, name)(**{key: _value(value) for key, value in rest.items()})
        case list():
            return tuple(_value(member) for member in message)
    return message
