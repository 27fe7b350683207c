"""A build of a sink over a table that kills itself and its JVM when it sends records."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from support.runs import built

from millstream.engine.queries import deliveries


def main(root: str, model: str, moment: str) -> None:
    send = deliveries.write_records

    def killed(*arguments):
        if moment == "during":
            threading.Timer(0.2, die).start()
        elif moment == "before":
            die()
        send(*arguments)
        die()

    deliveries.write_records = killed
    built(Path(root), None, models=frozenset({f"model.{model}"}))


def die() -> None:
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
