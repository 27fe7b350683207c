"""The projects that an editor has open: each is compiled in the background after an edit."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from millstream.core.errors import Diagnostic
from millstream.editor.features.diagnostics import by_path
from millstream.editor.project import EditorProject, OpenProject, OutdatedError, absolute

_log = logging.getLogger(__name__)

DELAY = 0.03
"""Seconds after an edit until its compile begins: those of one change to several files come together."""
PATIENCE = 0.5
"""Seconds after which a compile is finished although the files have changed since it began."""

Publish = Callable[[Path, dict[str, list[Diagnostic]], "EditorProject | None"], None]


class Session:
    """One project that is open: its unsaved contents, its last compile, and the next one."""

    def __init__(self, project: OpenProject, publish: Publish, pool: ThreadPoolExecutor) -> None:
        self.root = project.root
        self.unsaved: dict[str, bytes | None] = {}
        self.view: EditorProject | None = None
        """The last compile that could analyze the project."""
        self.ready = asyncio.Event()
        """The first compile has ended."""
        self.project = project
        self._publish = publish
        self._pool = pool
        self._version = 0
        self._compiled = 0
        self._last = time.monotonic()
        self._task: asyncio.Task[None] | None = None

    def edit(self, path: str, content: str | None) -> None:
        """Note what an editor has of a file; None if the file on disk counts again."""
        key = absolute(self.root, path)
        if content is None:
            self.unsaved.pop(key, None)
        else:
            self.unsaved[key] = content.encode("utf-8", "replace")
        self.changed()

    def changed(self) -> None:
        """Compile again soon."""
        self._version += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._compile())

    async def settled(self) -> None:
        """Wait until all edits are compiled."""
        while self._task is not None and not self._task.done():
            await asyncio.shield(self._task)

    def close(self) -> None:
        """Stop compiling; a compile that runs is given up."""
        self._version += 1
        self._last = time.monotonic() + 3600
        if self._task is not None:
            self._task.cancel()

    async def _compile(self) -> None:
        loop = asyncio.get_running_loop()
        while self._compiled != self._version:
            await asyncio.sleep(DELAY)
            version, unsaved = self._version, dict(self.unsaved)
            try:
                view, diagnostics = await loop.run_in_executor(
                    self._pool, self.project.compile, unsaved, self._outdated(version)
                )
            except OutdatedError:
                continue
            except Exception:  # noqa: BLE001 - the last resort of the server
                # An internal error goes to the log; the server answers from the last compile.
                _log.exception("%s could not be compiled", self.root)
                self._compiled = version
                self.ready.set()
                continue
            self._compiled, self._last = version, time.monotonic()
            self.view = view or self.view
            self.ready.set()
            self._publish(self.root, by_path(diagnostics), view)

    def _outdated(self, version: int) -> Callable[[], bool]:
        return lambda: self._version != version and time.monotonic() - self._last < PATIENCE
