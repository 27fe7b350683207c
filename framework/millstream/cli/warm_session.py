"""Lets a command borrow Spark from the warm session of its project."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.cli.options import CommonOptions


@contextmanager
def session_allowed(common: CommonOptions) -> Iterator[None]:
    """Let Spark be borrowed in the block, unless the project does not want it."""
    from millstream.cli.project import root_of
    from millstream.local.warm_session.use import SessionUse, allow_session, forbid_session
    from millstream.project.settings import read_settings

    def minutes() -> int:
        return read_settings(root_of(common))[0].session_minutes

    started: list[float] = []
    allow_session(SessionUse(lambda: root_of(common), minutes, started.append))
    try:
        yield
    finally:
        forbid_session()
        if started and not common.style.quiet and not common.style.json:
            sys.stderr.write(
                f"Spark stays ready in the background for {started[0]:.0f} minutes; "
                "`millstream session stop` ends it.\n"
            )
