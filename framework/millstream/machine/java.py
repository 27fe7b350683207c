"""Finds Java as Spark does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

from millstream.errors import Diagnostic, MillstreamError

OLDEST = 17
REMEDY = f"pipelines need Java {OLDEST} or newer: install it, for example from https://adoptium.net"


class Java(Struct, frozen=True):
    program: Path
    version: str
    major: int


def java() -> Java:
    """Return the Java of JAVA_HOME, or the one on the PATH; raise if it can't run pipelines."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if program is None:
        raise _unfit("MS801", f"not found {f'in JAVA_HOME ({home})' if home else 'on the PATH'}")
    try:
        result = subprocess.run(  # noqa: S603
            [program, "-version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unfit("MS803", f"{program} can't be run: {error}") from None
    version = java_version(result.stderr + result.stdout)
    if version is None:
        raise _unfit("MS803", f"{program} does not report a version")
    if version[0] < OLDEST:
        raise _unfit("MS802", f"{version[1]} at {program} is too old")
    return Java(Path(program), version[1], version[0])


def java_version(output: str) -> tuple[int, str] | None:
    """Return the major version and the full version; `1.8.0` is Java 8."""
    found = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', output)
    return (int(found.group(2)), found.group(1)) if found else None


def _unfit(code: str, message: str) -> MillstreamError:
    return MillstreamError(Diagnostic(code, f"Java: {message}", None, REMEDY))
