"""A Maven repository: https://, http:// or file://, from which a jar is read."""

from __future__ import annotations

import base64
import errno
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from urllib.parse import unquote, urlsplit, urlunsplit

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.local.jars.catalog import Jar

VARIABLE = "MILLSTREAM_MAVEN_REPOSITORY"
CENTRAL = "https://repo1.maven.org/maven2"
_TIMEOUT = 30.0
_CHUNK = 1 << 16
_PAUSES = (0.5, 2.0)
"""Seconds before the second and the third attempt."""
_TEMPORARY = {408, 429, 500, 502, 503, 504}


class Repository(Struct, frozen=True):
    """A Maven repository; `url` has no user and password, so that messages can show it."""

    url: str
    authorization: str = ""

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or self.url


def repository() -> Repository:
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
        return Repository(shown)
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Repository(shown, f"Basic {base64.b64encode(login.encode()).decode()}")


def read_jar(source: Repository, jar: Jar, arrived: Callable[[int], None]) -> bytes:
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


def _open(source: Repository, jar: Jar) -> HTTPResponse:
    request = urllib.request.Request(f"{source.url}/{jar.path}", headers={"User-Agent": "millstream"})  # noqa: S310 - the scheme was checked
    if source.authorization:
        # Don't send the login to a redirect's target.
        request.add_unredirected_header("Authorization", source.authorization)
    stream: HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT)  # noqa: S310
    return stream


def _is_final(error: Exception) -> bool:
    reason = getattr(error, "reason", error)
    return isinstance(reason, ssl.SSLCertVerificationError | FileNotFoundError | PermissionError)


def _refused(source: Repository, jar: Jar, error: urllib.error.HTTPError) -> MillstreamError:
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


def _unreachable(source: Repository, error: Exception) -> MillstreamError:
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
