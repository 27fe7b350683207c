"""`millstream ls`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click
from msgspec.structs import asdict

from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import CommonOptions, SelectionRequest, cli_command, selection_options
from millstream.cli.output import finish_despite_errors
from millstream.cli.project import (
    compile_despite_errors,
    concerned_by_errors,
    models_in,
    root_of,
    select_existing,
)
from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.core.gc_pause import collector_paused

KINDS = ("model", "source", "seed", "test", "unit_test", "exposure", "metric")
KEYS = ("id", "resource_type", "name", "fqn", "path", "tags", "materialized", "depends_on", "description")
"""The keys of a node in JSON by default."""
MORE_KEYS = tuple(key for key in ManifestNode.__struct_fields__ if key not in {*KEYS, "kind"})


@cli_command(
    "ls",
    "millstream ls --select +orders",
    "millstream ls --resource-type model --output path",
    "millstream ls --output json --output-keys 'name tags'",
    kind=SeveralValues,
    formats=("name", "path", "selector"),
    offline=True,
)
@selection_options
@click.option(
    "--resource-type",
    "kinds",
    multiple=True,
    type=click.Choice(("all", *KINDS)),
    help="Only list nodes of this type.",
)
@click.option(
    "--output-keys",
    multiple=True,
    metavar="KEYS",
    help="Only print these keys of the JSON: 'name tags columns'; may be repeated.",
)
@collector_paused()
def command(
    common: CommonOptions, *, request: SelectionRequest, kinds: tuple[str, ...], output_keys: tuple[str, ...]
) -> int:
    """List the nodes of the project.

    One node per line, in the order of the graph: `project.folder.model`. --output chooses what is printed:
    the name, the path of the file, or (by default) a selector that selects only this node. Errors in the SQL
    of models are reported; the exit code is 2 only if such a model, or what reads it, is selected.
    """
    if output_keys and not common.style.json:
        raise click.UsageError("--output-keys needs --output json")
    keys = keys_of(output_keys)
    compiled = compile_despite_errors(common, root_of(common), request, result={"nodes": []})
    selection = select_existing(common, compiled, request, with_tests=True)
    nodes = [compiled.manifest.nodes[id_] for id_ in selection.ids]
    if kinds and "all" not in kinds:
        nodes = [node for node in nodes if node.kind in kinds]
    lines = lines_of(nodes, common.output)
    return finish_despite_errors(
        common.style,
        [*compiled.diagnostics, *selection.diagnostics],
        result={"nodes": [as_data(node, keys) for node in nodes]},
        text="\n".join(lines) if lines else None,
        models=models_in(compiled),
        failed=concerned_by_errors(compiled, selection.ids),
    )


def keys_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Split the requested keys at blanks and commas; raise one error for each unknown key."""
    keys = tuple(dict.fromkeys(key for text in texts for key in text.replace(",", " ").split()))
    valid_keys = (*KEYS, *MORE_KEYS)
    remedy = f"keys: {', '.join(valid_keys)}"
    unknown = [
        Diagnostic("MS701", f"a node has no key '{key}'", None, did_you_mean(key, valid_keys, remedy))
        for key in keys
        if key not in valid_keys
    ]
    if unknown:
        raise MillstreamError(*unknown)
    return keys or KEYS


def lines_of(nodes: Iterable[ManifestNode], output: str) -> list[str]:
    """Return a line for each node; each path only once."""
    match output:
        case "name":
            return [node.name for node in nodes]
        case "path":
            return list(dict.fromkeys(node.path for node in nodes))
        case _:
            return [dbt_name(node) for node in nodes]


def dbt_name(node: ManifestNode) -> str:
    """Return a node's name as dbt writes it, which is also a selector: `source:shop.web.clicks`."""
    match node.kind:
        case "model" | "seed" | "test":
            return ".".join(node.fqn)
        case "source":
            return f"source:{node.fqn[0]}.{node.id.name}"
        case kind:
            return f"{kind}:{node.fqn[0]}.{node.name}"


def as_data(node: ManifestNode, keys: Iterable[str] = KEYS) -> dict[str, Any]:
    data = asdict(node) | {"resource_type": node.kind, "materialized": node.config.get("materialized")}
    return {key: data[key] for key in keys}
