"""`millstream init`."""

from __future__ import annotations

import keyword
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click

from millstream.cli.commands.schema import schemas, write_schemas
from millstream.cli.options import Common, cli_command
from millstream.cli.output import finish
from millstream.errors import Diagnostic, MillstreamError, reporting_os_errors
from millstream.project.references import IDENTIFIER

SCHEMAS = ("properties", "profiles", "project", "selectors")
TEMPLATES = Path(__file__).resolve().parents[1] / "templates" / "project"
_GIT = ("git", "-c", "core.hooksPath=/dev/null")
"""A template with hooks of the user's must not run in a folder that was just made."""
_PLACEHOLDER = "__name__"
_DOT = "dot_"
"""The prefix of hidden files in the templates; with a real dot, tools would read them."""


@cli_command("init", "millstream init cafe", "millstream init pipelines/cafe --no-git", "millstream init .")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--no-git", is_flag=True, help="Do not make the folder a git repository.")
def command(common: Common, *, path: Path, no_git: bool) -> int:
    """Create a new project that compiles.

    PATH is the project's folder, new or empty, relative to --project-dir or the current folder; its last part
    becomes the name of the project. The project processes a café's orders: a source, three models, a macro, a
    Python function, seeds, tests and a README. Unless the folder is within a git repository, it becomes one.
    """
    root = (common.project_dir or Path()) / path
    name = Path(os.path.abspath(root)).name  # noqa: PTH100 - a link keeps its name
    check_name(name, path)
    paths = make_project(root, name)
    repository = not no_git and make_repository(root)
    shown = str(root)
    text = None if common.style.quiet else _next_steps(name, shown, len(paths), repository=repository)
    result = {"project": name, "path": shown, "files": paths, "git": repository}
    return finish(common.style, result=result, text=text)


def check_name(name: str, path: Path) -> None:
    if IDENTIFIER.match(name) and not keyword.iskeyword(name):
        return
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    plain = f"project_{plain}" if not plain or plain[0].isdigit() or keyword.iskeyword(plain) else plain
    message = f"'{name}' is not a valid project name"
    proposed = path.with_name(plain.removesuffix("_")) if path.name else plain.removesuffix("_")
    remedy = f"use letters, digits and '_', such as `millstream init {proposed}`"
    raise MillstreamError(Diagnostic("MS704", message, None, remedy))


def make_project(root: Path, name: str) -> list[str]:
    paths = []
    with reporting_os_errors("MS702", f"the project can't be written to {root}", "choose a writable folder"):
        if root.is_symlink() or root.exists():
            _check_empty(root)
        for path, template in _templates(TEMPLATES):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            content = template.read_text(encoding="utf-8").replace(_PLACEHOLDER, name)
            (root / path).write_text(content, encoding="utf-8", newline="\n")
            paths.append(path)
        found = schemas()
        write_schemas(root / ".schemas", {schema: found[schema] for schema in SCHEMAS})
    return sorted([*paths, *(f".schemas/{schema}.json" for schema in SCHEMAS)])


def make_repository(root: Path) -> bool:
    """Make the folder a git repository, unless it is within one, or git is missing."""
    try:
        known = subprocess.run(  # noqa: S603 - fixed arguments
            [*_GIT, "rev-parse", "--git-dir"], cwd=root, capture_output=True, check=False
        )
        if known.returncode == 0:
            return False
        made = subprocess.run(  # noqa: S603 - fixed arguments
            [*_GIT, "-c", "init.defaultBranch=main", "init"], cwd=root, capture_output=True, check=False
        )
    except OSError:
        return False
    return made.returncode == 0


def _check_empty(root: Path) -> None:
    if not root.is_dir():
        problem = f"'{root}' is a file"
    elif any(each.name != ".git" for each in root.iterdir()):
        problem = f"the folder '{root}' is not empty"
    else:
        return
    remedy = "choose another name, or empty the folder first"
    raise MillstreamError(Diagnostic("MS703", problem, None, remedy))


def _templates(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each template file with its path in a project."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            path = file.relative_to(folder)
            parts = [f".{part.removeprefix(_DOT)}" if part.startswith(_DOT) else part for part in path.parts]
            yield "/".join(parts), file


def _next_steps(name: str, shown: str, files: int, *, repository: bool) -> str:
    also = ", in a new git repository" if repository else ""
    lines = [f"Created project {name} in {shown}/ ({files} files{also}).", "", "Next:"]
    if Path(shown).resolve() != Path.cwd():
        lines.append(f"  cd {shlex.quote(shown)}")
    lines += [
        "  millstream build             run the models over generated orders, then their tests",
        "  millstream show customers    see the newest rows of a model",
        "",
        "README.md explains the files.",
    ]
    return "\n".join(lines)
