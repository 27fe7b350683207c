"""From the common options to a compiled project and what is chosen of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from millstream.cli.diagnostics import with_lines
from millstream.cli.options import Choice, Common
from millstream.cli.output import console
from millstream.errors import Diagnostic, MillstreamError
from millstream.graph import Graph, build_graph
from millstream.manifest import Compiled
from millstream.project.settings import FILE, find_project

if TYPE_CHECKING:
    from millstream.review.version import Version
    from millstream.selectors import Selection

_STAGES = {"render": "Rendering", "analyse": "Analysing"}


def root_of(common: Common) -> Path:
    """Return the project's folder: the named one, or the nearest from here upwards."""
    if common.project_dir is None:
        return find_project(current())
    root = common.project_dir.resolve()
    if not (root / FILE).is_file():
        remedy = (
            "name a folder that has one with [tool.millstream], or make a project with `millstream init NAME`"
        )
        raise MillstreamError(Diagnostic("MS101", f"there is no {FILE} in {root}", None, remedy))
    return root


def current() -> Path:
    """Return the current folder, which may have been removed under the shell."""
    try:
        Path.cwd()
    except FileNotFoundError:
        remedy = "go to a folder that is there, or name the project's with --project-dir"
        raise MillstreamError(
            Diagnostic("MS706", "the current folder is not there any more", None, remedy)
        ) from None
    return Path()


def compiled(common: Common, root: Path, *, use_cache: bool = True) -> Compiled:
    """Compile the project, with a progress bar where a person looks on."""
    from millstream.compile import compile_project

    with _progress(common) as progress:
        found = compile_project(
            root,
            target=common.target,
            variables=common.vars,
            profiles_dir=common.profiles_dir,
            use_cache=use_cache,
            progress=progress,
        )
    return structs.replace(found, diagnostics=tuple(with_lines(found.diagnostics, root)))


def chosen(
    common: Common, found: Compiled, choice: Choice, *, with_tests: bool = False
) -> tuple[Graph, Selection]:
    """Return the graph and the nodes of it that are asked for."""
    from millstream.selectors import Selection, SelectionContext, select

    graph = build_graph(found.manifest.nodes)
    states, warnings = _states(common, found, choice.state) if choice.state else (None, ())
    selection = select(
        graph,
        choice.select,
        choice.exclude,
        found.manifest.selectors,
        choice.selector,
        SelectionContext(states),
        with_tests=with_tests,
    )
    return graph, Selection(selection.ids, (*warnings, *selection.diagnostics))


def nothing_chosen(choice: Choice, selection: Selection) -> list[Diagnostic]:
    """Return why nothing is selected, as errors: a name may be mistyped.

    That nothing has changed is an answer: where all selectors ask for it, there is nothing to do.
    """
    if choice.select and all("state:" in text for text in choice.select):
        return []
    told = [each for each in selection.diagnostics if each.code == "MS603"]
    if not told:
        remedy = "`millstream ls` with the same options shows what they select"
        told = [Diagnostic("MS610", "no model is selected", None, remedy)]
    return [structs.replace(each, severity="error") for each in told]


def _states(
    common: Common, found: Compiled, name: str
) -> tuple[Callable[[str], frozenset[str]], tuple[Diagnostic, ...]]:
    """Return what `state:` selectors ask, and warnings of the version that they compare with."""
    from millstream.review.selecting import States
    from millstream.review.version import version_of

    root = root_of(common)
    is_file = name.endswith(".json") or Path(name).is_file()
    old, warnings = older(common, root, None if is_file else name, Path(name) if is_file else None)
    return States(old, version_of("the working tree", found, root)), warnings


def older(
    common: Common, root: Path, name: str | None, manifest: Path | None, *, where_it_left: bool = False
) -> tuple[Version, tuple[Diagnostic, ...]]:
    """Return the version to compare with, by git's name or from a manifest, and warnings."""
    if manifest is not None:
        from millstream.review.version import version_of_manifest

        return version_of_manifest(manifest), ()
    from millstream.review.base_version import older_version

    assert name
    return older_version(
        root,
        name,
        where_it_left=where_it_left,
        target=common.target,
        variables=common.vars,
        profiles_dir=common.profiles_dir,
    )


def failed(found: Compiled) -> bool:
    return any(diagnostic.severity == "error" for diagnostic in found.diagnostics)


def models_in(found: Compiled) -> int:
    return sum(node.kind == "model" for node in found.manifest.nodes.values())


@contextmanager
def _progress(common: Common) -> Iterator[Callable[[str, int, int], None] | None]:
    screen = None if common.look.json or common.look.quiet else console(common.look, sys.stderr)
    if screen is None or not screen.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        tasks = {stage: bar.add_task(name, total=None, visible=False) for stage, name in _STAGES.items()}

        def tell(stage: str, done: int, total: int) -> None:
            if stage in tasks:
                bar.update(tasks[stage], completed=done, total=total, visible=True)

        yield tell
