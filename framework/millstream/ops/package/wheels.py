"""Makes wheels from installed packages, so that none has to be downloaded.

Each file must still have the checksum with which it was installed. Equal packages give equal wheels.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from email.parser import Parser
from importlib import metadata
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from msgspec import Struct
from packaging.utils import canonicalize_name

import millstream
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.local.jars.cache import sha256_of
from millstream.ops.package.requirements import MILLSTREAM

_EPOCH = (1980, 1, 1, 0, 0, 0)
_COMPRESSED = frozenset({".jar", ".whl", ".zip", ".gz", ".png"})
_OF_INSTALLERS = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"})
_REINSTALL = "install it again, such as by `uv sync --no-editable --reinstall-package {name}`"
_FILE, _PROGRAM = 0o100644, 0o100755
"""Modes of regular files: installers ignore the permissions of entries that don't say what they are."""
_FAST = 1
"""Better compression would take four times as long, and save a twentieth."""


class Wheel(Struct, frozen=True):
    package: str
    version: str
    file: str
    sha256: str

    @property
    def requirement(self) -> str:
        """Return it as a line of requirements.txt."""
        return f"{self.package}=={self.version} --hash=sha256:{self.sha256}"


class _Content(Struct, frozen=True):
    """One file, by its name in the wheel."""

    name: str
    path: Path
    digest: str = ""
    """Its SHA-256 as RECORD has it; empty if RECORD has none."""


def write_wheel(distribution: metadata.Distribution, folder: Path) -> Wheel:
    # Each access to these parses all metadata.
    package, version = distribution.name, distribution.version
    base = f"{canonicalize_name(package).replace('-', '_')}-{version}"
    file = folder / f"{base}-{_tags(distribution)}.whl"
    record = []
    with ZipFile(file, "w") as archive:
        for content in sorted(_contents(distribution), key=lambda content: content.name):
            digest, size = _write(archive, content, package)
            record.append(f"{_quoted(content.name)},sha256={digest},{size}")
        record_name = f"{_info_folder(distribution)}/RECORD"
        entry = ZipInfo(record_name, _EPOCH)
        entry.external_attr = _FILE << 16
        archive.writestr(entry, "\n".join([*record, f"{record_name},,", ""]))
    return Wheel(package, version, file.name, sha256_of(file))


def _write(archive: ZipFile, content: _Content, package: str) -> tuple[str, int]:
    """Write a file, and return its checksum as RECORD writes it, and its size."""
    entry = ZipInfo(content.name, _EPOCH)
    entry.external_attr = (_PROGRAM if content.path.stat().st_mode & 0o111 else _FILE) << 16
    data = content.path.read_bytes()
    digest = hashlib.sha256(data).digest()
    if content.digest and digest != urlsafe_b64decode(f"{content.digest}=="):
        message = f"{content.path} was changed since {package} was installed"
        remedy = _REINSTALL.format(name=package)
        raise MillstreamError(Diagnostic("MS664", message, None, remedy))
    compression = ZIP_STORED if content.path.suffix in _COMPRESSED else ZIP_DEFLATED
    archive.writestr(entry, data, compression, _FAST)
    return urlsafe_b64encode(digest).decode().rstrip("="), len(data)


def _contents(distribution: metadata.Distribution) -> Iterator[_Content]:
    """Yield the files of an installed package, by their names in a wheel."""
    info = _info_folder(distribution)
    scripts = _generated_scripts(distribution)
    editable = _is_editable(distribution)
    if editable:
        yield from _own_files(distribution)
    for file in _installed_files(distribution):
        name, path = file.as_posix(), Path(str(distribution.locate_file(file)))
        if name.endswith(".pyc") or (name.startswith(f"{info}/") and file.name in _OF_INSTALLERS):
            continue
        if name.startswith("../"):
            # Outside of site-packages: in bin/ and share/ of the environment.
            outside = name.lstrip("./")
            folder, _, rest = outside.partition("/")
            if folder in {"bin", "Scripts"} and rest in scripts:
                continue
            kind = ("scripts", rest) if folder in {"bin", "Scripts"} else ("data", outside)
            name = f"{info.removesuffix('.dist-info')}.data/{kind[0]}/{kind[1]}"
        elif editable and not name.startswith(f"{info}/"):
            continue
        # An installer rewrites the first line of scripts, so RECORD has another checksum than the wheel.
        yield _Content(name, path, file.hash.value if file.hash else "")


def _installed_files(distribution: metadata.Distribution) -> Iterable[metadata.PackagePath]:
    if (files := distribution.files) is None:
        message = f"the files of the package {distribution.name} are not known: it has no RECORD"
        remedy = _REINSTALL.format(name=distribution.name)
        raise MillstreamError(Diagnostic("MS664", message, None, remedy))
    return files


def _own_files(distribution: metadata.Distribution) -> Iterator[_Content]:
    """Yield the files of Millstream itself, if it is installed from its sources without a copy."""
    if canonicalize_name(distribution.name) != MILLSTREAM:
        message = f"the package {distribution.name} is installed in editable mode"
        remedy = (
            f"install a copy of it: `uv sync --no-editable`, or `pip install` without -e {distribution.name}"
        )
        raise MillstreamError(Diagnostic("MS664", message, None, remedy))
    folder = Path(millstream.__file__).parent
    for file in folder.rglob("*"):
        if file.is_file() and file.suffix != ".pyc":
            yield _Content(f"{MILLSTREAM}/{file.relative_to(folder).as_posix()}", file)


def _is_editable(distribution: metadata.Distribution) -> bool:
    text = distribution.read_text("direct_url.json")
    return bool(text and json.loads(text).get("dir_info", {}).get("editable"))


def _info_folder(distribution: metadata.Distribution) -> str:
    """Return the name of the folder with its metadata."""
    return next(
        (file.parts[0] for file in distribution.files or () if file.parts[0].endswith(".dist-info")),
        f"{canonicalize_name(distribution.name).replace('-', '_')}-{distribution.version}.dist-info",
    )


def _generated_scripts(distribution: metadata.Distribution) -> frozenset[str]:
    """Return the programs that installers generate for entry points."""
    parser = ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(distribution.read_text("entry_points.txt") or "")
    sections = (section for section in ("console_scripts", "gui_scripts") if parser.has_section(section))
    names = {name for section in sections for name in parser[section]}
    return frozenset(names | {f"{name}.exe" for name in names})


def _tags(distribution: metadata.Distribution) -> str:
    """Return the tags of a wheel's file name: py3-none-any, with '.' between alternatives."""
    text = distribution.read_text("WHEEL") or "Tag: py3-none-any"
    tags = [tag.split("-") for tag in Parser().parsestr(text).get_all("Tag") or ["py3-none-any"]]
    return "-".join(".".join(dict.fromkeys(parts)) for parts in zip(*tags, strict=True))


def _quoted(name: str) -> str:
    return f'"{name}"' if "," in name or '"' in name else name
