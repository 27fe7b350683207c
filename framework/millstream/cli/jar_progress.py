"""Progress of downloading jars: a bar on a terminal, a line elsewhere, nothing if quiet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from millstream.cli.output import OutputStyle, progress_console
from millstream.core.byte_sizes import size_in_words

Progress = Callable[[str, int, int], None]


@contextmanager
def jar_progress(style: OutputStyle) -> Iterator[Progress | None]:
    """Yield a callback for the bytes downloaded so far; nothing is shown before its first call."""
    if (screen := progress_console(style)) is None:
        yield None if style.json or style.quiet else _line()
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("Fetching jars", total=None, visible=False)
        yield lambda _, done, total: bar.update(task, completed=done, total=total, visible=True)


def _line() -> Progress:
    printed = False

    def report(_: str, done: int, total: int) -> None:  # noqa: ARG001
        nonlocal printed
        if not printed:
            click.echo(f"Fetching jars: {size_in_words(total)}", err=True)
            printed = True

    return report
