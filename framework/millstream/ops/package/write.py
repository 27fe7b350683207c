"""Writes a package: a folder, or one archive of it."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from msgspec import Struct
from packaging.utils import canonicalize_name

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.local.jars.cache import mark_verified, sha256_of
from millstream.ops.package.deployments import deployment_files
from millstream.ops.package.facts import PackageFacts
from millstream.ops.package.wheels import Wheel, write_wheel
from millstream.ops.package.workers import write_workers

Progress = Callable[[str, int, int], None]
SUMS = "SHA256SUMS"
ARCHIVE = ".tar"
_PROGRAMS = frozenset({"install", "start", "submit"})
_TIME = 946_684_800
"""The time of all entries of an archive: that of verified jars (`machine.jars.cache`)."""


class PackageContents(Struct, frozen=True):
    """What is packaged."""

    facts: PackageFacts
    files: Mapping[str, Path]
    """The project's files, by path."""
    distributions: tuple[metadata.Distribution, ...]
    jars: tuple[Path, ...]
    for_workers: frozenset[str] = frozenset()
    """The packages that a cluster's workers need; empty without a cluster."""
    modules: Mapping[str, Path] = {}
    """The project's own modules that its functions import, by path."""


class PackageResult(Struct, frozen=True):
    path: str
    identity: str
    """The start of the checksum of all files, by which images are tagged."""
    files: int
    packages: int
    jars: int
    bytes: int


def write_package(contents: PackageContents, to: Path, progress: Progress | None = None) -> PackageResult:
    """Write a package to a folder, or to an archive if the name ends in .tar; an earlier one is replaced."""
    _check_path(to)
    to.parent.mkdir(parents=True, exist_ok=True)
    with _temporary(to) as folder:
        identity = _fill(folder, contents, progress)
        size = sum(file.stat().st_size for file in _files(folder))
        if to.suffix == ARCHIVE:
            _archive(folder, to, contents.facts.name)
        else:
            if to.exists():
                shutil.rmtree(to)
            folder.rename(to)
    return PackageResult(
        str(to), identity, len(contents.files), len(contents.distributions), len(contents.jars), size
    )


def _check_path(to: Path) -> None:
    if to.suffix == ARCHIVE:
        reason = f"{to} is a folder" if to.is_dir() else ""
    elif to.is_dir():
        foreign = next((path.name for path in sorted(to.iterdir())), "") if not (to / SUMS).exists() else ""
        reason = f"{to} has files that are not of a package, such as {foreign}" if foreign else ""
    else:
        reason = f"{to} is a file" if to.exists() else ""
    if reason:
        raise MillstreamError(Diagnostic("MS665", reason, None, "choose another place with --to"))


@contextmanager
def _temporary(to: Path) -> Iterator[Path]:
    """Yield a folder on the same file system as the package."""
    above = Path(tempfile.mkdtemp(prefix=f".{to.name}.", dir=to.parent))
    try:
        folder = above / "package"
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(above, ignore_errors=True)


def _fill(folder: Path, contents: PackageContents, progress: Progress | None) -> str:
    """Write all files; return the identity of their content."""
    for path, source in contents.files.items():
        _copy(source, folder / "project" / path)
    for jar in contents.jars:
        _copy(jar, folder / "jars" / jar.name)
        mark_verified(folder / "jars" / jar.name)
    wheels = list(_wheels(contents.distributions, folder / "wheels", progress))
    _write(folder / "requirements.txt", "".join(f"{wheel.requirement}\n" for wheel in wheels))
    if contents.for_workers:
        files: dict[str, Path] = {
            canonicalize_name(wheel.package): folder / "wheels" / wheel.file for wheel in wheels
        }
        write_workers(folder, contents.for_workers, files, contents.modules)
    sums = _sums(folder)
    identity = sha256(sums.encode()).hexdigest()[:12]
    for path, text in deployment_files(contents.facts, identity).items():
        _write(folder / path, text, program=path in _PROGRAMS)
    _write(folder / SUMS, _sums(folder))
    return identity


def _wheels(
    distributions: Iterable[metadata.Distribution], folder: Path, progress: Progress | None
) -> Iterator[Wheel]:
    folder.mkdir()
    installed = tuple(distributions)
    for number, distribution in enumerate(installed):
        if progress:
            progress(f"{distribution.name} {distribution.version}", number, len(installed))
        yield write_wheel(distribution, folder)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _sums(folder: Path) -> str:
    """Return the checksums of all files, as `sha256sum --check` reads them."""
    files = [file for file in _files(folder) if file.name != SUMS or file.parent != folder]
    return "".join(f"{sha256_of(file)}  {file.relative_to(folder).as_posix()}\n" for file in files)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _write(file: Path, text: str, *, program: bool = False) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")
    file.chmod(0o755 if program else 0o644)


def _archive(folder: Path, to: Path, name: str) -> None:
    """Write an archive; its bytes depend on the content alone. Wheels and jars are compressed already."""
    temporary = folder.parent / "archive"
    with tarfile.open(temporary, "w", format=tarfile.PAX_FORMAT) as archive:
        for file in _files(folder):
            entry = tarfile.TarInfo(f"{name}/{file.relative_to(folder).as_posix()}")
            entry.size, entry.mtime = file.stat().st_size, _TIME
            entry.mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
            with file.open("rb") as stream:
                archive.addfile(entry, stream)
    temporary.replace(to)
