"""Where results and diagnostics go: results to stdout, diagnostics to stderr, or all of it as one JSON document."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click
import msgspec
from msgspec import Struct

from millstream.errors import Diagnostic

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


class Look(Struct, frozen=True):
    """How the user wants to see things."""

    json: bool = False
    color: bool = True
    quiet: bool = False


def console(look: Look, file: TextIO) -> Console:
    """Return a console that leaves the user's texts alone: no markup, no emoji codes, no wrapping."""
    from rich.console import Console

    return Console(
        file=file,
        color_system="auto" if look.color else None,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=True,
    )


def finish(
    look: Look,
    diagnostics: Sequence[Diagnostic] = (),
    *,
    result: Mapping[str, Any] | None = None,
    text: str | RenderableType | None = None,
    models: int | None = None,
) -> int:
    """Show the diagnostics and, where there is no error, the result; return the exit code."""
    failed = any(found.severity == "error" for found in diagnostics)
    if look.json:
        from millstream.cli.diagnostics import as_data

        document = {"diagnostics": [as_data(found) for found in sorted(diagnostics, key=lambda d: d.order)]}
        print_json(document | dict(result or {}))
    else:
        show(look, diagnostics, models)
        if text is not None and not failed:
            click.echo(text) if isinstance(text, str) else console(look, sys.stdout).print(text)
    return 2 if failed else 0


def show(look: Look, diagnostics: Sequence[Diagnostic], models: int | None = None) -> None:
    """Print diagnostics to stderr, and their summary where models were looked at; when quiet, only the errors."""
    if look.quiet:
        diagnostics = [found for found in diagnostics if found.severity == "error"]
    if not diagnostics:
        return
    from rich.text import Text

    from millstream.cli.diagnostics import render, summary

    screen = console(look, sys.stderr)
    width = screen.width if screen.is_terminal else 200
    parts = [render(found, width) for found in sorted(diagnostics, key=lambda d: d.order)]
    if not look.quiet and models is not None:
        parts.append(Text(summary(diagnostics, models), "bold"))
    screen.print(Text("\n\n").join(parts))


def print_json(document: Any) -> None:
    """Print one document; what is no JSON (secrets, paths) as its text."""
    data = msgspec.json.format(msgspec.json.encode(document, enc_hook=str), indent=2)
    click.echo(data.decode())
