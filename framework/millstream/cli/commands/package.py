"""`millstream package`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from millstream.cli.jar_progress import jar_progress
from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_result, progress_console
from millstream.cli.project import compile_valid, models_in, project_of, root_of
from millstream.core.byte_sizes import size_in_words
from millstream.core.errors import reporting_os_errors

if TYPE_CHECKING:
    from millstream.compile.manifest import Compiled
    from millstream.ops.package.write import PackageContents

_REMEDY = "make it writable, free some space, or choose another place with --to"


@cli_command(
    "package",
    "millstream package --target production",
    "millstream package --target production --to dist/shop.tar",
    "millstream package --target production --include 'certificates/*.pem'",
)
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help="The folder to write, or an archive if it ends in .tar; default: target/package.",
)
@click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Also package these files or folders of the project, such as certificates; repeatable.",
)
def command(common: CommonOptions, *, to: Path | None, include: tuple[str, ...]) -> int:
    """Package the project for a target, as a bundle that runs without a registry.

    The package contains the project's files, wheels of the installed packages, jars, `install` and `start`
    scripts, and files for Docker, systemd, Kubernetes and Helm. If the project has a uv.lock, the installed
    packages must be those that it locks. Environment variables are not packaged: they must be set where the
    package runs, and here too, because the project is compiled first.
    """
    root = root_of(common)
    compiled = compile_valid(common, root)
    contents = _contents(common, root, compiled, include)
    destination = to or root / project_of(common, root).settings.target_path / "package"

    from millstream.ops.package.write import write_package

    with (
        reporting_os_errors("MS702", f"{destination} can't be written", _REMEDY),
        _progress(common) as progress,
    ):
        package = write_package(contents, destination, progress)
    text = (
        f"Packaged {contents.facts.project} for target {contents.facts.target}: {package.files:,} files, "
        f"{package.packages} packages and {package.jars} jars "
        f"({size_in_words(package.bytes)}) in {package.path}."
    )
    result = {"package": package}
    return print_result(
        common.style, compiled.diagnostics, result=result, text=text, models=models_in(compiled)
    )


def _contents(
    common: CommonOptions, root: Path, compiled: Compiled, include: tuple[str, ...]
) -> PackageContents:
    from millstream.ops.package.facts import facts_of
    from millstream.ops.package.jars import jars_to_package
    from millstream.ops.package.project_files import project_files
    from millstream.ops.package.requirements import check_lock, needed_packages
    from millstream.ops.package.workers import worker_packages
    from millstream.ops.package.write import PackageContents
    from millstream.project.values import is_local
    from millstream.queries.topology import compiled_topology, physical_of

    project = project_of(common, root)
    files = project_files(project, include, common.profiles_dir)
    topology = compiled_topology(compiled)
    distributions = needed_packages(root, project.libraries)
    check_lock(root, distributions)
    with jar_progress(common.style) as progress:
        jars = jars_to_package(project.target, topology.catalog.jars, progress)
    modules = {path: root / path for path in project.imported if path.endswith(".py")}
    return PackageContents(
        facts_of(project, common.profiles_dir, len(physical_of(topology).queries)),
        files,
        tuple(distributions),
        tuple(jars),
        frozenset() if is_local(project.target) else worker_packages(project.libraries),
        modules,
    )


@contextmanager
def _progress(common: CommonOptions) -> Iterator[Callable[[str, int, int], None] | None]:
    if (screen := progress_console(common.style)) is None:
        yield None
        return
    with screen.status("") as status:
        yield lambda name, done, total: status.update(f"Packaging {name} ({done + 1} of {total}) …")
