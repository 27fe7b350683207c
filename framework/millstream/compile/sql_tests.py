"""Data tests in tests/*.sql: queries that return wrong rows."""

from __future__ import annotations

from pathlib import PurePosixPath

from millstream.compile.assemble import test_nodes
from millstream.compile.models import Models
from millstream.errors import Diagnostic
from millstream.manifest import ManifestNode
from millstream.project.data_tests import KINDS
from millstream.project.values import SqlFile

_UNIMPORTANT = frozenset(("MS408", "MS409"))
"""Errors in column names, which are irrelevant in tests."""


def sql_tests(models: Models) -> tuple[list[ManifestNode], list[Diagnostic], dict[str, str]]:
    """Return the tests that are files, the errors, and the SQL of tests in files and macros."""
    nodes: list[ManifestNode] = []
    diagnostics: list[Diagnostic] = []
    sql: dict[str, str] = {}
    for file in models.project.tests:
        node, found, text = _test(models, file)
        nodes.append(node)
        diagnostics += found
        sql[node.id] = text
    for node in test_nodes(models.project):
        if node.test not in KINDS:
            rendered = models.renderer.render(_call(node), {})
            diagnostics += rendered.diagnostics
            sql[node.id] = rendered.sql
    return nodes, diagnostics, sql


def _call(node: ManifestNode) -> SqlFile:
    """Return the call of a test's macro, with the relation, the column and the arguments."""
    relation = _reference(next(id_ for id_ in node.depends_on))
    given = {**node.meta["arguments"]}
    given |= {"column_name": node.meta["column"]} if "column" in node.meta else {}
    arguments = "".join(f", {name}={value!r}" for name, value in given.items() if name not in _ABOUT)
    content = f"{{{{ {node.test}(model={relation}{arguments}) }}}}"
    return SqlFile(node.name, node.path, content, "")


_ABOUT = frozenset(("name", "description", "tags", "where"))


def _reference(id_: str) -> str:
    kind, _, name = id_.partition(".")
    if kind == "source":
        return "source('{}', '{}')".format(*name.split("."))
    return f"ref('{name}')"


def _test(models: Models, file: SqlFile) -> tuple[ManifestNode, list[Diagnostic], str]:
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
    return node, diagnostics, rendered.sql
