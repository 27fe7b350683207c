"""The `millstream` command."""

import atexit
import os
import sys
import threading
from pathlib import Path
from typing import NoReturn, TextIO

_UNWRITTEN = 120
"""Python's exit code if it can't write the rest of its output."""


def main() -> NoReturn:
    _open_streams()
    from millstream.cli.registry import runs_in_session

    if runs_in_session(sys.argv[1:]):
        from millstream.local.warm_session.client import run_in_session

        if (code := run_in_session(sys.argv[1:])) is not None:
            sys.exit(code)
    run_here()


def run_here() -> NoReturn:
    """Run the command in this process, and end it."""
    try:
        for stream in (sys.stdout, sys.stderr):
            _escape_unencodable(stream)
        from millstream.cli.group import millstream

        code = millstream.main(prog_name="millstream")
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        # During imports; later interrupts are reported by `millstream.cli.failures`.
        sys.stderr.write("Interrupted.\n")
        code = 130
    _end(code if isinstance(code, int) else 0)


def _end(code: int) -> NoReturn:
    """End this process as Python does, but without its last step: to free all modules, one by one.

    That takes as long as a short command, above all in a process that a warm session has forked, whose memory
    is copied when it is written to. `multiprocessing` ends its forked processes in this way, too.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - there is no public way to do it earlier
    atexit._run_exitfuncs()  # noqa: SLF001 - the same
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or _UNWRITTEN
    os._exit(code)


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
