"""The `millstream` command."""

import gc
import os
import sys
from pathlib import Path
from typing import NoReturn, TextIO


def main() -> NoReturn:
    _open_streams()
    from millstream.cli.registry import SESSION_COMMANDS

    if sys.argv[1:2] and sys.argv[1] in SESSION_COMMANDS:
        from millstream.local.warm_session.client import run_in_session

        if (code := run_in_session(sys.argv[1:])) is not None:
            sys.exit(code)
    run_here()


def run_here() -> NoReturn:
    """Run the command in this process."""
    try:
        for stream in (sys.stdout, sys.stderr):
            _escape_unencodable(stream)
        from millstream.cli.group import millstream

        code = millstream.main(prog_name="millstream")
        # The process is about to end: skip a last cyclic garbage collection, which takes a second.
        gc.freeze()
        sys.exit(code)
    except KeyboardInterrupt:
        # During imports; later interrupts are reported by `millstream.cli.failures`.
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)


def _open_streams() -> None:
    """Discard what is written to a closed stream (`>&-`), for which Python has None."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open until exit


def _escape_unencodable(stream: TextIO) -> None:
    """Write characters that the terminal's encoding lacks as escapes, instead of raising an error."""
    if reconfigure := getattr(stream, "reconfigure", None):
        reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
