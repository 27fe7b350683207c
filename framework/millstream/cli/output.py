"""Writes results to stdout and diagnostics to stderr, or both to stdout as one JSON document."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click
import msgspec
from msgspec import Struct

from millstream.cli.remedies import NO_OPTIONS, RepeatedOptions
from millstream.core.errors import Diagnostic
from millstream.core.text import DIRECTIONS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


Part = tuple[str, str]
"""A text, and its style as rich names it."""


class OutputStyle(Struct, frozen=True):
    """How output is written, from the options and the environment."""

    json: bool = False
    color: bool = True
    quiet: bool = False
    target: RepeatedOptions = NO_OPTIONS
    """The options of the command that name its target, for commands in remedies."""


def make_console(style: OutputStyle, file: TextIO, *, quiet: bool = False) -> Console:
    """Return a console that prints texts as they are: no markup, no emoji codes, no wrapping."""
    from rich.console import Console

    return Console(
        file=file,
        color_system="auto" if style.color else None,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=True,
        quiet=quiet,
    )


def progress_console(style: OutputStyle) -> Console | None:
    """Return the console for progress; None if it is not wanted, or stderr is not a terminal."""
    shows_progress = not (style.json or style.quiet) and _may_be_terminal(sys.stderr)
    screen = make_console(style, sys.stderr) if shows_progress else None
    return screen if screen is not None and screen.is_terminal else None


def terminal_width(style: OutputStyle, file: TextIO) -> int | None:
    """Return how many characters a line of a terminal has; None for other files."""
    screen = make_console(style, file) if _may_be_terminal(file) else None
    return screen.width if screen is not None and screen.is_terminal else None


def _may_be_terminal(file: TextIO) -> bool:
    """Whether rich may take a file for a terminal, without importing rich, which is slow."""
    return any(name in os.environ for name in ("FORCE_COLOR", "TTY_COMPATIBLE")) or file.isatty()


def ask_yes(question: str, *, elsewhere: bool = True) -> bool:
    """Ask on a terminal; return what the answer is elsewhere."""
    asks = sys.stdin.isatty() and sys.stderr.isatty()
    return click.confirm(question, err=True) if asks else elsewhere


def console_during_jvm_start(style: OutputStyle, *, quiet: bool) -> Console:
    """Return a console of the real stderr: while the JVM starts, stderr is a file that the JVM inherits."""
    file = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")
    return make_console(style, file, quiet=quiet)


def print_result(
    style: OutputStyle,
    diagnostics: Sequence[Diagnostic] = (),
    *,
    result: Mapping[str, Any] | None = None,
    text: str | Text | None = None,
    models: int | None = None,
) -> int:
    """Print diagnostics, and the result unless there are errors; return the exit code."""
    failed = any(diagnostic.severity == "error" for diagnostic in diagnostics)
    return _finish(style, diagnostics, result, None if failed else text, models, failed=failed)


def finish_despite_errors(
    style: OutputStyle,
    diagnostics: Sequence[Diagnostic],
    *,
    result: Mapping[str, Any],
    text: str | Text | None,
    models: int,
    failed: bool,
) -> int:
    """Print diagnostics and the result; `failed` says whether one of the errors concerns the result."""
    return _finish(style, diagnostics, result, text, models, failed=failed)


def _finish(
    style: OutputStyle,
    diagnostics: Sequence[Diagnostic],
    result: Mapping[str, Any] | None,
    text: str | Text | None,
    models: int | None,
    *,
    failed: bool,
) -> int:
    if style.json:
        from millstream.cli.diagnostics import as_data

        document = {
            "diagnostics": [
                as_data(diagnostic, style.target) for diagnostic in sorted(diagnostics, key=lambda d: d.order)
            ]
        }
        print_json(document | dict(result or {}))
    else:
        show_diagnostics(style, diagnostics, models)
        if text is not None:
            print_text(style, text, sys.stdout)
    return 2 if failed else 0


def show_diagnostics(
    style: OutputStyle, diagnostics: Sequence[Diagnostic], models: int | None = None
) -> None:
    """Print diagnostics to stderr, with a summary if `models` is given; if quiet, only errors."""
    if style.quiet:
        diagnostics = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if not diagnostics:
        return
    from rich.text import Text

    from millstream.cli.diagnostics import first_warnings, render_diagnostic, summarize_diagnostics

    width = terminal_width(style, sys.stderr) or 200
    some, left_out = first_warnings(sorted(diagnostics, key=lambda d: d.order))
    parts = [render_diagnostic(diagnostic, width, style.target) for diagnostic in some]
    parts += [Text(line, "bold yellow") for line in left_out]
    if not style.quiet and models is not None:
        parts.append(Text(summarize_diagnostics(diagnostics, models), "bold"))
    print_text(style, Text("\n\n").join(parts), sys.stderr)


def print_text(style: OutputStyle, text: str | Text, file: TextIO) -> None:
    """Print a text, with its colors on a terminal; elsewhere without rich, which is slow."""
    screen = make_console(style, file) if not isinstance(text, str) and _may_be_terminal(file) else None
    if screen is not None and screen.color_system:
        screen.print(text)
    else:
        click.echo(str(text), file=file)


def say_parts(style: OutputStyle, parts: Sequence[Part], file: TextIO) -> None:
    """Print texts in their styles on a terminal; elsewhere without rich."""
    if not _may_be_terminal(file):
        print_text(style, "".join(text for text, _ in parts), file)
        return
    from rich.text import Text

    print_text(style, Text.assemble(*parts), file)


def terminal_escaper(file: TextIO) -> Callable[[str], str]:
    """Return what makes lines for programs harmless on a terminal, which obeys control characters."""
    return (lambda text: text.translate(_SHOWN)) if file.isatty() else str


def print_json(document: Any) -> None:
    """Print one document; values that JSON lacks (secrets, paths) are printed as text."""
    try:
        data = msgspec.json.encode(document, enc_hook=str)
    except UnicodeEncodeError:
        # Python decodes arguments that are not UTF-8 to lone surrogates, which JSON can't hold.
        plain = msgspec.to_builtins(document, enc_hook=_plain)
        data = json.dumps(plain, ensure_ascii=False).encode(errors="replace")
    # JSON escapes control characters below 32 only; a terminal obeys those from 128 to 159, too.
    click.echo(msgspec.json.format(data, indent=2).decode().translate(_ESCAPES))


def _plain(value: Any) -> str:
    return bytes(value).decode() if isinstance(value, msgspec.Raw) else str(value)


_SHOWN = {code: f"\\x{code:02x}" for code in (*range(32), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
_SHOWN |= DIRECTIONS
_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)} | DIRECTIONS
