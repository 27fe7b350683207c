"""The `millstream` command."""

import gc
import os
import sys
from pathlib import Path
from typing import NoReturn, TextIO


def main() -> NoReturn:
    try:
        _open_streams()
        for stream in (sys.stdout, sys.stderr):
            _never_refuse(stream)
        from millstream.cli.group import millstream

        code = millstream.main(prog_name="millstream")
        # What is left ends with the process: a last search for cycles in it takes a second.
        gc.freeze()
        sys.exit(code)
    except KeyboardInterrupt:
        # While modules are imported; later ones are told by `millstream.cli.failures`.
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)


def _open_streams() -> None:
    """Let what is written to a closed stream (`>&-`) vanish; Python has None in its place."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open to the end


def _never_refuse(stream: TextIO) -> None:
    """Write what an old terminal's encoding lacks as an escape, where Python would raise an error."""
    if reconfigure := getattr(stream, "reconfigure", None):
        reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
