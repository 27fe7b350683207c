"""How the fetching of jars is shown: a bar on a terminal, a line elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from millstream.cli.output import OutputStyle, console

Progress = Callable[[str, int, int], None]


@contextmanager
def fetching(look: OutputStyle) -> Iterator[Progress | None]:
    """Yield what to call with the bytes that are here; nothing is shown before the first call."""
    if look.json or look.quiet:
        yield None
        return
    screen = console(look, sys.stderr)
    if not screen.is_terminal:
        yield _line()
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("Fetching jars", total=None, visible=False)
        yield lambda _, done, total: bar.update(task, completed=done, total=total, visible=True)


def _line() -> Progress:
    told = False

    def tell(_: str, done: int, total: int) -> None:  # noqa: ARG001
        nonlocal told
        if not told:
            click.echo(f"Fetching jars: {total / 1e6:,.1f} MB", err=True)
            told = True

    return tell
