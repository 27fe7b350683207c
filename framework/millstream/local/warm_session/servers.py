"""Lets the warm session of a project use its servers, so that they run on between two commands."""

from __future__ import annotations

from pathlib import Path

from millstream.local.warm_session.client import ask_session, connect
from millstream.local.warm_session.use import allowed_session


def keep_in_session(server: str, root: Path) -> None:
    """Keep a server running for the next command, if there is a session and this command may use it."""
    if allowed_session():
        _ask(root, {"kind": "keep", "server": server})


def leave_in_session(server: str, root: Path) -> None:
    _ask(root, {"kind": "leave", "server": server})


def _ask(root: Path, message: dict[str, str]) -> None:
    if connection := connect(root):
        with connection:
            ask_session(connection, message)
