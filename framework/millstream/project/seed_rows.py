"""The rows of a seed."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from millstream.project.values import Seed


def seed_texts(root: Path, seed: Seed) -> list[tuple[str | None, ...]]:
    return texts_of((root / seed.path).read_bytes(), seed)


def texts_of(content: bytes, seed: Seed) -> list[tuple[str | None, ...]]:
    """Return the fields of each row as written; an empty field is NULL."""
    rows = csv.reader(
        io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=seed.delimiter, strict=True
    )
    next(rows)
    return [tuple(field or None for field in row) for row in rows if row]
