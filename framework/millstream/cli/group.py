"""The group of all commands. To start fast, it imports only click, and a command's module when it runs."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from millstream import __version__
from millstream.cli.failures import run_guarded
from millstream.cli.registry import COMMANDS

_BROKEN_PIPE = 141
"""The exit code of a program that wrote to a closed pipe (128 + SIGPIPE)."""


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = next((entry for entry in COMMANDS if entry.name == cmd_name), None)
        if entry is None:
            return None
        command: click.Command = import_module(entry.module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(entry.name, entry.help) for entry in COMMANDS])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [
            *(CompletionItem(e.name, help=e.help) for e in COMMANDS if e.name.startswith(incomplete)),
            *options,
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in self.list_commands(ctx):
            error = click.UsageError(f"there is no command '{name}'", ctx)
            error.unknown_command = name  # type: ignore[attr-defined]
            raise error
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # `millstream ls | head` closes the pipe early: not an error, but Python would complain at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _BROKEN_PIPE
        return result

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **rest: Any
    ) -> Any:
        arguments = list(sys.argv[1:] if args is None else args)

        def run() -> Any:
            return super(LazyGroup, self).main(arguments, standalone_mode=False, **rest)

        if not standalone_mode:
            return run()
        sys.exit(run_guarded(run, arguments))


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `millstream init PATH`. `millstream COMMAND --help` shows examples.",
)
@click.version_option(__version__, message="millstream %(version)s")
def millstream() -> None:
    """Check, compile and run streaming pipelines written in SQL, on Spark and Kafka."""
