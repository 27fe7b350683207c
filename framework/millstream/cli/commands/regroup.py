"""`millstream regroup`."""

from __future__ import annotations

import click

from millstream.cli.commands.build import built
from millstream.cli.options import Changes, Choice, Common, common


@click.command(
    "regroup", epilog="\b\nExamples:\n  millstream regroup\n  millstream regroup --target production"
)
@common()
def command(common: Common) -> int:
    """Decide anew which models with state share a query.

    A model that was added to a running project keeps its state in a query of its own, since no other one's
    checkpoint would fit it, and one that was removed leaves its place. Here all are grouped as in a new
    deployment. What changes by it is rebuilt from the start of its sources, beside what is there, and swapped
    when all of it has come to its end. The project must not run meanwhile.
    """
    return built(common, Choice(), Changes(regroup=True), no_tests=True)
