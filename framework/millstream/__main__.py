"""The `millstream` command."""

import sys
from typing import NoReturn, TextIO


def main() -> NoReturn:
    try:
        for stream in (sys.stdout, sys.stderr):
            _never_refuse(stream)
        from millstream.cli.group import millstream

        sys.exit(millstream.main(prog_name="millstream"))
    except KeyboardInterrupt:
        # While modules are imported; later ones are told by `millstream.cli.failures`.
        sys.exit(130)


def _never_refuse(stream: TextIO) -> None:
    """Write what an old terminal's encoding lacks as an escape, where Python would raise an error."""
    if reconfigure := getattr(stream, "reconfigure", None):
        reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
