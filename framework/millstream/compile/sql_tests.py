"""Data tests of tests/*.sql: queries that return the rows that are wrong."""

from __future__ import annotations

from pathlib import PurePosixPath

from millstream.compile.models import Models
from millstream.errors import Diagnostic
from millstream.manifest import ManifestNode
from millstream.project.values import SqlFile

_UNIMPORTANT = frozenset(("MS408", "MS409"))
"""Nobody reads the columns of a test by name."""


def sql_tests(models: Models) -> tuple[list[ManifestNode], list[Diagnostic]]:
    nodes: list[ManifestNode] = []
    diagnostics: list[Diagnostic] = []
    for file in models.project.tests:
        node, found = _test(models, file)
        nodes.append(node)
        diagnostics += found
    return nodes, diagnostics


def _test(models: Models, file: SqlFile) -> tuple[ManifestNode, list[Diagnostic]]:
    rendered = models.renderer.render(file, {})
    diagnostics = list(rendered.diagnostics)
    functions: tuple[str, ...] = ()
    if not rendered.failed:
        analysis = models.analysed(rendered)
        functions = analysis.functions
        diagnostics += [
            models.diagnostic(rendered, problem)
            for problem in analysis.problems
            if problem.code not in _UNIMPORTANT
        ]
    options = {name: option.value for name, option in rendered.options.items()}
    tags = options.get("tags") or ()
    node = ManifestNode(
        id=f"test.{file.name}",
        kind="test",
        name=file.name,
        path=file.path,
        fqn=(models.project.settings.name, *PurePosixPath(file.path).parts[1:-1], file.name),
        tags=(tags,) if isinstance(tags, str) else tuple(tags),
        config={"severity": "error", **options},
        depends_on=tuple(sorted({reference.id for reference in rendered.references})),
        functions=functions,
        compiled_path=f"compiled/{file.path}",
        checksum=file.digest,
    )
    return node, diagnostics
