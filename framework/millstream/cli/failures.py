"""What went wrong outside a command's own doing becomes a diagnostic and an exit code."""

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from millstream.cli.registry import COMMANDS

if TYPE_CHECKING:
    from millstream.errors import Diagnostic

INTERRUPTED = 130
_EXHAUSTED = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE}
"""What the machine may refuse anywhere, through nobody's mistake in a program."""


def guarded(run: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; nothing but `SystemExit` is raised."""
    try:
        result = run()
    except click.Abort:
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        return _report(_usage(error), arguments)
    except Exception as error:  # noqa: BLE001 - the last resort of the whole program
        return _unexpected(error, arguments)
    return result if isinstance(result, int) else 0


def _unexpected(error: Exception, arguments: Sequence[str]) -> int:
    from millstream.errors import Diagnostic, MillstreamError

    if isinstance(error, MillstreamError):
        return _report(error.diagnostics, arguments)
    if os.environ.get("MILLSTREAM_TRACEBACK"):
        traceback.print_exception(error)
    if isinstance(error, OSError) and error.errno in _EXHAUSTED:
        reason = os.strerror(error.errno).lower() + (f": {error.filename}" if error.filename else "")
        remedy = "make room, or write somewhere else"
        return _report((Diagnostic("MS706", f"the system refused: {reason}", None, remedy),), arguments)
    said = " ".join(str(error).split())
    message = f"this is a mistake in Millstream, sorry: {type(error).__name__}: {said[:300]}"
    remedy = "run it again with MILLSTREAM_TRACEBACK=1 to see the traceback, and report it"
    return _report((Diagnostic("MS900", message.rstrip(": "), None, remedy),), arguments)


def _report(diagnostics: "Sequence[Diagnostic]", arguments: Sequence[str]) -> int:
    from millstream.cli.output import OutputStyle, finish

    try:
        code = finish(OutputStyle(*look_of(arguments)), diagnostics)
        sys.stdout.flush()
    except OSError:
        # Nothing can be told where it was asked for: one line where that is possible, and the exit code.
        code = 2
        with contextlib.suppress(OSError):
            click.echo(f"{diagnostics[0].code}: {diagnostics[0].message}", err=True)
        _discard_rest()
    return code


def _discard_rest() -> None:
    """Keep Python from failing once more at its exit, with what it could not write before."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def look_of(arguments: Sequence[str]) -> tuple[bool, bool, bool]:
    """Tell json, colour and quiet from arguments that could not be parsed."""
    json = any(
        (name in {"--output", "--format"} and value == "json") or name in {"--output=json", "--format=json"}
        for name, value in pairwise([*arguments, ""])
    )
    color = "--no-color" not in arguments and not os.environ.get("NO_COLOR")
    return json, color, "--quiet" in arguments or "-q" in arguments


def _usage(error: click.ClickException) -> "tuple[Diagnostic]":
    from millstream.errors import Diagnostic, did_you_mean

    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "millstream"
    see = f"see `{path} --help`"
    message = error.format_message()
    remedy = see
    if unknown := getattr(error, "unknown_command", None):
        remedy = did_you_mean(unknown, [entry.name for entry in COMMANDS], see)
    elif isinstance(error, click.NoSuchOption):
        message = f"there is no option '{error.option_name}' of `{path}`"
        remedy = _option_remedy(error, context, see)
    message = message[0].lower() + message[1:].rstrip(".")
    return (Diagnostic("MS701", message, None, remedy),)


def _option_remedy(error: click.NoSuchOption, context: click.Context | None, see: str) -> str:
    from millstream.errors import did_you_mean

    if context and isinstance(context.command, click.Group) and _is_common(error.option_name):
        return f"write it after the command: `{context.command_path} compile {error.option_name} …`"
    known = [name for parameter in context.command.params for name in parameter.opts] if context else []
    return did_you_mean(error.option_name, [name for name in known if name.startswith("--")], see)


def _is_common(option: str) -> bool:
    from millstream.cli.options import CHOOSING, COMMON

    return option.partition("=")[0] in COMMON + CHOOSING
