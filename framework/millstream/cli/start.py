"""Starts a command in a package: `python -m millstream.cli.start`, as the package's `start` does."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from millstream.__main__ import main as millstream
from millstream.cli.failures import run_guarded
from millstream.core.errors import reporting_os_errors

_RUN = ("run", "--host", "0.0.0.0")  # noqa: S104 - probes come from other machines


def main() -> NoReturn:
    package = Path(os.environ["MILLSTREAM_PACKAGE"])
    if code := run_guarded(lambda: _prepare(package), sys.argv[1:]):
        sys.exit(code)
    if not sys.argv[1:]:
        sys.argv += _RUN
    millstream()


def _prepare(package: Path) -> int:
    from millstream.ops.package.copying import copy_project

    work = Path(os.environ.get("MILLSTREAM_WORK") or package / "work")
    remedy = "name a folder that can be written with MILLSTREAM_WORK"
    with reporting_os_errors("MS668", f"the project can't be copied to {work}", remedy):
        root = copy_project(package, work)
        os.chdir(root)
    os.environ.setdefault("MILLSTREAM_CACHE_DIR", str(package))
    return 0


if __name__ == "__main__":
    main()
