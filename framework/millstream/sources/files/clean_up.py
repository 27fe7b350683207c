"""Deletes or archives files that were read."""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from millstream.plan.durations import duration_millis
from millstream.project.folders import absolute_path, local_path
from millstream.project.values import Project, RowSource
from millstream.sources.files.positions import folder_of


def remove_read(source: RowSource, project: Project, read: Mapping[str, int]) -> int:
    """Remove files from a source's folder, and return how many.

    `read` has the time in milliseconds at which each was written when it was read. A file that was written
    again since then stays, as no query has read what it has now.
    """
    before = time.time() * 1000 - duration_millis(source.options.get("clean_up_after", "0 seconds"))
    removed = 0
    for path, written in sorted(read.items()):
        file = Path(path)
        try:
            unchanged = int(file.stat().st_mtime_ns // 1_000_000) == written
        except FileNotFoundError:
            continue
        if unchanged and written <= before:
            if source.options["clean_up"] == "archive":
                _archive(file, source, project)
            else:
                file.unlink(missing_ok=True)
            removed += 1
    return removed


def _archive(file: Path, source: RowSource, project: Project) -> None:
    """Move a file to the archive, below which it has the same path; one of that name there stays."""
    archive = local_path(absolute_path(source.options["archive_path"], Path(project.root)))
    assert archive is not None, "only folders of this machine are accepted"
    to = archive / file.relative_to(folder_of(source, project)[0])
    to.parent.mkdir(parents=True, exist_ok=True)
    names = (to if n == 0 else to.with_name(f"{to.stem}.{n}{to.suffix}") for n in count())
    to = next(name for name in names if not name.exists() or _is_copy(name, file))
    try:
        file.replace(to)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # On another file system, a copy has its name once it is whole, also if this is killed.
        part = to.with_name(f".{to.name}.part")
        shutil.copy2(file, part)
        part.replace(to)
        file.unlink(missing_ok=True)


def _is_copy(archived: Path, file: Path) -> bool:
    """Whether a file was copied to the archive, and not removed yet."""
    one, other = archived.stat(), file.stat()
    return (one.st_mtime_ns, one.st_size) == (other.st_mtime_ns, other.st_size)
