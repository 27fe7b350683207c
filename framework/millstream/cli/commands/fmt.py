"""`millstream fmt`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from millstream.cli.complete import complete_selector
from millstream.cli.diagnostics import count_of
from millstream.cli.options import CommonOptions, SelectionRequest, cli_command
from millstream.cli.output import print_json, show_diagnostics
from millstream.cli.project import compile_for, root_of, select_existing
from millstream.compile.manifest import Compiled
from millstream.core.atomic import replace_file
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.gc_pause import collector_paused
from millstream.core.text import FileText
from millstream.project.files import File, find_files, read_file
from millstream.project.settings import read_settings
from millstream.project.values import Settings

if TYPE_CHECKING:
    from millstream.fmt.files import FormattedFile

_STDIN = "-"
_CHANGED = 1
"""The exit code of --check if a file is not formatted."""


@cli_command(
    "fmt",
    "millstream fmt",
    "millstream fmt --check                 # in CI: writes nothing",
    "millstream fmt --diff models/marts",
    "millstream fmt orders+                 # what a selector selects",
    "millstream fmt - --stdin-path models/orders.sql < models/orders.sql    # for editors",
    offline=True,
)
@click.option("--check", is_flag=True, help="Write nothing; the exit code is 1 if a file is not formatted.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@click.option(
    "--stdin-path", metavar="PATH", help="With `-`: the file that the text on standard input belongs to."
)
@click.argument("paths", metavar="[PATH|SELECTOR]...", nargs=-1, shell_complete=complete_selector)
@collector_paused()
def command(
    common: CommonOptions, *, check: bool, diff: bool, stdin_path: str | None, paths: tuple[str, ...]
) -> int:
    """Format the SQL of models, macros and tests.

    Keywords are written in lower case, and a list that does not fit on a line gets a line for each item.
    Comments, Jinja and names stay as they are. Before a file is written, all models are compiled with it: a
    file that would change what they compile to is left as it is, with an error. Lines between `-- fmt: off`
    and `-- fmt: on` stay, too. Line length and indentation are settings in pyproject.toml.
    """
    if stdin_path is not None and paths != (_STDIN,):
        raise click.UsageError("--stdin-path needs `-`, and nothing else, in place of paths")
    stdin = paths == (_STDIN,)
    root = root_of(common)
    settings, _ = read_settings(root)
    texts = _from_stdin(stdin_path) if stdin else _texts(common, root, settings, paths)
    files = _format(common, root, settings, texts, compares=not stdin or stdin_path is not None)
    errors = [file.error for file in files if file.error is not None]
    changed = [file for file in files if file.changed]
    if stdin and not (check or diff or common.style.json):
        click.echo(files[0].after, nl=False)
    for file in () if stdin or check or diff else changed:
        write_text(root / file.path, file.after)
    _report(common, files, errors, check=check, diff=diff, stdin=stdin)
    return 2 if errors else _CHANGED if check and changed else 0


def _format(
    common: CommonOptions, root: Path, settings: Settings, texts: list[FileText], *, compares: bool
) -> tuple[FormattedFile, ...]:
    from millstream.fmt.files import format_files, format_text
    from millstream.fmt.layout import Style
    from millstream.project.unsaved import unsaved_files

    def compile_with(edits: Mapping[str, str]) -> Compiled:
        unsaved = {os.path.abspath(root / path): text.encode() for path, text in edits.items()}  # noqa: PTH100
        with unsaved_files(unsaved):
            return compile_for(common, root)

    style = Style(settings.line_length, settings.indent)
    if not compares:
        return tuple(format_text(text, style) for text in texts)
    return format_files(texts, style, compile_with)


def _from_stdin(path: str | None) -> list[FileText]:
    return [FileText(path or "<stdin>", sys.stdin.read().replace("\r\n", "\n"))]


def _texts(common: CommonOptions, root: Path, settings: Settings, paths: tuple[str, ...]) -> list[FileText]:
    """Return the files to format; raise if one can't be read, or there are none."""
    folders = (*settings.model_paths, *settings.macro_paths, *settings.test_paths)
    sql_files = list(find_files(root, folders, (".sql",)))
    chosen = dict.fromkeys(_chosen(common, root, sql_files, paths) if paths else sql_files)
    if not chosen:
        remedy = "name a folder of models, macros or tests, or a model"
        raise MillstreamError(Diagnostic("MS733", "there are no SQL files to format", None, remedy))
    files = [read_file(root, path) for path in chosen]
    if errors := [file for file in files if isinstance(file, Diagnostic)]:
        raise MillstreamError(*errors)
    return [FileText(file.path, file.content) for file in files if isinstance(file, File)]


def _chosen(common: CommonOptions, root: Path, sql_files: list[str], paths: tuple[str, ...]) -> Iterator[str]:
    selectors: list[str] = []
    for path in paths:
        if not Path(path).exists():
            selectors.append(path)
            continue
        relative = Path(os.path.relpath(Path(path).resolve(), root.resolve())).as_posix()
        below = [file for file in sql_files if relative in {".", file} or file.startswith(f"{relative}/")]
        if not below:
            remedy = "name a file or folder of models, macros or tests"
            message = f"'{path}' is not an SQL file of the project, and has none"
            raise MillstreamError(Diagnostic("MS733", message, None, remedy))
        yield from below
    if selectors:
        compiled = compile_for(common, root)
        selection = select_existing(common, compiled, SelectionRequest(tuple(selectors)), with_tests=True)
        nodes = [compiled.manifest.nodes[id_].path for id_ in selection.ids]
        yield from (path for path in nodes if path in set(sql_files))


def write_text(path: Path, text: str) -> None:
    """Replace a file's text; its line ends stay as they are."""
    if b"\r\n" in path.read_bytes():
        text = text.replace("\n", "\r\n")
    replace_file(path.resolve(), text.encode())


def _report(
    common: CommonOptions,
    files: tuple[FormattedFile, ...],
    errors: list[Diagnostic],
    *,
    check: bool,
    diff: bool,
    stdin: bool,
) -> None:
    if common.style.json:
        from millstream.cli.diagnostics import as_data

        diagnostics = [as_data(error, common.style.target) for error in errors]
        print_json(
            {"diagnostics": diagnostics, "files": [_data(file, diff=diff, stdin=stdin) for file in files]}
        )
        return
    if diff:
        click.echo("".join(_diff(file) for file in files), nl=False)
    elif check and not stdin and not common.style.quiet:
        for file in files:
            if file.changed:
                click.echo(f"{file.path} would be formatted")
    show_diagnostics(common.style, errors)
    if not stdin and not common.style.quiet:
        click.echo(_summary(files, len(errors), writes=not (check or diff)), err=True)


def _data(file: FormattedFile, *, diff: bool, stdin: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"path": file.path, "changed": file.changed}
    if diff:
        data["diff"] = _diff(file)
    if stdin:
        data["formatted"] = file.after
    return data


def _diff(file: FormattedFile) -> str:
    lines = unified_diff(
        file.before.splitlines(keepends=True),
        file.after.splitlines(keepends=True),
        file.path,
        f"{file.path} (formatted)",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _summary(files: tuple[FormattedFile, ...], errors: int, *, writes: bool) -> str:
    changed = sum(file.changed for file in files)
    parts = [f"{count_of(changed, 'file')} {'formatted' if writes else 'would be formatted'}"]
    parts.append(f"{len(files) - changed - errors:,} unchanged")
    if errors:
        parts.append(
            f"{errors:,} left as they are, with an error" if errors > 1 else "1 left as it is, with an error"
        )
    return ", ".join(parts)
