"""`millstream clean`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct, field

from millstream.cli.diagnostics import count_of
from millstream.cli.jar_progress import jar_progress
from millstream.cli.jobs import compiled_job
from millstream.cli.options import CommonOptions, SelectionRequest, StateOptions, cli_command
from millstream.cli.output import ask_yes, print_result
from millstream.cli.project import root_of, target_of
from millstream.core.byte_sizes import size_in_words
from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic, MillstreamError, os_reason
from millstream.core.own_folder import OWN_FOLDER
from millstream.core.target_folder import is_own
from millstream.kafka.registry.local import stop_registry
from millstream.local.broker import stop_broker
from millstream.local.holders import LockHolder, holder_of
from millstream.local.locks import is_locked
from millstream.local.warm_session.client import stop_session
from millstream.project.folders import (
    broker_folder,
    checkpoints_of,
    folder_name,
    is_outside,
    target_folder,
    target_of_folder,
)
from millstream.project.secrets import mask_secrets, secrets_in
from millstream.project.settings import read_settings
from millstream.project.values import Settings
from millstream.stores.local import all_local_tables

if TYPE_CHECKING:
    from millstream.runner.commands.orphans import Orphan


class RemovedData(Struct, frozen=True):
    path: str
    """Relative to the project."""
    files: int
    bytes: int


class RemainingData(Struct, frozen=True):
    """Data of the project that is stored elsewhere and not removed."""

    target: str
    what: str
    location: str = field(name="place")


@cli_command(
    "clean",
    "millstream clean",
    "millstream clean --artifacts",
    "millstream clean --orphans --target production",
    "millstream clean --target production --yes",
)
@click.option("--artifacts", is_flag=True, help="Only remove what compile and build wrote into target/.")
@click.option(
    "--orphans",
    is_flag=True,
    help="Only remove checkpoints and consumer groups of models that the project no longer has.",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask before removing data.")
@click.option("--force", is_flag=True, help="Even if another command is using it.")
def command(common: CommonOptions, *, artifacts: bool, orphans: bool, yes: bool, force: bool) -> int:
    """Remove what this project has created on this machine.

    That is `target/` and `.millstream/`: the local broker with its topics, and the tables, checkpoints and
    logs of all targets. With --target, only that target's tables, checkpoints and logs in `.millstream/`.
    Nothing else is touched: no other Kafka, no database, no store named by `tables:` or `checkpoints:` of the
    target; what remains there is listed. On a terminal, it asks before removing data.

    With --orphans, nothing but what queries left whose models are no longer in the project: their
    checkpoints, with their states, wherever the target's checkpoints are, and their consumer groups
    (`millstream.PROJECT.…`) without members. The topics and tables of these models stay. All of it is listed
    first; without a terminal, it is removed only with --yes.
    """
    if artifacts and common.target:
        raise click.UsageError("--artifacts and --target exclude each other")
    if orphans:
        if artifacts or force:
            raise click.UsageError("--orphans can't be combined with --artifacts or --force")
        return _remove_orphans(common, yes=yes)
    root = root_of(common)
    if common.target:
        paths = [folder_of_target(common, root, common.target)]
    else:
        settings, diagnostics = read_settings(root)
        if errors := [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]:
            raise MillstreamError(*errors)
        paths = [artifacts_folder(root, settings), *([] if artifacts else [root / OWN_FOLDER])]
    sizes = {path: measure_files(root, path) for path in paths if os.path.lexists(path)}
    removed = [*sizes.values()]
    data = [removal for removal in removed if Path(removal.path).parts[0] == OWN_FOLDER]
    if data and not force:
        _check_idle(root, common.target)
    if data and not yes and not common.style.json:
        folders = ", ".join(f"{removal.path} ({size_in_words(removal.bytes)})" for removal in data)
        if not ask_yes(f"Remove {folders} with its topics and tables?"):
            return print_result(common.style, text="nothing was removed")
    if data:
        stop_session(root)  # it uses the broker, and writes logs
    has_broker = data and not common.target and broker_folder(root).is_dir()
    if has_broker and stop_registry(root, force=force) == "in use":
        raise _in_use("local schema registry")
    if has_broker and stop_broker(root, force=force) == "in use":
        raise _in_use("local broker")
    for path in sizes:
        remove_path(path)
    left = [] if artifacts else stored_elsewhere(common, root)
    result = {"removed": to_builtins(removed), "bytes": sum(removal.bytes for removal in removed)}
    result |= {"left": to_builtins(left)}
    return print_result(
        common.style, result=result, text=None if common.style.quiet else text_of(removed, left)
    )


def _remove_orphans(common: CommonOptions, *, yes: bool) -> int:
    root = root_of(common)
    _, job, diagnostics = compiled_job(common, root, SelectionRequest(), StateOptions())
    from millstream.runner.commands.orphans import open_orphans

    with jar_progress(common.style) as fetched, open_orphans(job, fetched) as orphaned:
        lines = [
            *map(_orphan_line, orphaned.checkpoints),
            *(f"the consumer group {group}" for group in orphaned.groups),
        ]
        removed = yes
        if lines and not yes and not common.style.json:
            click.echo("\n".join(lines), err=True)
            removed = ask_yes(f"Remove {'it' if len(lines) == 1 else 'them'}?", elsewhere=False)
        if removed:
            orphaned.remove()
    result = {"checkpoints": to_builtins(orphaned.checkpoints), "groups": orphaned.groups}
    result |= {"bytes": sum(checkpoint.bytes for checkpoint in orphaned.checkpoints), "removed": removed}
    message = (
        [f"removed {line}" for line in lines]
        if removed
        else ["nothing was removed; --yes removes it without asking"]
    )
    text = None if common.style.quiet else "\n".join(message) if lines else "there is nothing to remove"
    return print_result(common.style, diagnostics, result=result, text=text)


def _orphan_line(orphan: Orphan) -> str:
    names = ", ".join(id_.name for id_ in orphan.stored)
    what = f"the checkpoint {orphan.query}" if orphan.query else "what is recorded of dead letters"
    return f"{what}{f' of {names}' if names else ''}: {size_in_words(orphan.bytes)}"


def folder_of_target(common: CommonOptions, root: Path, name: str) -> Path:
    """Return the folder of a target, which may be one that profiles.yml no longer has."""
    folder = root / OWN_FOLDER / folder_name(name)
    return folder if folder.is_dir() else root / OWN_FOLDER / folder_name(target_of(common, root).name)


def stored_elsewhere(common: CommonOptions, root: Path) -> list[RemainingData]:
    """Return what the target stores outside the project; nothing if profiles.yml can't be read."""
    try:
        target = target_of(common, root)
        checkpoints, stores = checkpoints_of(target, root), all_local_tables(target, root)
    except MillstreamError:
        return []
    folder = target_folder(root, target.production)
    outside = [("checkpoints", checkpoints)] if is_outside(checkpoints, folder) else []
    outside += [("tables", location) for store in stores if (location := store.outside(folder)) is not None]
    secrets = secrets_in(target.settings)
    return [RemainingData(target.name, what, mask_secrets(location, secrets)) for what, location in outside]


def artifacts_folder(root: Path, settings: Settings) -> Path:
    """Return the folder of compiled files; raise if it also contains other files of the project."""
    folder = Path(os.path.abspath(root / settings.target_path))  # noqa: PTH100 - keeps symbolic links
    real = folder.resolve()
    sources = [root, *(root / path for path in settings.folders)]
    remedy = "remove it by hand, or set another target-path in [tool.millstream]"
    if not real.is_relative_to(root.resolve()) or any(
        source.resolve().is_relative_to(real) for source in sources
    ):
        message = f"target-path is {settings.target_path}, which is not a separate folder in the project"
        raise MillstreamError(Diagnostic("MS707", message, None, remedy))
    if settings.target_path != "target" and folder.is_dir() and not is_own(folder):
        message = f"target-path is {settings.target_path}, which Millstream did not create"
        raise MillstreamError(Diagnostic("MS707", message, None, remedy))
    return folder


def _check_idle(root: Path, target: str | None) -> None:
    if sys.platform == "win32":
        return
    for lock in sorted((root / OWN_FOLDER).glob("*/build.lock")):
        name = lock.parent.name
        if (folder_name(target) if target else name) == name and is_locked(lock, shared=True):
            raise _in_use(f"target '{target_of_folder(name)}'", holder_of(lock))


def _in_use(what: str, holder: LockHolder | None = None) -> MillstreamError:
    message = f"{holder or 'another command'} is using the {what}"
    return MillstreamError(Diagnostic("MS874", message, None, "wait until it ends, or use --force"))


def measure_files(root: Path, path: Path) -> RemovedData:
    """Count files and their size on disk, in blocks: Kafka's index files are sparse."""
    files, total = 0, 0
    inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else ()
    for file in (path, *inside):
        try:
            status = file.lstat()
        except OSError:
            continue  # another process has removed it meanwhile
        files += not file.is_dir() or file.is_symlink()
        total += status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
    return RemovedData(path.relative_to(root).as_posix(), files, total)


def remove_path(path: Path) -> None:
    try:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            shutil.rmtree(path)
    except OSError as error:
        message = f"{error.filename or path} can't be removed: {os_reason(error)}"
        remedy = "make it writable, then run `millstream clean` again"
        raise MillstreamError(Diagnostic("MS702", message, None, remedy)) from None


def text_of(removed: list[RemovedData], left: list[RemainingData]) -> str:
    lines = [
        f"removed {removal.path}: {count_of(removal.files, 'file')}, {size_in_words(removal.bytes)}"
        for removal in removed
    ]
    lines = lines or ["there is nothing to remove"]
    lines += [f"{stored.what} of target '{stored.target}' are left: {stored.location}" for stored in left]
    return "\n".join(lines)
