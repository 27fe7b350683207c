"""Files that are replaced as a whole: a reader sees the old content or the new one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_file(
    file: Path, content: bytes, *, mode: int | None = None, sync: bool = False, prefix: str = ""
) -> None:
    """Write a file that only its owner reads, unless `mode` says more.

    `sync` waits for the disk. Until the file is complete, its name begins with `prefix`.
    """
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=prefix or f".{file.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
