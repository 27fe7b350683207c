"""The names of the files in a folder, on this machine or in S3."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from millstream.project.secrets import Secret

S3 = "s3a://"
"""What addresses in S3 start with, as Hadoop writes them."""
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


def files_in(folder: str, pattern: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses of the files that Spark lists; of this machine, their paths.

    `pattern` has the names of folders or files below the folder; with none, all files are read.
    """
    in_s3 = folder.startswith(S3)
    for name in _names_in_s3(folder, settings) if in_s3 else _names_on_disk(Path(folder)):
        if _is_read(name.split("/"), pattern.split("/") if pattern else []):
            yield f"{folder}/{name}" if name else folder


def _names_on_disk(folder: Path) -> Iterator[str]:
    if folder.is_file():
        yield ""
    # Path.rglob leaves out folders that it may not read.
    for within, _, names in os.walk(folder, onerror=_raise_unless_gone):
        for path in (Path(within, name) for name in names):
            if path.is_file():
                yield path.relative_to(folder).as_posix()


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _names_in_s3(folder: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield names of objects; the login is that of the environment or the machine, as Spark's is."""
    from pyarrow.fs import FileSelector, FileType, S3FileSystem

    client = S3FileSystem(**_endpoint(settings))
    bucket_path = folder.removeprefix(S3)
    if client.get_file_info(bucket_path).type == FileType.File:
        yield ""
    for info in client.get_file_info(FileSelector(bucket_path, recursive=True, allow_not_found=True)):
        if info.type == FileType.File:
            yield info.path.removeprefix(f"{bucket_path}/")


def _endpoint(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return where S3 is, if it is not Amazon's: as the target says it to Spark, or in the environment."""
    option = (settings.get("spark") or {}).get("spark.hadoop.fs.s3a.endpoint")
    text = option.reveal() if isinstance(option, Secret) else option
    address = str(text or next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), ""))
    if not address:
        return {}
    parts = urlsplit(address if "://" in address else f"https://{address}")
    return {"endpoint_override": parts.netloc, "scheme": parts.scheme}


def _is_read(parts: list[str], pattern: list[str]) -> bool:
    """Whether names match, of which Spark leaves out some (HadoopFSUtils)."""
    matches = all(fnmatchcase(part, one) for part, one in zip(parts, pattern, strict=False))
    return matches and len(parts) >= len(pattern) and not any(map(_is_hidden, parts))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name.endswith("._COPYING_") or (name.startswith("_") and "=" not in name)
