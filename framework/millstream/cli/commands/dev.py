"""`millstream dev`."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.project import root_of
from millstream.core.errors import Diagnostic, MillstreamError

if TYPE_CHECKING:
    from millstream.cli.dev.process import RoundOptions


@cli_command("dev", "millstream dev", "millstream dev --sample 200 --limit 3", "millstream dev --output json")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Compute models from the newest N records of each topic and N rows of each other source.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Show at most this many rows, and rows that differ, of a model.",
)
@click.option("--once", is_flag=True, help="Do one round, compared with the last one, and end.")
@click.option("--first", is_flag=True, hidden=True)
def command(
    common: CommonOptions,
    *,
    sample: int,
    limit: int,
    once: bool,
    first: bool,
) -> int:
    """Show what each edit does, as soon as a file is saved.

    Each round compiles the project, says which queries the edit rebuilds, runs the unit tests of the models
    that changed, and computes these models over a sample of their inputs, with the difference to the rows
    before. Nothing is built or written. With `--output json`, each event is a line.
    """
    from millstream.cli.dev.process import RoundOptions

    options = RoundOptions(sample, limit, first)
    root = root_of(common)
    return _one_round(common, root, options) if once else _watch(common, root, options)


def _one_round(common: CommonOptions, root: Path, options: RoundOptions) -> int:
    from millstream.cli.dev.events import Event, to_line
    from millstream.cli.dev.json_lines import JsonLines
    from millstream.cli.dev.round import Round
    from millstream.cli.dev.terminal import Terminal
    from millstream.cli.signals import ending_well

    renderer = JsonLines() if common.style.json else Terminal(common.style, root.name)

    def tell(event: Event) -> None:
        renderer.show(event, to_line(event).encode())

    with ending_well():
        return Round(common, root, options, tell).run()


def _watch(common: CommonOptions, root: Path, options: RoundOptions) -> int:
    try:
        from millstream.cli.dev.watch import saved_files
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "watchfiles":
            raise
        message = "`millstream dev` needs the package watchfiles"
        remedy = "install it: pip install 'millstream[dev]'"
        raise MillstreamError(Diagnostic("MS714", message, None, remedy)) from None
    from millstream.cli.dev.json_lines import JsonLines
    from millstream.cli.dev.loop import DevLoop
    from millstream.cli.dev.process import rounds_of
    from millstream.cli.dev.terminal import Terminal
    from millstream.cli.signals import interrupt_on_signals

    renderer = JsonLines() if common.style.json else Terminal(common.style, root.name)
    stop = threading.Event()
    loop = DevLoop(rounds_of(common, root, options), renderer)
    try:
        with interrupt_on_signals():
            loop.watch(saved_files(root.resolve(), (common.profiles_dir or root).resolve(), stop))
            loop.run()
    except KeyboardInterrupt:
        return 0
    finally:
        stop.set()
    return 0
