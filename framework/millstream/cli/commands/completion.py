"""`millstream completion`."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from millstream.cli.options import Common, common
from millstream.cli.output import finish

SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    epilog=(
        "\b\nExamples:\n"
        "  bash:  echo 'eval \"$(millstream completion bash)\"' >> ~/.bashrc\n"
        "  zsh:   echo 'eval \"$(millstream completion zsh)\"' >> ~/.zshrc\n"
        "  fish:  millstream completion fish > ~/.config/fish/completions/millstream.fish"
    ),
)
@common()
@click.argument("shell", type=click.Choice(SHELLS))
def command(common: Common, *, shell: str) -> int:
    """Print the script that completes commands in a shell.

    Commands, options, and after --select the names of models, sources and tags of the last compile.
    """
    script = script_of(shell)
    return finish(common.look, result={"shell": shell, "script": script}, text=script.strip("\n"))


def script_of(shell: str) -> str:
    kind = get_completion_class(shell)
    assert kind is not None
    completion = kind(click.Command("millstream"), {}, "millstream", "_MILLSTREAM_COMPLETE")
    # Not the class's own source(): that of bash starts a shell to ask for its version.
    return ShellComplete.source(completion)
