"""Reads what runs note next to the checkpoints of their queries."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec import Struct

from millstream.core.decoding import from_json
from millstream.project.folders import local_path

Figures = TypeVar("Figures", bound=Struct)
_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())


def figures_at(checkpoints: str, file: str, shape: type[Figures]) -> Iterator[tuple[str, Figures]]:
    """Yield the name of each query and its figures, if checkpoints are on this machine."""
    folder = local_path(checkpoints)
    for path in sorted(folder.glob(f"*/{file}")) if folder is not None else ():
        try:
            figures = from_json(path.read_bytes(), shape)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            _log.debug("%s is not used: %s", path, error)
            continue
        yield path.parent.name, figures
