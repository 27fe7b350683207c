"""`millstream compile`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from millstream.cli.diagnostics import count_of
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import CommonOptions, SelectionRequest, cli_command, selection_options
from millstream.cli.output import finish_despite_errors
from millstream.cli.project import (
    compile_despite_errors,
    concerned_by_errors,
    end_if_invalid,
    models_in,
    root_of,
    select_existing,
)
from millstream.compile.artifacts import MANIFEST, WrittenFiles, artifact_path, write_artifacts
from millstream.compile.manifest import Compiled
from millstream.core.gc_pause import collector_paused
from millstream.core.node_id import NodeId
from millstream.project.settings import read_settings

if TYPE_CHECKING:
    from millstream.core.errors import Diagnostic
    from millstream.project.values import Project


@cli_command(
    "compile",
    "millstream compile",
    "millstream compile --select orders    # prints its SQL",
    kind=SeveralValues,
    offline=True,
)
@selection_options
@click.option("--no-cache", is_flag=True, help="Ignore cached results and check everything again.")
@collector_paused()
def command(common: CommonOptions, *, request: SelectionRequest, no_cache: bool) -> int:
    """Check the project and write its SQL and manifest.

    All errors are reported, each with its location and remedy. --select limits which SQL is written; the SQL
    of a single selected model is also printed. Nothing is written if a selected model, or one that it reads,
    has an error. If only other models have errors, the SQL of the selected ones is written, but no manifest,
    and the exit code is 0.
    """
    start = time.perf_counter()
    root = root_of(common)
    compiled = compile_despite_errors(
        common, root, request, use_cache=not no_cache, check=unit_test_errors, result={"models": []}
    )
    selection = select_existing(common, compiled, request)
    diagnostics = [*compiled.diagnostics, *selection.diagnostics]
    if request.everything or concerned_by_errors(compiled, selection.ids):
        end_if_invalid(common, compiled, {"models": []})
    ids = [id_ for id_ in selection.ids if id_ in compiled.sql]
    settings, _ = read_settings(root)
    written = write_artifacts(root, settings.target_path, compiled, None if request.everything else ids)
    text: str | None = None
    if len(ids) == 1 and not request.everything:
        text = compiled.sql[ids[0]].strip("\n")
    elif not common.style.quiet:
        text = _summary(compiled, len(ids), settings.target_path, written, time.perf_counter() - start)
    result = {
        "manifest": None if compiled.invalid else f"{settings.target_path}/{MANIFEST}",
        "models": [_model(compiled, id_, settings.target_path) for id_ in ids],
        "written": len(written.changed),
        "removed": list(written.removed),
        "from_cache": compiled.from_cache,
    }
    return finish_despite_errors(
        common.style, diagnostics, result=result, text=text, models=models_in(compiled), failed=False
    )


def unit_test_errors(project: Project, compiled: Compiled) -> list[Diagnostic]:
    """Return why unit tests can't be run as they are written."""
    if not project.unit_tests:
        return []
    from millstream.testing.units.check import unit_test_problems

    return unit_test_problems(project, compiled)


def _model(compiled: Compiled, id_: NodeId, target_path: str) -> dict[str, str]:
    node = compiled.manifest.nodes[id_]
    path = f"{target_path}/{artifact_path(node.compiled_path or '')}"
    return {
        "id": str(id_),
        "name": node.name,
        "path": node.path,
        "compiled_path": path,
        "sql": compiled.sql[id_],
    }


def _summary(compiled: Compiled, models: int, target_path: str, written: WrittenFiles, seconds: float) -> str:
    cached = f" ({compiled.from_cache:,} unchanged)" if compiled.from_cache else ""
    files = f"{count_of(len(written.changed), 'file')} written"
    if written.removed:
        files += f", {count_of(len(written.removed), 'stale file')} removed"
    return f"Compiled {count_of(models, 'model')}{cached} to {target_path}/ in {seconds:.1f} s: {files}."
