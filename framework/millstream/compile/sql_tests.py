"""Data tests in tests/*.sql: queries that return wrong rows."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from millstream.compile.assemble import located_tests
from millstream.compile.data_tests import tested_relation
from millstream.compile.manifest import ManifestNode
from millstream.compile.models import ModelCompiler
from millstream.core.errors import Diagnostic, did_you_mean
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.project.data_tests import KINDS, unknown_test
from millstream.project.references import relation_call
from millstream.project.values import SqlFile

_UNIMPORTANT = frozenset(("MS408", "MS409"))
"""Errors in column names, which are irrelevant in tests."""


def sql_tests(models: ModelCompiler) -> tuple[list[ManifestNode], list[Diagnostic], dict[NodeId, str]]:
    """Return all data tests, the errors, and the SQL of tests in files and macros."""
    nodes: list[ManifestNode] = []
    diagnostics: list[Diagnostic] = []
    sql: dict[NodeId, str] = {}
    for file in models.project.tests:
        node, errors, text = _test(models, file)
        nodes.append(node)
        diagnostics += errors
        sql[node.id] = text
    names = {node.id for node in nodes}
    for node, location in located_tests(models.project):
        if node.id in names:
            message = f"there is another data test named '{node.name}'"
            diagnostics.append(Diagnostic("MS109", message, location, "give one of them another name"))
        names.add(node.id)
        if node.test in KINDS:
            nodes.append(node)
        elif diagnostic := _unknown(models, node, location):
            diagnostics.append(diagnostic)
        else:
            rendered = models.renderer.render(_call(node), {})
            misread = models.misread(rendered.references, stored=True)
            diagnostics += [
                _in_yaml(diagnostic, location) for diagnostic in (*rendered.diagnostics, *misread)
            ]
            sql[node.id] = rendered.sql
            # It runs when all that its macro reads is built.
            read = {*node.depends_on, *(reference.id for reference in rendered.references)}
            nodes.append(replace(node, depends_on=tuple(sorted(read))))
    return nodes, diagnostics, sql


def _unknown(models: ModelCompiler, node: ManifestNode, location: Location) -> Diagnostic | None:
    """Report a test that no macro of the project defines."""
    macros = models.renderer.library.macros
    if node.test in macros:
        return None
    if close := did_you_mean(str(node.test), KINDS):
        return Diagnostic("MS107", unknown_test(str(node.test)), location, close)
    arguments = "model, column_name" if "column" in node.meta else "model"
    add = f"add it to macros/: {{% macro {node.test}({arguments}) %}} … {{% endmacro %}}"
    remedy = did_you_mean(node.test, macros, add)
    return Diagnostic("MS202", f"'{node.test}' is undefined: no macro has this name", location, remedy)


def _in_yaml(diagnostic: Diagnostic, location: Location) -> Diagnostic:
    """Return an error in the generated call of a macro at the place where YAML names the test."""
    notes = tuple(
        replace(note, location=location) if note.location and note.location.path == location.path else note
        for note in diagnostic.notes
    )
    if diagnostic.location and diagnostic.location.path != location.path:
        return replace(diagnostic, notes=notes)
    return replace(diagnostic, location=location, line="", notes=notes)


def _call(node: ManifestNode) -> SqlFile:
    """Return the call of a test's macro, with the relation, the column and the arguments."""
    settings = {**node.meta["arguments"]}
    relation = _reference(tested_relation(node))
    if where := settings.get("where"):
        relation = f"'(select * from ' ~ {relation} ~ {f' where {where})'!r}"  # noqa: S608 - of the project
    settings |= {"column_name": node.meta["column"]} if "column" in node.meta else {}
    arguments = "".join(
        f", {name}={_written(value)}" for name, value in settings.items() if name not in _ABOUT
    )
    content = f"{{{{ {node.test}(model={relation}{arguments}) }}}}"
    return SqlFile(node.name, node.path, content, "")


_ABOUT = frozenset(("name", "description", "tags", "where"))
"""Arguments that say something about the test; its macro does not get them."""


def _written(value: Any) -> str:
    """Return an argument as Jinja; as in dbt, a text that is a call of `ref()` gives a relation."""
    match value:
        case str():
            return relation_call(value) or repr(value)
        case dict():
            return f"{{{', '.join(f'{key!r}: {_written(member)}' for key, member in value.items())}}}"
        case list():
            return f"[{', '.join(map(_written, value))}]"
        case _:
            return repr(value)


def _reference(id_: NodeId) -> str:
    kind, name = id_.kind, id_.name
    if kind == "source":
        return "source('{}', '{}')".format(*name.split("."))
    return f"ref('{name}')"


def _test(models: ModelCompiler, file: SqlFile) -> tuple[ManifestNode, list[Diagnostic], str]:
    rendered = models.renderer.render(file, {})
    diagnostics = [*rendered.diagnostics, *models.misread(rendered.references, stored=True)]
    functions: tuple[str, ...] = ()
    if not rendered.failed:
        analysis = models.analysed(rendered)
        functions = analysis.functions
        diagnostics += [
            models.diagnostic(rendered, diagnostic)
            for diagnostic in analysis.diagnostics
            if diagnostic.code not in _UNIMPORTANT
        ]
    options = {name: option.value for name, option in rendered.options.items()}
    tags = options.get("tags") or ()
    tags = (tags,) if isinstance(tags, str) else tags
    if not (isinstance(tags, list | tuple) and all(isinstance(tag, str) for tag in tags)):
        tags_option = rendered.options["tags"]
        message, remedy = "'tags' is not a list of texts", "write a list of texts: tags=['nightly']"
        diagnostics.append(Diagnostic("MS107", message, tags_option.location, remedy, tags_option.line))
        tags = ()
    node = ManifestNode(
        id=NodeId("test", file.name),
        kind="test",
        name=file.name,
        path=file.path,
        fqn=(models.project.settings.name, *PurePosixPath(file.path).parts[1:-1], file.name),
        tags=tuple(tags),
        config={"severity": "error", **options},
        depends_on=tuple(sorted({reference.id for reference in rendered.references})),
        functions=functions,
        compiled_path=f"compiled/{file.path}",
        checksum=file.digest,
    )
    return node, diagnostics, rendered.sql
