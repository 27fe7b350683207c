"""`millstream ls`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from millstream.cli.options import Choice, Common, choosing, common
from millstream.cli.output import finish
from millstream.cli.project import chosen, compiled, failed, models_in, root_of
from millstream.manifest import ManifestNode

KINDS = ("model", "source", "seed", "test", "unit_test", "exposure", "metric")


@click.command(
    "ls",
    epilog=(
        "\b\nExamples:\n  millstream ls --select +orders\n  millstream ls --resource-type model --output path"
    ),
)
@common("name", "path", "selector", alias=("--format",))
@choosing
@click.option(
    "--resource-type", "kinds", multiple=True, type=click.Choice(("all", *KINDS)), help="Only of this type."
)
def command(common: Common, *, choice: Choice, kinds: tuple[str, ...]) -> int:
    """List what the project holds.

    One name a line, in the order of the graph: `project.folder.model`. --output says what is written of
    each: its name, its file's path, or (as by default) a selector that means it alone.
    """
    found = compiled(common, root_of(common))
    if failed(found):
        return finish(common.look, found.diagnostics, models=models_in(found), result={"nodes": []})
    _, selection = chosen(found, choice, with_tests=True)
    nodes = [found.manifest.nodes[id_] for id_ in selection.ids]
    if kinds and "all" not in kinds:
        nodes = [node for node in nodes if node.kind in kinds]
    lines = lines_of(nodes, common.output)
    return finish(
        common.look,
        [*found.diagnostics, *selection.diagnostics],
        result={"nodes": [as_data(node) for node in nodes]},
        text="\n".join(lines) if lines else None,
        models=models_in(found),
    )


def lines_of(nodes: Iterable[ManifestNode], output: str) -> list[str]:
    """Return a line for each node, those of one path only once."""
    match output:
        case "name":
            return [node.name for node in nodes]
        case "path":
            return list(dict.fromkeys(node.path for node in nodes))
        case _:
            return [dotted(node) for node in nodes]


def dotted(node: ManifestNode) -> str:
    """Return dbt's name of a node, which --select takes too: `shop.orders`, `source:shop.web.clicks`."""
    match node.kind:
        case "model" | "seed" | "test":
            return ".".join(node.fqn)
        case "source":
            return f"source:{node.fqn[0]}.{node.id.partition('.')[2]}"
        case kind:
            return f"{kind}:{node.fqn[0]}.{node.name}"


def as_data(node: ManifestNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "resource_type": node.kind,
        "name": node.name,
        "fqn": node.fqn,
        "path": node.path,
        "tags": node.tags,
        "materialized": node.config.get("materialized"),
        "depends_on": node.depends_on,
        "description": node.description,
    }
