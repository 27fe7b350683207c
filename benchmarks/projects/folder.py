"""A project's files, written into a folder."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import cleandoc
from pathlib import Path

SCORES = Path(__file__).parents[2] / "macros/scores.py"

PROFILES = """
    benchmark:
      target: local
      outputs:
        local:
          master: local[*]
          kafka: embedded
        kafka:
          master: local[*]
          kafka: {bootstrap_servers: "{{ env_var('BOOTSTRAP', 'localhost:9092') }}"}
    """


def write_project(folder: Path | str, files: Mapping[str, str]) -> Path:
    """Write files by their paths; the broker is the embedded one, or with `--target kafka` that of BOOTSTRAP."""
    root = Path(folder)
    for path, text in (files | {"profiles.yml": PROFILES}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(cleandoc(text) + "\n", encoding="utf-8")
    return root
