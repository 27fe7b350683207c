"""`millstream completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_result

SHELLS = ("bash", "zsh", "fish")


@cli_command(
    "completion",
    "bash:  echo 'eval \"$(millstream completion bash)\"' >> ~/.bashrc",
    "zsh:   echo 'eval \"$(millstream completion zsh)\"' >> ~/.zshrc",
    "fish:  millstream completion fish > ~/.config/fish/completions/millstream.fish",
)
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def command(common: CommonOptions, *, shell: str) -> int:
    """Print the script that completes commands in a shell.

    SHELL is bash, zsh or fish. The script completes commands and options, and after --select, the names of
    models, sources and tags from the last compile.
    """
    script = script_of(shell)
    return print_result(common.style, result={"shell": shell, "script": script}, text=script.strip("\n"))


def script_of(shell: str) -> str:
    if shell == "bash":
        return _BASH
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(click.Command("millstream"), {}, "millstream", "_MILLSTREAM_COMPLETE").source()


# Unlike click's own script, it completes whole words: bash splits `tag:nightly` and `@orders` into several
# and replaces only the last one.
_BASH = """\
_millstream_completion() {
    local line="${COMP_LINE:0:COMP_POINT}" IFS=$' \\t\\n' kind value answers before
    local -a words
    read -ra words <<< "$line"
    local last="${line##*[[:space:]]}" number=${#words[@]}
    [[ -n "$last" ]] && number=$((number - 1))
    before="${last%"${last##*[:@=]}"}"
    answers=$(COMP_WORDS="$line" COMP_CWORD=$number _MILLSTREAM_COMPLETE=bash_complete "$1")
    COMPREPLY=()
    while IFS=',' read -r kind value; do
        case "$kind" in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("${value#"$before"}")
                [[ "$value" == *: ]] && compopt -o nospace
                ;;
        esac
    done <<< "$answers"
    return 0
}
complete -o nosort -F _millstream_completion millstream
"""
