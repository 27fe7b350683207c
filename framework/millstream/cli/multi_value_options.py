"""`--select a b`: options for selectors take all values up to the next option, as in dbt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import click

SELECTOR = "SELECTOR"
ACCEPTED = "stored:MODEL|mixed:MODEL"


class SeveralValues(click.Command):
    """A command whose selector options take several values; it can't have positional arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = {name for each in self.params if each.metavar in {SELECTOR, ACCEPTED} for name in each.opts}
        return super().parse_args(ctx, list(repeated(args, names)))


def repeated(args: Sequence[str], names: Collection[str]) -> Iterator[str]:
    """Repeat an option before each further value: `--select a b` is `--select a --select b`."""
    name, given = "", False
    for index, each in enumerate(args):
        if each == "--":
            yield from args[index:]
            return
        if each.startswith("-"):
            name, _, value = each.partition("=") if each.startswith("--") else (each, "", "")
            name, given = (name, bool(value)) if name in names else ("", False)
            yield each
            continue
        if name and given:
            yield name
        given = True
        yield each
