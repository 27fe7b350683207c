"""Java, found as Spark finds it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

from millstream.errors import Diagnostic, MillstreamError

OLDEST = 17
REMEDY = f"running pipelines needs Java {OLDEST} or newer: install one, such as https://adoptium.net"


class Java(Struct, frozen=True):
    program: Path
    version: str
    major: int


def java() -> Java:
    """Return the Java of JAVA_HOME, else the one on the PATH; raise where it can't run pipelines."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if program is None:
        raise _unfit("MS801", f"not found {f'in JAVA_HOME ({home})' if home else 'on the PATH'}")
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=20, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unfit("MS803", f"{program} can't be run: {error}") from None
    version = java_version(said.stderr + said.stdout)
    if version is None:
        raise _unfit("MS803", f"{program} tells no version")
    if version[0] < OLDEST:
        raise _unfit("MS802", f"{version[1]} at {program} is too old")
    return Java(Path(program), version[1], version[0])


def java_version(said: str) -> tuple[int, str] | None:
    """Return the major version and the whole one; `1.8.0` is Java 8."""
    found = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', said)
    return (int(found.group(2)), found.group(1)) if found else None


def _unfit(code: str, message: str) -> MillstreamError:
    return MillstreamError(Diagnostic(code, f"Java: {message}", None, REMEDY))
