"""Finds Java as Spark does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from glob import glob
from pathlib import Path

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.local.environment import for_java

OLDEST = 17
REMEDY = f"pipelines need Java {OLDEST} or newer: install it, for example from https://adoptium.net"


_HOMES = (
    "/usr/lib/jvm/*",
    "/opt/java/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
"""Where systems and tools install Java."""


class JavaInstallation(Struct, frozen=True):
    program: Path
    version: str
    major: int


def check_folder(folder: Path) -> None:
    """Raise if Java and its start scripts can't open files in a folder."""
    name = str(folder)
    if "\n" in name or os.fsencode(folder) != name.encode(errors="replace"):
        message = f"Java can't use the folder {name}: a line break, or bytes that are not UTF-8"
        raise MillstreamError(Diagnostic("MS820", message, None, "rename the folder"))


def find_java() -> JavaInstallation:
    """Return the Java of JAVA_HOME, or the one on the PATH; raise if it can't run pipelines."""
    program = java_program()
    if program is None:
        home = os.environ.get("JAVA_HOME")
        raise _unfit("MS801", f"not found {f'in JAVA_HOME ({home})' if home else 'on the PATH'}")
    try:
        result = subprocess.run(  # noqa: S603
            [str(program), "-version"],
            env=for_java(os.environ),
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unfit("MS803", f"{program} can't be run: {error}") from None
    version = java_version(result.stderr + result.stdout)
    if version is None:
        raise _unfit("MS803", f"{program} does not report a version")
    if version[0] < OLDEST:
        raise _unfit("MS802", f"{version[1]} at {program} is too old")
    return JavaInstallation(program, version[1], version[0])


def java_program() -> Path | None:
    """Return the `java` of JAVA_HOME, or the one on the PATH, as far as there is one."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    return Path(program) if program else None


def newest_java(oldest: int) -> JavaInstallation | None:
    """Return Spark's Java if it is new enough, or else the newest one that is installed."""
    try:
        default = find_java()
    except MillstreamError:
        default = None
    if default is not None and default.major >= oldest:
        return default
    homes = [Path(home) for pattern in _HOMES for home in glob(str(Path(pattern).expanduser()))]  # noqa: PTH207
    candidates = [candidate for home in homes if (candidate := _of_home(home)) and candidate.major >= oldest]
    return max(candidates, key=lambda candidate: candidate.major, default=None)


def _of_home(home: Path) -> JavaInstallation | None:
    """Return the Java of a folder, from the file in which every release names its version."""
    program = home / "bin" / "java"
    try:
        lines = (home / "release").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    version_line = next((line for line in lines if line.startswith("JAVA_VERSION=")), "")
    version = java_version(f'version "{version_line.partition("=")[2].strip(chr(34))}"')
    return JavaInstallation(program, version[1], version[0]) if version and program.exists() else None


def java_version(output: str) -> tuple[int, str] | None:
    """Return the major version and the full version; `1.8.0` is Java 8."""
    match = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', output)
    return (int(match.group(2)), match.group(1)) if match else None


def _unfit(code: str, message: str) -> MillstreamError:
    named = ", and set JAVA_HOME to its folder" if "JAVA_HOME" in os.environ else ""
    return MillstreamError(Diagnostic(code, f"Java: {message}", None, REMEDY + named))
