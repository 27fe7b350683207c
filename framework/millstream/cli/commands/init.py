"""`millstream init`."""

from __future__ import annotations

import keyword
import os
import re
import shlex
import subprocess
from pathlib import Path

import click

from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_result
from millstream.cli.project_templates import NAMES, TEMPLATES, ProjectTemplate, make_project, template_of
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.local.environment import for_git
from millstream.project.references import IDENTIFIER

_GIT = ("git", "-c", "core.hooksPath=/dev/null")
"""A template with hooks of the user's must not run in a folder that was just made."""
_TEMPLATES = "; ".join(f"{template.name}: {template.help}" for template in TEMPLATES)


@cli_command(
    "init",
    "millstream init cafe",
    "millstream init inventory --template cdc",
    "millstream init pipelines/cafe --no-git",
    "millstream init .",
)
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--template",
    type=click.Choice(NAMES),
    default="events",
    show_default=True,
    help=f"What the project contains. {_TEMPLATES}.",
)
@click.option("--no-git", is_flag=True, help="Do not make the folder a git repository.")
def command(common: CommonOptions, *, path: Path, template: str, no_git: bool) -> int:
    """Create a new project that compiles.

    PATH is the project's folder, new or empty, relative to --project-dir or the current folder; its last part
    becomes the name of the project. The project builds and passes its tests; its README explains the files.
    Unless the folder is within a git repository, it becomes one.
    """
    root = (common.project_dir or Path()) / path
    name = Path(os.path.abspath(root)).name  # noqa: PTH100 - a link keeps its name
    check_name(name, path)
    chosen = template_of(template)
    paths = make_project(root, name, chosen)
    repository = not no_git and make_repository(root)
    shown = str(root)
    text = None if common.style.quiet else _next_steps(name, shown, chosen, len(paths), repository=repository)
    result = {"project": name, "path": shown, "template": template, "files": paths, "git": repository}
    return print_result(common.style, result=result, text=text)


def check_name(name: str, path: Path) -> None:
    if IDENTIFIER.match(name) and not keyword.iskeyword(name):
        return
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    plain = f"project_{plain}" if not plain or plain[0].isdigit() or keyword.iskeyword(plain) else plain
    message = f"'{name}' is not a valid project name"
    proposed = path.with_name(plain.removesuffix("_")) if path.name else plain.removesuffix("_")
    remedy = f"use letters, digits and '_', such as `millstream init {proposed}`"
    raise MillstreamError(Diagnostic("MS704", message, None, remedy))


def make_repository(root: Path) -> bool:
    """Make the folder a git repository, unless it is within one, or git is missing."""
    try:
        return not _succeeds(root, "rev-parse", "--git-dir") and _succeeds(
            root, "-c", "init.defaultBranch=main", "init"
        )
    except OSError:
        return False


def _succeeds(root: Path, *arguments: str) -> bool:
    command = [*_GIT, *arguments]
    done = subprocess.run(command, cwd=root, env=for_git(os.environ), capture_output=True, check=False)  # noqa: S603
    return done.returncode == 0


def _next_steps(name: str, shown: str, template: ProjectTemplate, files: int, *, repository: bool) -> str:
    also = ", in a new git repository" if repository else ""
    lines = [f"Created project {name} in {shown}/ ({files} files{also}).", "", "Next:"]
    if Path(shown).resolve() != Path.cwd():
        lines.append(f"  cd {shlex.quote(shown)}")
    steps = (
        ("millstream build", f"run the models over {template.traffic}, then their tests"),
        (f"millstream show {template.model}", "see the newest rows of a model"),
    )
    width = max(len(command) for command, _ in steps)
    lines += [f"  {command:<{width}}    {message}" for command, message in steps]
    return "\n".join([*lines, "", "README.md explains the files."])
