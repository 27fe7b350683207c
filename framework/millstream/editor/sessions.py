"""The projects that an editor has open: each is compiled in the background after an edit."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Container, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from millstream.core.errors import Diagnostic
from millstream.editor.features.diagnostics import by_path
from millstream.editor.project import EditorProject, OpenProject, OutdatedError, absolute

_log = logging.getLogger(__name__)

DELAY = 0.02
"""Seconds after an edit until its check begins: those of one change to several files come together."""
PAUSE = 0.1
"""Seconds without an edit until the project is compiled, if the edited models were checked alone."""
PATIENCE = 1.0
"""Seconds after which a compile is finished although the files have changed since it began."""
_YIELDED = 0.1
"""Seconds that a compile waits at most for answers to requests."""


class Publisher(Protocol):
    """Shows diagnostics in the editor."""

    def publish(
        self,
        root: Path,
        diagnostics: Mapping[str, list[Diagnostic]],
        view: EditorProject | None,
        newer: Container[str],
    ) -> None:
        """Show the diagnostics of a project, but for files for which newer ones are shown."""

    def publish_file(self, root: Path, path: str, content: str, diagnostics: list[Diagnostic]) -> None: ...


class _Edit(NamedTuple):
    version: int
    content: bytes


class Session:
    """One project that is open: its unsaved contents, its last compile, and the next one."""

    def __init__(self, project: OpenProject, publisher: Publisher, pool: ThreadPoolExecutor) -> None:
        self.root = project.root
        self.unsaved: dict[str, bytes | None] = {}
        self.view: EditorProject | None = None
        """The last compile that could analyze the project."""
        self.ready = asyncio.Event()
        """The first compile has ended."""
        self.project = project
        self._publisher = publisher
        self._pool = pool
        self._version = 0
        self._compiled = 0
        self._last = time.monotonic()
        self._task: asyncio.Task[None] | None = None
        self._edits: dict[str, _Edit] = {}
        """Edits of files that are not checked yet; each is taken out by the thread that compiles."""
        self._checked: dict[str, int] = {}
        """The version of each file whose own diagnostics are newer than those of the last compile."""
        self._alone = True
        """All edits since the last compile are of models that were checked alone."""
        self._free = threading.Event()
        """No request is being answered."""
        self._free.set()

    def edit(self, path: str, content: str | None) -> None:
        """Note what an editor has of a file; None if the file on disk counts again."""
        key = absolute(self.root, path)
        if content is None:
            self.unsaved.pop(key, None)
            self._edits.pop(path, None)
            self.changed()
            return
        self.unsaved[key] = encoded = content.encode("utf-8", "replace")
        self._edits[path] = _Edit(self._version + 1, encoded)
        self._change()

    def changed(self) -> None:
        """Compile again soon."""
        self._alone = False
        self._change()

    def _change(self) -> None:
        self._version += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._compile())

    async def settled(self) -> None:
        """Wait until all edits are compiled."""
        while self._task is not None and not self._task.done():
            await asyncio.shield(self._task)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Let the compile wait: Python runs one thread at a time."""
        self._free.clear()
        try:
            yield
        finally:
            self._free.set()

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
            version = self._version
            await loop.run_in_executor(self._pool, self._check_edits, loop)
            if self._alone:
                await asyncio.sleep(PAUSE)
            if self._is_outdated(version):
                continue
            version, unsaved, self._alone = self._version, dict(self.unsaved), True
            try:
                view, diagnostics = await loop.run_in_executor(
                    self._pool, self.project.compile, unsaved, lambda v=version: self._between(v, loop)
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
            self._checked = {path: checked for path, checked in self._checked.items() if checked > version}
            self._publisher.publish(self.root, by_path(diagnostics), view, self._checked)

    def _is_outdated(self, version: int) -> bool:
        return self._version != version and time.monotonic() - self._last < PATIENCE

    # -- in the thread that compiles

    def _between(self, version: int, loop: asyncio.AbstractEventLoop) -> None:
        """Check what was edited meanwhile, and give up a compile of what the editor no longer has."""
        self._free.wait(_YIELDED)
        self._check_edits(loop)
        if self._is_outdated(version):
            raise OutdatedError

    def _check_edits(self, loop: asyncio.AbstractEventLoop) -> None:
        """Check an edited model alone, which shows its own errors before its readers are compiled."""
        if len(self._edits) > 1:  # as after a rename: alone, each would contradict the others
            self._edits.clear()
            self._alone = False
        while self._edits:
            path, edit = self._edits.popitem()
            try:
                diagnostics = self.project.check(path, edit.content)
            except Exception:  # noqa: BLE001 - as above; the compile that follows reports it
                _log.exception("%s could not be checked", path)
                diagnostics = None
            if diagnostics is None:
                self._alone = False
            else:
                loop.call_soon_threadsafe(self._show_checked, path, edit, diagnostics)

    def _show_checked(self, path: str, edit: _Edit, diagnostics: list[Diagnostic]) -> None:
        if edit.version > self._compiled:
            self._checked[path] = edit.version
            self._publisher.publish_file(self.root, path, edit.content.decode(), diagnostics)
