"""Records of the example's own generators."""

from __future__ import annotations

import runpy
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[3]
BEFORE_THE_HOUR = datetime(2026, 1, 1, 11, 55, tzinfo=timezone.utc)
"""So that some ten thousand events fall into two windows of an hour."""


def generated(count: int, seed: int = 1, now: datetime = BEFORE_THE_HOUR) -> dict[str, list[tuple[Any, Any]]]:
    """Return as many records of each topic; equal arguments give equal records."""
    records = {}
    for file in ("seeds/traffic.py", "seeds/reference_data.py"):
        for name, function in runpy.run_path(str(ROOT / file)).items():
            if not name.startswith("_") and getattr(function, "__module__", None) == "<run_path>":
                records[name] = list(islice(function(Random(seed), now), count))
    return records
