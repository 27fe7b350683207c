"""Loads a project from texts."""

from pathlib import Path
from typing import Any

from millstream.core.errors import Diagnostic
from millstream.project.load import load_files
from millstream.project.profiles import read_target
from millstream.project.settings import read_settings
from millstream.project.values import Project
from millstream.project.variables import merge_variables

SCHEMA = """{"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"},
 "total": {"type": "number"}, "at": {"type": "string", "format": "date-time"}}}"""
TREE = '{"type": "object", "properties": {"next": {"$ref": "#"}}}'


def load(
    root: Path, files: dict[str, str], memo: Any = None, **variables: Any
) -> tuple[Project, list[Diagnostic]]:
    for path, content in {"pyproject.toml": '[tool.millstream]\nname = "shop"\n', **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    settings, _ = read_settings(root)
    merged, _ = merge_variables(settings.vars, variables)
    target, _ = read_target(root, settings, None, None, merged)
    return load_files(root, settings, target, merged, {} if memo is None else memo, {})


def summaries(errors: list[Diagnostic]) -> list[tuple[str, str, str]]:
    """Return codes, files with what the carets stand under, and remedies."""
    return [
        (p.code, f"{p.location.path}: {p.line[p.location.column - 1 : p.location.end - 1]}", p.help)
        for p in sorted(errors, key=lambda p: p.order)
        if p.location
    ]


def topics(root: Path, *rows: str, **files: str) -> tuple[Project, list[Diagnostic]]:
    """Load a project with these topics of a source."""
    entries = "".join(f"      - {{{row}}}\n" for row in rows)
    return load(
        root,
        {
            "models/s.yml": f"sources:\n  - name: shop\n    topics:\n{entries}",
            "schemas/orders.json": SCHEMA,
            "schemas/deep/tree.json": TREE,
            **files,
        },
    )
