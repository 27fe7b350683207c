"""Turns exceptions that end a command into a diagnostic and an exit code."""

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from millstream.cli import dbt
from millstream.cli.registry import COMMANDS

if TYPE_CHECKING:
    from millstream.cli.remedies import RepeatedOptions
    from millstream.core.errors import Diagnostic

INTERRUPTED = 130
_LONG = {"-t": "--target", "-e": "--environment"}
_EXHAUSTED = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE}
"""Errors of the machine, such as a full disk, which are not bugs and can occur anywhere."""


def run_guarded(run: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; raises only `SystemExit`."""
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
    from millstream.core.errors import Diagnostic, MillstreamError

    if isinstance(error, MillstreamError):
        return _report(error.diagnostics, arguments)
    if os.environ.get("MILLSTREAM_TRACEBACK"):
        traceback.print_exception(error)
    if isinstance(error, OSError) and error.errno in _EXHAUSTED:
        reason = os.strerror(error.errno).lower() + (f": {error.filename}" if error.filename else "")
        remedy = "free some space, or write to another folder"
        return _report((Diagnostic("MS706", f"operating system error: {reason}", None, remedy),), arguments)
    return _report((_internal(error, arguments),), arguments)


def _internal(error: Exception, arguments: Sequence[str]) -> "Diagnostic":
    from millstream.cli.crash_report import crash_location, mask_quoted, write_report
    from millstream.core.errors import Diagnostic

    location = crash_location(error)
    text = " ".join(mask_quoted(str(error)).split())
    message = f"internal error in Millstream{location}: {type(error).__name__}: {text[:300]}"
    report = write_report(error, arguments, location)
    remedy = (
        f"report it with {report}, which has the traceback and the file, but no secrets"
        if report
        else "set MILLSTREAM_TRACEBACK=1 to see the traceback, and report it"
    )
    return Diagnostic("MS900", message.rstrip(": "), None, remedy)


def _report(diagnostics: "Sequence[Diagnostic]", arguments: Sequence[str]) -> int:
    from millstream.cli.output import OutputStyle, print_result

    try:
        code = print_result(OutputStyle(*style_of(arguments), repeated_in(arguments)), diagnostics)
        sys.stdout.flush()
    except OSError:
        # The usual stream can't be written: try one line on stderr, and return the exit code.
        code = 2
        with contextlib.suppress(OSError):
            click.echo(f"{diagnostics[0].code}: {diagnostics[0].message}", err=True)
        _discard_rest()
    return code


def _discard_rest() -> None:
    """Discard unwritten output, which Python would try to write again at exit."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def style_of(arguments: Sequence[str]) -> tuple[bool, bool, bool]:
    """Find --output json, --no-color and --quiet in arguments that could not be parsed."""
    json = any(
        (name in {"--output", "--format"} and value == "json") or name in {"--output=json", "--format=json"}
        for name, value in pairwise([*arguments, ""])
    )
    color = "--no-color" not in arguments and not os.environ.get("NO_COLOR")
    return json, color, "--quiet" in arguments or "-q" in arguments


def repeated_in(arguments: Sequence[str]) -> "RepeatedOptions":
    """Find the options that commands in remedies need, too, in arguments."""
    from millstream.cli.remedies import FLAGS, repeated_options

    options: dict[str, object] = {"--target": os.environ.get("MILLSTREAM_TARGET")}
    for name, value in pairwise([*arguments, ""]):
        option, equals, text = name.partition("=")
        options[_LONG.get(option, option)] = option in FLAGS or (text if equals else value)
    return repeated_options(options)


def _usage(error: click.ClickException) -> "tuple[Diagnostic]":
    from millstream.core.errors import Diagnostic, did_you_mean

    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "millstream"
    message = error.format_message()
    remedy = f"see `{path} --help`"
    if unknown := getattr(error, "unknown_command", None):
        names = [entry.name for entry in COMMANDS]
        remedy = dbt.COMMANDS.get(unknown) or did_you_mean(unknown, names, remedy)
    elif isinstance(error, click.NoSuchOption):
        message = f"`{path}` has no option '{error.option_name}'"
        remedy = _option_remedy(error, context, remedy)
    message = message[0].lower() + message[1:].rstrip(".")
    return (Diagnostic("MS701", message, None, remedy),)


def _option_remedy(error: click.NoSuchOption, context: click.Context | None, see: str) -> str:
    from millstream.cli.options import CHOOSING, COMMON
    from millstream.core.errors import did_you_mean

    if context and (instead := dbt.option_remedy(context.info_name or "", error.option_name)):
        return instead
    of_commands = error.option_name.partition("=")[0] in COMMON + CHOOSING
    if context and isinstance(context.command, click.Group) and of_commands:
        return f"write it after the command: `{context.command_path} compile {error.option_name} …`"
    option_names = (
        [name for parameter in context.command.params for name in parameter.opts] if context else []
    )
    return did_you_mean(error.option_name, [name for name in option_names if name.startswith("--")], see)
