"""Shell completion."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.cli.commands.completion import SHELLS, script_of


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_printed(run, shell):
    result = run("completion", shell)
    assert result.code == 0
    assert "_MILLSTREAM_COMPLETE" in result.out


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_valid(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    (tmp_path / "script").write_text(script_of(shell))
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_an_unknown_shell_is_told_by_the_argument(run):
    assert "invalid value for 'SHELL': 'tcsh' is not one of 'bash'" in run("completion", "tcsh").err


def complete(line: str) -> list[str]:
    """Press TAB at the end of a line in a real bash, and return what it puts in place of the last word."""
    program = Path(sys.executable).with_name("millstream")
    script = (
        f'{script_of("bash")}\nfunction millstream() {{ {program} "$@"; }}\nexport -f millstream\n'
        'COMP_LINE="$1" COMP_POINT=${#1}\n'
        # As bash cuts a line into words: also at colons and at signs.
        "IFS=$' \\n' read -ra COMP_WORDS <<< \"$(sed -E 's/([:@=])/ \\1 /g' <<< \"$1\")\"\n"
        '[[ "$1" == *" " ]] && COMP_WORDS+=("")\n'
        "COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))\n"
        '_millstream_completion millstream; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    result = subprocess.run(["bash", "-c", script, "bash", line], capture_output=True, text=True, check=True)
    return result.stdout.split("\n")[:-1]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("millstream com", ["compile", "completion"]),
        ("millstream compile --no-c", ["--no-color", "--no-cache"]),
        ("millstream compile --select st", ["stg_clicks"]),
        ("millstream compile --select +st", ["+stg_clicks"]),
        ("millstream compile --select 2+st", ["2+stg_clicks"]),
        ("millstream compile --select totals,st", ["totals,stg_clicks"]),
        ("millstream ls -s tag:mo", ["money"]),
        ("millstream ls -s @st", ["stg_clicks"]),
        ("millstream ls -s source:", ["web.clicks"]),
        ("millstream lineage to", ["totals"]),
        ("millstream ls --resource-type mo", ["model"]),
    ],
)
def test_bash_completes(run, shop, line, offered):
    run("compile")
    assert [completion for completion in complete(line) if completion] == offered


def test_before_the_first_compile_there_are_no_names_and_no_errors(run, shop):
    result = subprocess.run(
        [sys.executable, "-m", "millstream"],
        env=os.environ
        | {"_MILLSTREAM_COMPLETE": "bash_complete", "COMP_WORDS": "millstream ls -s to", "COMP_CWORD": "3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.stdout.strip(), result.stderr) == ("", "")
