"""The rows of a seed."""

from __future__ import annotations

import csv
from pathlib import Path

from millstream.project.values import Seed


def seed_texts(root: Path, seed: Seed) -> list[tuple[str | None, ...]]:
    """Return the fields of each row as written; an empty field is NULL."""
    with (root / seed.path).open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=seed.delimiter, strict=True)
        next(rows)
        return [tuple(field or None for field in row) for row in rows if row]
