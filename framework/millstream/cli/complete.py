"""Shell completion of selectors, with names from the last manifest."""

from __future__ import annotations

import re
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from msgspec import DecodeError, Struct, json

_BEFORE = re.compile(r"(?:.*[\s,])?(?:@|\d*\+)?", re.DOTALL)
METHODS = (
    "tag:",
    "path:",
    "source:",
    "config.materialized:",
    "resource_type:",
    "file:",
    "exposure:",
    "test_type:",
)


class _Node(Struct):
    kind: str
    name: str
    tags: tuple[str, ...] = ()


class _Manifest(Struct):
    nodes: dict[str, _Node]


def complete_selector(
    context: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the last word of a selector: a name, a method or a tag."""
    before = match.group() if (match := _BEFORE.match(incomplete)) else ""
    word = incomplete[len(before) :]
    return [
        CompletionItem(before + value) for value in _values(_last_manifest(context)) if value.startswith(word)
    ]


def complete_accepted(
    context: click.Context, option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete what is accepted: `stored:` or `mixed:`, then a selector."""
    kind, colon, rest = incomplete.partition(":")
    if not colon:
        return [CompletionItem(prefix) for prefix in ("stored:", "mixed:") if prefix.startswith(kind)]
    return [
        CompletionItem(f"{kind}:{completion.value}")
        for completion in complete_selector(context, option, rest)
    ]


def complete_model(
    context: click.Context, _argument: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    names = (node.name for node in _last_manifest(context).nodes.values() if node.kind in {"model", "seed"})
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def _values(manifest: _Manifest) -> list[str]:
    nodes = manifest.nodes.items()
    names = {node.name for _, node in nodes if node.kind in {"model", "seed"}}
    sources = {f"source:{id_.partition('.')[2]}" for id_, node in nodes if node.kind == "source"}
    tags = {f"tag:{tag}" for _, node in nodes for tag in node.tags}
    return [*sorted(names), *METHODS, *sorted(sources | tags)]


def _last_manifest(context: click.Context) -> _Manifest:
    from millstream.core.errors import MillstreamError
    from millstream.project.files import open_regular
    from millstream.project.settings import find_project, read_settings

    try:
        root = context.params.get("project_dir") or find_project(Path())
        settings, _ = read_settings(Path(root))
        with open_regular(Path(root) / settings.target_path / "manifest.json") as file:
            return json.decode(file.readall(), type=_Manifest)
    except (OSError, DecodeError, MillstreamError):
        # Nothing is compiled yet, and a shell shows no errors here.
        return _Manifest({})
