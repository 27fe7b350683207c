"""Whether this process may use a warm session, and which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from millstream.local.warm_session.address import is_switched_off


class SessionUse(NamedTuple):
    find_root: Callable[[], Path]
    minutes: Callable[[], float]
    """How long a session waits for the next command."""
    on_start: Callable[[float], None]
    """Says that a session was started, which waits so many minutes."""


_uses: list[SessionUse] = []


def allow_session(use: SessionUse) -> None:
    _uses[:] = [use]


def forbid_session() -> None:
    _uses.clear()


def allowed_session() -> SessionUse | None:
    """Return the session that Spark may be borrowed from in this process."""
    return None if is_switched_off() or not _uses else _uses[0]
