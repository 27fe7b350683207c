"""Rounds for programs: a line of JSON for each event."""

from __future__ import annotations

import sys

from millstream.cli.dev.events import Event


class JsonLines:
    def show(self, _event: Event, line: bytes, /) -> None:
        sys.stdout.write(f"{line.decode().rstrip()}\n")
        sys.stdout.flush()
