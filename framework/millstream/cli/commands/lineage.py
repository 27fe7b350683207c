"""`millstream lineage`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from millstream.cli.complete import complete_model
from millstream.cli.options import CommonOptions, SelectionRequest, cli_command, selection_options
from millstream.cli.output import finish_despite_errors
from millstream.cli.project import (
    compile_despite_errors,
    concerned_by_errors,
    models_in,
    root_of,
    select_existing,
)
from millstream.compile.lineage.values import Lineage, LineageEnd
from millstream.compile.manifest import Manifest
from millstream.core.gc_pause import collector_paused

if TYPE_CHECKING:
    from rich.text import Text


@cli_command(
    "lineage",
    "millstream lineage orders",
    "millstream lineage orders.amount --upstream",
    "millstream lineage --select tag:finance --format mermaid",
    formats=("mermaid", "dot"),
    offline=True,
)
@selection_options
@click.option("--upstream", is_flag=True, help="Only show what it depends on.")
@click.option("--downstream", is_flag=True, help="Only show what depends on it.")
@click.option("--depth", type=click.IntRange(min=1), help="How many steps to follow.")
@click.argument("name", metavar="[MODEL[.COLUMN]]", required=False, shell_complete=complete_model)
@collector_paused()
def command(
    common: CommonOptions,
    *,
    request: SelectionRequest,
    upstream: bool,
    downstream: bool,
    depth: int | None,
    name: str | None,
) -> int:
    """Show the lineage of models and columns.

    For a column, each dependency has a kind: its value is passed through (direct) or computed; filter, join,
    group and order determine which rows there are. Without a name, the whole graph is shown. Errors in the
    SQL of models are reported; the exit code is 2 only if what is shown depends on such a model.
    """
    from millstream.compile.lineage.draw import as_data
    from millstream.compile.lineage.find import find_end, lineage_of, whole_graph

    if name and not request.everything:
        raise click.UsageError("a name and --select, --exclude or --selector can't be combined")
    compiled = compile_despite_errors(common, root_of(common), request)
    diagnostics = compiled.diagnostics
    if name:
        both = upstream == downstream
        root = find_end(compiled.manifest, name)
        lineage = lineage_of(
            compiled.manifest, root, upstream=upstream or both, downstream=downstream or both, depth=depth
        )
    else:
        selection = select_existing(common, compiled, request)
        lineage = whole_graph(compiled.manifest, selection.ids)
        diagnostics += selection.diagnostics
    return finish_despite_errors(
        common.style,
        diagnostics,
        result=as_data(lineage),
        text=_drawn(common.output, lineage, compiled.manifest),
        models=models_in(compiled),
        failed=concerned_by_errors(compiled, {end.node for end in lineage.ends}),
    )


def _drawn(output: str, lineage: Lineage, manifest: Manifest) -> str | Text:
    from millstream.cli.tree import draw_lineage
    from millstream.compile.lineage.draw import draw_diagram
    from millstream.core.diagram import write_dot, write_mermaid

    match output:
        case "mermaid":
            return write_mermaid(draw_diagram(lineage))
        case "dot":
            return write_dot(draw_diagram(lineage))
        case "json":
            return ""
        case _:
            by_column = bool(lineage.root and lineage.root.column)
            return draw_lineage(lineage, lambda end: _annotation(manifest, end, by_column=by_column))


def _annotation(manifest: Manifest, end: LineageEnd, *, by_column: bool) -> str:
    """Return what a tree shows after a name: a column's type, a model's materialization."""
    node = manifest.nodes.get(end.node)
    if node is None:
        return ""
    if by_column and not end.column:
        return "(decides which rows exist)"
    if end.column:
        return next((column.type for column in node.columns if column.name == end.column), "")
    stored = node.materialization
    return "" if stored is None or not stored.stored_as else stored.word
