"""Compiles a project into a job of the runner, for `build`, `run`, `plan`, `apply` and `regroup`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit
from msgspec import structs

from millstream.cli.environments import defer_unchanged
from millstream.cli.options import CommonOptions, RangeOptions, SelectionRequest, StateOptions
from millstream.cli.output import print_result
from millstream.cli.project import (
    compile_valid,
    empty_selection_errors,
    models_in,
    project_of,
    select_nodes,
)
from millstream.cli.times import parse_time
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from millstream.compile.manifest import Compiled
    from millstream.deploy.planning.intents import Intent
    from millstream.deploy.values import Job
    from millstream.project.values import Project
    from millstream.queries.topology import Topology
    from millstream.queries.verdict import AcceptedModels

_SHOWN = 8
_DEPRECATED = Diagnostic(
    "MS612",
    "--accept-forward accepts whatever an edit does to all models",
    None,
    "use --accept, which `millstream plan` prints for each query",
    severity="warning",
)


def compiled_job(
    common: CommonOptions,
    root: Path,
    request: SelectionRequest,
    changes: StateOptions,
    *,
    tests: bool = True,
    part: RangeOptions | None = None,
) -> tuple[Compiled, Job, Sequence[Diagnostic]]:
    """Return the compiled project, its job, and diagnostics; end the command if there is nothing to do.

    Without `tests`, rows are not checked by data tests before they are stored. With `part`, rows of its times
    are computed again.
    """
    if part is not None:
        _check_range(part, changes)
    compiled = compile_valid(common, root)
    every = {id_ for id_, node in compiled.manifest.nodes.items() if node.kind == "model"}
    models, warnings = _select_models(common, compiled, request) if every else (frozenset(), ())
    if every and not models:
        diagnostics = (*compiled.diagnostics, *warnings)
        raise Exit(print_result(common.style, diagnostics, models=models_in(compiled)))
    rebuild_request = structs.replace(request, select=changes.rebuild, exclude=(), selector=None)
    rebuild, more = (
        _select_models(common, compiled, rebuild_request) if changes.rebuild else (frozenset(), ())
    )
    accepted = _accepted(common, compiled, changes)
    if changes.accept_forward:
        more = (*more, _DEPRECATED)

    from millstream.compile.artifacts import manifest_file
    from millstream.deploy.checkpoints.files import local_lock
    from millstream.deploy.values import Job
    from millstream.project.folders import checkpoints_of
    from millstream.queries.topology import compiled_topology, physical_of
    from millstream.results.run_results import read_results

    compiled, project = defer_unchanged(root, compiled, project_of(common, root))
    before = read_results(root / project.settings.target_path, project.settings.name, project.target.title)
    topology = compiled_topology(compiled, before, tests=tests)
    lock = None if changes.regroup else local_lock(checkpoints_of(project.target, root))
    selected = None if every <= models else models
    intent = _intent(changes, rebuild, accepted)
    if part is not None and part.requested:
        intent = _with_ranges(intent, part, topology, project, selected)
    job = Job(
        project,
        topology,
        physical_of(topology, lock),
        lock,
        selected,
        intent=intent,
        manifest=manifest_file(compiled),
        wait=changes.wait,
    )
    more = (*more, *_also_built(job), *_views_alone(job), *_unsent_letters(job))
    return compiled, job, [*compiled.diagnostics, *warnings, *more]


def _select_models(
    common: CommonOptions, compiled: Compiled, request: SelectionRequest
) -> tuple[frozenset[NodeId], Sequence[Diagnostic]]:
    """Return the selected models and warnings; raise if none is selected by mistake."""
    selection = select_nodes(common, compiled, request)
    nodes = compiled.manifest.nodes
    models = frozenset(id_ for id_ in selection.ids if nodes[id_].kind == "model")
    if not models and (diagnostics := empty_selection_errors(request, selection)):
        raise MillstreamError(*diagnostics)
    return models, selection.diagnostics


def _also_built(job: Job) -> Iterator[Diagnostic]:
    """Yield a warning for each query that also computes models that are not selected."""
    from millstream.deploy.planning.intents import FullRefresh, Update
    from millstream.deploy.planning.query_selection import choose_queries

    if job.models is None or isinstance(job.intent, FullRefresh):
        return  # models that start again leave the queries of others
    rebuilt = job.intent.rebuild if isinstance(job.intent, Update) else frozenset()
    for query in choose_queries(job.physical.queries, job.models):
        stored = [model for model in query.stored if model.kind == "model"]
        if rebuilt.issuperset(job.models.intersection(stored)):
            continue
        selected = [model.name for model in stored if model in job.models]
        others = [model.name for model in stored if model not in job.models]
        if others:
            computed = f"query {query.name} computes {_quoted_names([model.name for model in stored])}"
            message = f"{_quoted_names(others)} will be built, too: {computed}"
            remedy = (
                f"for a separate query, set config(group='{(selected or others)[0]}') in the model, or "
                "`grouping: off` for the target; that query starts from the beginning of its sources"
            )
            yield Diagnostic("MS611", message, None, remedy, severity="warning")


def _views_alone(job: Job) -> Iterator[Diagnostic]:
    """Yield a warning if the selected models are views, which the queries of their readers compute."""
    from millstream.deploy.planning.query_selection import choose_queries

    if job.models is None or choose_queries(job.physical.queries, job.models):
        return
    names = sorted(job.models)
    are, them = ("is a view", "it") if len(names) == 1 else ("are views", "them")
    remedy = f"select what reads {them}, too: --select {names[0].shown_name}+"
    yield Diagnostic(
        "MS613",
        f"{_quoted_names([id_.shown_name for id_ in names])} {are}, so nothing is stored",
        None,
        remedy,
        severity="warning",
    )


def _unsent_letters(job: Job) -> Iterator[Diagnostic]:
    """Yield a warning for each source whose dead letters wait for a query that is not selected."""
    from millstream.deploy.planning.query_selection import choose_queries, senders_of_letters

    if job.models is None:
        return
    chosen = choose_queries(job.physical.queries, job.models)
    for source, query in senders_of_letters(job.physical.queries, chosen).items():
        names = [name.shown_name for name in query.stored if name.kind == "model"]
        message = (
            f"dead letters of {source.name} are sent by query {query.name}, which is not "
            "selected: they are sent when it runs"
        )
        remedy = f"to send them now, also select one of its models: --select {names[0]}"
        yield Diagnostic("MS614", message, None, remedy, severity="warning")


def _quoted_names(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" for name in names[:_SHOWN]]
    quoted += [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _accepted(common: CommonOptions, compiled: Compiled, changes: StateOptions) -> AcceptedModels:
    """Return the models for which users accept that queries continue."""
    from millstream.queries.verdict import AcceptedModels

    ids: dict[str, frozenset[NodeId]] = {}
    for kind in ("stored", "mixed"):
        texts = tuple(
            text for prefix, _, text in (a.partition(":") for a in changes.accept) if prefix == kind
        )
        if texts:
            request = SelectionRequest(select=texts)
            selection = select_nodes(common, compiled, request)
            if not selection.ids:
                raise MillstreamError(*empty_selection_errors(request, selection))
            ids[kind] = frozenset(selection.ids)
    return AcceptedModels(everything=changes.accept_forward, **ids)


def _check_range(part: RangeOptions, changes: StateOptions) -> None:
    if part.accept_fewer_rows and not part.requested:
        raise click.UsageError("--accept-fewer-rows needs --from and --to")
    if part.requested and None in {part.start, part.end}:
        raise click.UsageError("a range needs both --from and --to")
    if part.requested and (changes.rebuild or changes.full_refresh):
        reason = "--rebuild and --full-refresh compute all rows again"
        raise click.UsageError(f"{reason}: leave out --from and --to")


def _with_ranges(
    intent: Intent,
    part: RangeOptions,
    topology: Topology,
    project: Project,
    models: frozenset[NodeId] | None,
) -> Intent:
    """Return the intent with the ranges of the selected tables; raise if one can't be computed again."""
    from zoneinfo import ZoneInfo

    from millstream.deploy.planning.intents import Update
    from millstream.deploy.planning.ranges import RequestedTimes, ranges_of

    assert isinstance(intent, Update)
    zone = ZoneInfo(project.target.settings.get("timezone", "UTC"))
    start, end = (parse_time(text, zone) for text in (part.start, part.end) if text is not None)
    if start >= end:
        raise click.UsageError(f"--to {part.end} is not after --from {part.start}")
    ranges = ranges_of(topology, project, models, RequestedTimes(start, end))
    return structs.replace(intent, ranges=ranges, fewer_rows=part.accept_fewer_rows)


def _intent(changes: StateOptions, rebuild: frozenset[NodeId], accepted: AcceptedModels) -> Intent:
    from millstream.deploy.planning.intents import FullRefresh, Regroup, Update

    if changes.full_refresh:
        return FullRefresh()
    return Regroup() if changes.regroup else Update(rebuild, accepted)
