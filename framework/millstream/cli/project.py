"""Compiles a project from the common options, and selects nodes of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit
from msgspec import structs

from millstream.cli.diagnostics import with_lines
from millstream.cli.options import CommonOptions, SelectionRequest
from millstream.cli.output import print_result, progress_console
from millstream.compile.graph import build_graph
from millstream.compile.manifest import Compiled
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.settings import FILE, find_project, read_settings

if TYPE_CHECKING:
    from millstream.compile.full import Check
    from millstream.compile.selectors import Selection
    from millstream.project.values import Project, Target
    from millstream.review.version import ReviewedVersion

_STAGES = {"render": "Rendering", "analyse": "Analysing"}


def root_of(common: CommonOptions) -> Path:
    """Return the project's folder: the one given, or the nearest upwards from the current folder."""
    if common.project_dir is None:
        return find_project(current_folder())
    root = common.project_dir.resolve()
    if not (root / FILE).is_file():
        remedy = "name a folder that has one with [tool.millstream], or run `millstream init PATH`"
        raise MillstreamError(Diagnostic("MS101", f"there is no {FILE} in {root}", None, remedy))
    return root


def current_folder() -> Path:
    """Return the current folder; raise if it has been removed."""
    try:
        Path.cwd()
    except FileNotFoundError:
        remedy = "change to an existing folder, or name the project's folder with --project-dir"
        raise MillstreamError(
            Diagnostic("MS706", "the current folder no longer exists", None, remedy)
        ) from None
    return Path()


def project_of(common: CommonOptions, root: Path) -> Project:
    """Return the project with its target as it is connected to: all environment variables must be set."""
    from millstream.compile.cache_files import cached_files
    from millstream.project.load import load_project

    memo = cached_files(root / read_settings(root)[0].target_path)
    return load_project(root, common.target, common.vars, common.profiles_dir, common.environment, memo)


def target_of(common: CommonOptions, root: Path) -> Target:
    from millstream.project.profiles import read_target
    from millstream.project.variables import merge_variables

    settings, _ = read_settings(root)
    variables, _ = merge_variables(settings.vars, common.vars)
    target, diagnostics = read_target(
        root,
        settings,
        common.target,
        common.profiles_dir,
        variables,
        common.environment,
        strict_env=common.strict_env,
    )
    if errors := [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]:
        raise MillstreamError(*errors)
    return target


def compile_for(
    common: CommonOptions, root: Path, *, use_cache: bool = True, check: Check | None = None
) -> Compiled:
    """Compile the project, with a progress bar on a terminal."""
    from millstream.compile import compile_project

    with _progress(common) as progress:
        compiled = compile_project(
            root,
            target=common.target,
            variables=common.vars,
            profiles_dir=common.profiles_dir,
            use_cache=use_cache,
            progress=progress,
            check=check,
            strict_env=common.strict_env,
        )
    return structs.replace(compiled, diagnostics=tuple(with_lines(compiled.diagnostics, root)))


def compile_valid(
    common: CommonOptions,
    root: Path,
    *,
    use_cache: bool = True,
    check: Check | None = None,
    result: Mapping[str, object] | None = None,
) -> Compiled:
    """Compile the project; if it has errors, print them with an empty `result`, and end the command."""
    compiled = compile_for(common, root, use_cache=use_cache, check=check)
    end_if_invalid(common, compiled, result)
    return compiled


def compile_despite_errors(
    common: CommonOptions,
    root: Path,
    request: SelectionRequest,
    *,
    use_cache: bool = True,
    check: Check | None = None,
    result: Mapping[str, object] | None = None,
) -> Compiled:
    """Compile the project; end the command if an error is not that of a single model.

    `state:` selectors need all models, since they compare plans.
    """
    compiled = compile_for(common, root, use_cache=use_cache, check=check)
    if compiled.errors_elsewhere or request.state:
        end_if_invalid(common, compiled, result)
    return compiled


def concerned_by_errors(compiled: Compiled, ids: Collection[NodeId]) -> bool:
    """Return whether a model with errors is one of these nodes, or one of those that they depend on."""
    nodes = compiled.manifest.nodes
    pending, reached = [*ids], set(ids)
    while pending:
        id_ = pending.pop()
        if id_ in compiled.invalid:
            return True
        parents = nodes[id_].depends_on if id_ in nodes else ()
        pending += [parent for parent in parents if parent not in reached]
        reached.update(parents)
    return False


def select_existing(
    common: CommonOptions, compiled: Compiled, request: SelectionRequest, *, with_tests: bool = False
) -> Selection:
    """Select nodes; raise if there are none because of a name that nothing has."""
    selection = select_nodes(common, compiled, request, with_tests=with_tests)
    diagnostics = empty_selection_errors(request, selection) if selection.diagnostics else []
    if diagnostics and not selection.ids:
        raise MillstreamError(*diagnostics)
    return selection


def end_if_invalid(
    common: CommonOptions, compiled: Compiled, result: Mapping[str, object] | None = None
) -> None:
    if any(diagnostic.severity == "error" for diagnostic in compiled.diagnostics):
        raise Exit(
            print_result(common.style, compiled.diagnostics, result=result, models=models_in(compiled))
        )


def select_nodes(
    common: CommonOptions, compiled: Compiled, request: SelectionRequest, *, with_tests: bool = False
) -> Selection:
    from millstream.compile.selectors import Selection, SelectionContext, select_nodes

    states, warnings = _states(common, compiled, request.state) if request.state else (None, ())
    selection = select_nodes(
        build_graph(compiled.manifest.nodes),
        request.select,
        request.exclude,
        compiled.manifest.selectors,
        request.selector,
        SelectionContext(states),
        with_tests=with_tests,
    )
    return Selection(selection.ids, (*warnings, *selection.diagnostics))


def empty_selection_errors(request: SelectionRequest, selection: Selection) -> list[Diagnostic]:
    """Return errors for a selection without models, since a name may be mistyped.

    If all selectors are `state:` selectors, nothing has changed, which is not an error.
    """
    if request.select and all("state:" in text for text in request.select):
        return []
    warnings = [warning for warning in selection.diagnostics if warning.code == "MS603"]
    if not warnings:
        remedy = "`millstream ls` with the same options shows what they select"
        return [Diagnostic("MS610", "no model is selected", None, remedy)]
    return [structs.replace(warning, severity="error") for warning in warnings]


def _states(
    common: CommonOptions, compiled: Compiled, name: str
) -> tuple[Callable[[str], frozenset[NodeId]], tuple[Diagnostic, ...]]:
    """Return a function that evaluates `state:` selectors, and warnings of the version compared with."""
    from millstream.review.selecting import StateSelector
    from millstream.review.version import version_of

    root = root_of(common)
    is_file = name.endswith(".json") or Path(name).is_file()
    old, warnings = older_version(common, root, None if is_file else name, Path(name) if is_file else None)
    return StateSelector(old, version_of("the working tree", compiled, root)), warnings


def older_version(
    common: CommonOptions, root: Path, name: str | None, manifest: Path | None, *, merge_base: bool = False
) -> tuple[ReviewedVersion, tuple[Diagnostic, ...]]:
    """Return the version to compare with, from git or a manifest, and warnings.

    Without both, it is the commit where this branch left the main branch.
    """
    if manifest is not None:
        from millstream.review.version import version_of_manifest

        return version_of_manifest(manifest), ()
    from millstream.review.base_version import version_in_git

    return version_in_git(
        root,
        name,
        merge_base=merge_base,
        target=common.target,
        variables=common.vars,
        profiles_dir=common.profiles_dir,
        strict_env=common.strict_env,
    )


def models_in(compiled: Compiled) -> int:
    return sum(node.kind == "model" for node in compiled.manifest.nodes.values())


@contextmanager
def _progress(common: CommonOptions) -> Iterator[Callable[[str, int, int], None]]:
    """Yield what reports progress, in a bar from the first report on: most commands compile nothing."""
    with ExitStack() as shown:
        bar: list[Callable[[str, int, int], None]] = []

        def report(stage: str, done: int, total: int) -> None:
            if not bar:
                bar.append(shown.enter_context(_bar(common)))
            bar[0](stage, done, total)

        yield report


@contextmanager
def _bar(common: CommonOptions) -> Iterator[Callable[[str, int, int], None]]:
    if (screen := progress_console(common.style)) is None:
        yield lambda _stage, _done, _total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        tasks = {stage: bar.add_task(name, total=None, visible=False) for stage, name in _STAGES.items()}

        def report(stage: str, done: int, total: int) -> None:
            if stage in tasks:
                bar.update(tasks[stage], completed=done, total=total, visible=True)

        yield report
