"""`--select a b`: options for selectors take all values up to the next option, as in dbt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import click

SELECTOR = "SELECTOR"
ACCEPTED = "stored:MODEL|mixed:MODEL"


class SeveralValues(click.Command):
    """A command whose selector options take several values; it can't have positional arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = {
            name
            for parameter in self.params
            if parameter.metavar in {SELECTOR, ACCEPTED}
            for name in parameter.opts
        }
        return super().parse_args(ctx, list(repeat_options(args, names)))


def repeat_options(args: Sequence[str], names: Collection[str]) -> Iterator[str]:
    """Repeat an option before each further value: `--select a b` is `--select a --select b`."""
    name, has_value = "", False
    for index, argument in enumerate(args):
        if argument == "--":
            yield from args[index:]
            return
        if argument.startswith("-"):
            name, _, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
            name, has_value = (name, bool(value)) if name in names else ("", False)
            yield argument
            continue
        if name and has_value:
            yield name
        has_value = True
        yield argument
