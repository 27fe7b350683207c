"""`millstream init`."""

from __future__ import annotations

import keyword
import re
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
_PLACEHOLDER = "__name__"
_DOT = "dot_"
"""The prefix of hidden files in the templates; with a real dot, tools would read them."""


@cli_command("init", "millstream init cafe", "cd cafe && millstream compile")
@click.argument("name")
def command(common: Common, *, name: str) -> int:
    """Create a new project that compiles.

    NAME becomes the name of the project and of its folder, which is created in --project-dir or the current
    folder. The project processes a café's orders: a source, three models, a macro, a Python function, seeds,
    tests and a README.
    """
    check_name(name)
    parent = common.project_dir or Path()
    root = parent / name
    paths = make_project(root, name)
    shown = str(root)
    text = None if common.style.quiet else _next_steps(name, shown, len(paths))
    return finish(common.style, result={"project": name, "path": shown, "files": paths}, text=text)


def check_name(name: str) -> None:
    if IDENTIFIER.match(name) and not keyword.iskeyword(name):
        return
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    plain = f"project_{plain}" if not plain or plain[0].isdigit() or keyword.iskeyword(plain) else plain
    message = f"'{name}' is not a valid project name"
    remedy = f"use letters, digits and '_', such as `millstream init {plain.removesuffix('_')}`"
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


def _check_empty(root: Path) -> None:
    if not root.is_dir():
        problem = f"'{root}' is a file"
    elif any(root.iterdir()):
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


def _next_steps(name: str, shown: str, files: int) -> str:
    return (
        f"Created project {name} in {shown}/ ({files} files).\n\n"
        f"Next:\n  cd {shown}\n  millstream compile      check it and write target/\n"
        "  millstream lineage      see what depends on what\n"
        "  README.md               explains the files\n"
    ).rstrip("\n")
