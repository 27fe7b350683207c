"""The project of `by_hand.append`: all events of a topic in a table of the lake, with a folder for each day."""

from __future__ import annotations

from pathlib import Path

from projects.folder import write_project
from projects.stateless import FILES as STATELESS


def write(folder: Path | str) -> Path:
    return write_project(folder, FILES)


FILES = {
    "pyproject.toml": """
        [tool.millstream]
        name = "benchmark"
        """,
    "models/sources.yml": STATELESS["models/sources.yml"],
    "models/raw_events.sql": """
        {{ config(materialized='table', partition_by='day') }}
        select *, cast(event_time as date) as day from {{ source('shop', 'storefront_events') }}
        """,
}
