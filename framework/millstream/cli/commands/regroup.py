"""`millstream regroup`."""

from __future__ import annotations

from millstream.cli.commands.build import build_models
from millstream.cli.options import (
    CommonOptions,
    SelectionRequest,
    StateOptions,
    TestOptions,
    cli_command,
    waits,
)


@cli_command("regroup", "millstream regroup", "millstream regroup --target production", environments=True)
@waits
def command(common: CommonOptions, *, wait: bool) -> int:
    """Regroup stateful models into queries.

    A stateful model that is added to a running project gets a separate query, because no existing checkpoint
    fits it, and so does one that is rebuilt alone; when a model is removed, the others keep their groups.
    `regroup` groups all models as in a new deployment. Groups that change are rebuilt from the start of their
    sources, alongside the running version, and swapped when all rebuilds have finished. The project must not
    run meanwhile.
    """
    return build_models(
        common, SelectionRequest(), StateOptions(regroup=True, wait=wait), TestOptions(no_tests=True)
    )
