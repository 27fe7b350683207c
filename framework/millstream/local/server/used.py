"""The servers that a warm session uses, so that they run on between two commands of its project."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from millstream.local.locks import try_lock
from millstream.local.server.process import is_alive
from millstream.local.server.program import ServerProgram


class UsedServers:
    """Locks of `users.lock`, as commands hold them; this process has no other part in a server."""

    def __init__(self, root: Path, program_of: Callable[[str], ServerProgram]) -> None:
        self._root, self._program_of = root, program_of
        self._handles: dict[str, int] = {}

    def keep(self, name: str) -> None:
        """Use a server that runs, until `leave`."""
        folder = self._program_of(name).folder(self._root)
        if name in self._handles or not is_alive(folder):
            return
        handle = os.open(folder.users_lock, os.O_RDWR)
        if try_lock(handle, shared=True):
            self._handles[name] = handle
        else:
            os.close(handle)

    def leave(self, name: str) -> None:
        """Stop using a server, and stop it if no command uses it."""
        if (handle := self._handles.pop(name, None)) is not None:
            from millstream.local.server.shared import leave_server

            leave_server(self._program_of(name), self._root, handle)
            os.close(handle)

    def leave_all(self) -> None:
        for name in [*self._handles]:
            self.leave(name)

    def forget(self) -> None:
        """Close what a forked process has of them."""
        for handle in self._handles.values():
            os.close(handle)
        self._handles.clear()
