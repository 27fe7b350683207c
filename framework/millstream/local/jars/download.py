"""Downloads jars into the cache, in parallel; each is verified before it gets its final name."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from pathlib import Path

from millstream.core.atomic import replace_file
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.local.jars.cache import is_good, mark_verified, not_writable
from millstream.local.jars.catalog import Jar
from millstream.local.jars.repository import VARIABLE, Repository, read_jar, repository

_PREFIX = ".fetching-"
_AT_ONCE = 4
_STALE = 86_400.0


class _Count:
    """The number of received bytes over all threads, and whether to stop."""

    def __init__(self) -> None:
        self.bytes = 0
        self.stopped = False
        self._lock = threading.Lock()

    def add(self, number: int) -> None:
        if self.stopped:
            raise CancelledError
        with self._lock:
            self.bytes += number


def download(jars: Sequence[Jar], folder: Path, progress: Callable[[int, int], None] | None) -> None:
    """Download jars; `progress` is called with the number of fetched bytes and the total."""
    source = repository()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder)
    except OSError as error:
        raise not_writable(folder, error) from None
    count, total = _Count(), sum(jar.size for jar in jars)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        # Large jars first, so that the last one does not take the longest.
        ordered = sorted(jars, key=lambda jar: -jar.size)
        waiting = {pool.submit(_download, source, jar, folder, count) for jar in ordered}
        try:
            while waiting:
                done, waiting = wait(waiting, 0.1, FIRST_EXCEPTION)
                for future in done:
                    future.result()
                if progress:
                    progress(min(count.bytes, total), total)
        except BaseException:
            count.stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _download(source: Repository, jar: Jar, folder: Path, count: _Count) -> None:
    content = read_jar(source, jar, count.add)
    if hashlib.sha256(content).hexdigest() != jar.sha256:
        message = f"{jar.coordinates} from {source.url} has a wrong checksum and was deleted"
        remedy = f"fetch it again; if that does not help, set another repository with {VARIABLE}"
        raise MillstreamError(Diagnostic("MS806", message, None, remedy))
    target = folder / jar.name
    try:
        replace_file(target, content, mode=0o644, prefix=_PREFIX)
        mark_verified(target)
    except OSError as error:
        # Windows can't replace a file that a JVM has open; another process may have fetched it.
        if not (isinstance(error, PermissionError) and is_good(jar, target)):
            raise not_writable(folder, error) from None


def _remove_stale(folder: Path) -> None:
    """Remove files of processes that were killed while they fetched."""
    for file in folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _STALE:
                file.unlink()
