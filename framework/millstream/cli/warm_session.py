"""Lets a command borrow Spark from the warm session of its project."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def session_allowed(project_dir: Path | None, *, quiet: bool) -> Iterator[None]:
    """Let Spark be borrowed in the block, unless the project does not want it."""
    from millstream.local.warm_session.use import SessionUse, allow_session, forbid_session
    from millstream.project.settings import find_project, read_settings

    def root() -> Path:
        return project_dir.resolve() if project_dir else find_project(Path.cwd())

    def minutes() -> int:
        return read_settings(root())[0].session_minutes

    started: list[float] = []
    allow_session(SessionUse(root, minutes, started.append))
    try:
        yield
    finally:
        forbid_session()
        if started and not quiet:
            sys.stderr.write(
                f"Spark stays ready in the background for {started[0]:.0f} minutes; "
                "`millstream session stop` ends it.\n"
            )
