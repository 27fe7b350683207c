"""Downloads jars into the cache, in parallel; each is verified before it gets its final name."""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import os
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from msgspec import Struct

from millstream.core.atomic import replace_file
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.local.jars.cache import is_good, mark_verified, not_writable
from millstream.local.jars.catalog import Jar

VARIABLE = "MILLSTREAM_MAVEN_REPOSITORY"
CENTRAL = "https://repo1.maven.org/maven2"
_TIMEOUT = 30.0
_CHUNK = 1 << 16
_PAUSES = (0.5, 2.0)
"""Seconds before the second and the third attempt."""
_TEMPORARY = {408, 429, 500, 502, 503, 504}


class MavenRepository(Struct, frozen=True):
    """A Maven repository; `url` has no user and password, so that messages can show it."""

    url: str
    authorization: str = ""

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or self.url


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


def download_jars(jars: Sequence[Jar], folder: Path, progress: Callable[[int, int], None] | None) -> None:
    """Download jars; `progress` is called with the number of fetched bytes and the total."""
    source = maven_repository()
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


def _download(source: MavenRepository, jar: Jar, folder: Path, count: _Count) -> None:
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


def maven_repository() -> MavenRepository:
    """Return the mirror from the environment, or Maven Central."""
    address = os.environ.get(VARIABLE) or CENTRAL
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        is_valid = (parts.scheme in {"http", "https"} and bool(parts.hostname)) or parts.scheme == "file"
        shown = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    except ValueError:
        is_valid, shown = False, address.rpartition("@")[2]
    if not is_valid:
        message = f"{VARIABLE} is not a valid address: '{shown}'"
        remedy = "write the address of a Maven repository: https://…, http://… or file:///…"
        raise MillstreamError(Diagnostic("MS808", message, None, remedy))
    if parts.username is None:
        return MavenRepository(shown)
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return MavenRepository(shown, f"Basic {base64.b64encode(login.encode()).decode()}")


def read_jar(source: MavenRepository, jar: Jar, arrived: Callable[[int], None]) -> bytes:
    """Return the content of the jar; if the connection fails, try again from the start."""
    for pause in (*_PAUSES, None):
        content = bytearray()
        try:
            with _open(source, jar) as stream:
                while len(content) <= jar.size and (chunk := stream.read(_CHUNK)):
                    content += chunk
                    arrived(len(chunk))
                if len(content) < min(jar.size, int(stream.headers.get("Content-Length", 0))):
                    raise ConnectionResetError(errno.ECONNRESET, "the connection was closed")
            return bytes(content)
        except urllib.error.HTTPError as error:
            with error:
                if error.code not in _TEMPORARY or pause is None:
                    raise _refused(source, jar, error) from None
        except (OSError, HTTPException) as error:
            if pause is None or _is_final(error):
                raise _unreachable(source, error) from None
        arrived(-len(content))
        time.sleep(pause)
    raise AssertionError("the last try returns or raises")


def _open(source: MavenRepository, jar: Jar) -> HTTPResponse:
    request = urllib.request.Request(f"{source.url}/{jar.path}", headers={"User-Agent": "millstream"})  # noqa: S310 - the scheme was checked
    if source.authorization:
        # Don't send the login to a redirect's target.
        request.add_unredirected_header("Authorization", source.authorization)
    stream: HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT)  # noqa: S310
    return stream


def _is_final(error: Exception) -> bool:
    reason = getattr(error, "reason", error)
    return isinstance(reason, ssl.SSLCertVerificationError | FileNotFoundError | PermissionError)


def _refused(source: MavenRepository, jar: Jar, error: urllib.error.HTTPError) -> MillstreamError:
    if error.code in {404, 410}:
        message = f"{source.url} does not have {jar.coordinates}"
        remedy = f"add it to the mirror, or set another repository with {VARIABLE}"
    elif error.code in {401, 403, 407}:
        message = f"{source.url} refuses {jar.coordinates}: HTTP {error.code}"
        remedy = f"add the login to {VARIABLE}: https://user:password@host/…"
    else:
        message = f"{source.url} answers HTTP {error.code} for {jar.coordinates}"
        remedy = f"try again later, or set another repository with {VARIABLE}"
    return MillstreamError(Diagnostic("MS805", message, None, remedy))


def _unreachable(source: MavenRepository, error: Exception) -> MillstreamError:
    reason = getattr(error, "reason", error)
    if isinstance(reason, FileNotFoundError):
        cause = f"{reason.filename or 'the file'} does not exist"
    elif isinstance(reason, TimeoutError):
        cause = "it does not answer"
    else:
        cause = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    message = f"can't fetch jars from {source.host}: {cause}"
    remedy = (
        f"connect to the network, or set a mirror that is reachable with {VARIABLE}; "
        "`millstream debug --fetch` fetches all jars in advance, for work without a network"
    )
    return MillstreamError(Diagnostic("MS804", message, None, remedy))
