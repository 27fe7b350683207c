"""Completion: names in templates and SQL, and keys and values in YAML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from millstream.compile.selectors.methods import BEYOND_NODES, METHODS
from millstream.core.types import UNKNOWN, Row, Type
from millstream.editor.configuration import keys_at, model_options, values_at
from millstream.editor.functions import python_signature, spark_kind, spark_signatures
from millstream.editor.project import EditorProject
from millstream.editor.templates import OpenCall, in_open_tag, open_call, relation_calls
from millstream.editor.values import Cursor, Suggestion
from millstream.editor.yaml_context import YamlContext, yaml_context
from millstream.project.data_tests import KINDS
from millstream.project.selectors_file import FILE as SELECTORS
from millstream.project.values import SqlFile
from millstream.sql.name_map import ScopeColumn, ScopeNames, fields_of, names_in_scope
from millstream.sql.signatures import load_signatures

PLACEHOLDER = "millstream_cursor"
_TYPED = re.compile(r"((?:\w+\.)*)(\w*)$")
_TYPES = (
    "string bigint int double boolean timestamp date decimal(10,2) binary array<string> struct<a: string>"
)


def complete(view: EditorProject, cursor: Cursor) -> list[Suggestion]:
    """Return what can be written at the cursor."""
    if cursor.path.endswith(".sql"):
        if in_open_tag(cursor):
            return list(_in_tag(view, cursor))
        return list(_in_sql(view, cursor))
    if cursor.path.endswith((".yml", ".yaml")):
        return list(_in_yaml(view, cursor))
    return []


# -- templates


def _in_tag(view: EditorProject, cursor: Cursor) -> Iterator[Suggestion]:
    call = open_call(cursor)
    if call is not None and call.text is not None:
        yield from _texts(view, call)
        return
    if call is not None and call.name == "config" and not call.keyword:
        for option in model_options().values():
            yield Suggestion(option.name, "key", "option", option.description, f"{option.name}=")
        return
    for macro in view.models.renderer.library.macros.values():
        yield Suggestion(macro.name, "macro", f"{macro.name}({', '.join(macro.parameters)})", macro.path)
    for name in ("ref", "source", "config", "var", "env_var", "this", "is_test", "target", "log"):
        yield Suggestion(name, "function", "of templates")


def _texts(view: EditorProject, call: OpenCall) -> Iterator[Suggestion]:
    """Yield the texts that an argument can be."""
    typed = len(call.text or "")
    suggestions: Iterable[Suggestion] = ()
    if call.name == "ref":
        suggestions = _relations(view)
    elif call.name == "source":
        suggestions = _sources(view, call.arguments)
    elif call.name == "var":
        suggestions = (Suggestion(name, "value", "variable") for name in sorted(view.project.vars))
    elif call.name == "env_var":
        declared = view.project.settings.env_vars
        suggestions = (Suggestion(name, "value", "environment variable") for name in declared)
    elif call.name == "config" and call.keyword in (options := model_options()):
        suggestions = (Suggestion(value, "value", call.keyword) for value in options[call.keyword].values)
    for suggestion in suggestions:
        yield replace(suggestion, replaces=typed)


def _relations(view: EditorProject) -> Iterator[Suggestion]:
    nodes = view.compiled.manifest.nodes
    for model in view.models.models.values():
        node = nodes.get(model.id)
        kind = str(model.config.get("materialized") or "view")
        yield Suggestion(model.file.name, "model", kind, node.description if node else "")
    for seed in view.project.seeds.values():
        yield Suggestion(seed.name, "seed", "seed", seed.description)


def _sources(view: EditorProject, before: tuple[str, ...]) -> Iterator[Suggestion]:
    sources = view.project.sources.values()
    if not before:
        for name in dict.fromkeys(source.source for source in sources):
            yield Suggestion(name, "source", "source")
        return
    for source in sources:
        if source.source == before[0]:
            yield Suggestion(source.name, "source", source.kind, source.description)


# -- SQL


def _in_sql(view: EditorProject, cursor: Cursor) -> Iterator[Suggestion]:
    typed = _TYPED.search(cursor.before)
    assert typed is not None
    qualifier, word = typed[1].rstrip("."), typed[2]
    scope = scope_at(view, cursor, len(typed[0]), qualifier)
    columns = scope.columns or _columns_of_inputs(view, cursor)
    if qualifier:
        first, *path = qualifier.split(".")
        matching = [column for column in columns if column.relation.lower() == first.lower()]
        if matching and not path:
            yield from (_column(column, len(word)) for column in _distinct(matching))
            return
        for name, type_ in _fields_below(columns, qualifier.split(".")):
            yield Suggestion(name, "field", str(type_), replaces=len(word))
        return
    yield from (_column(column, len(word)) for column in _distinct(columns))
    yield from (Suggestion(name, "column", "of this SELECT", replaces=len(word)) for name in scope.aliases)
    yield from (Suggestion(name, "model", "relation", replaces=len(word)) for name in scope.relations)
    for function in view.project.functions.values():
        detail = python_signature(function)
        yield Suggestion(function.name, "function", detail, function.description, replaces=len(word))
    # All of Spark's functions would take longer to send than to find: an editor asks again with each letter.
    named = (s for s in load_signatures().values() if word and s.name.startswith(word[:1].lower()))
    for signature in named:
        forms = spark_signatures(signature)
        documentation = "\n".join((*forms[1:], spark_kind(signature)))
        yield Suggestion(signature.name, "function", forms[0], documentation.strip(), replaces=len(word))


def scope_at(view: EditorProject, cursor: Cursor, typed: int, qualifier: str) -> ScopeNames:
    """Return what is in scope at the cursor: a placeholder is bound there."""
    start, stop = cursor.offset - typed, _end_of_word(cursor)
    written = f"{qualifier}.{PLACEHOLDER}" if qualifier else PLACEHOLDER
    for before, after in (("", ""), ("", ","), (", ", "")):
        content = f"{cursor.content[:start]}{before}{written}{after}{cursor.content[stop:]}"
        file = view.model_at(cursor.path, content)
        if file is None:
            return ScopeNames()
        scope = _scope(view, file, qualifier)
        if scope.columns or scope.relations:
            return scope
    return ScopeNames()


def _scope(view: EditorProject, file: SqlFile, qualifier: str) -> ScopeNames:
    rendered = view.models.render(file)
    if rendered.failed:
        return ScopeNames()
    position = rendered.sql.find(f"{qualifier}.{PLACEHOLDER}" if qualifier else PLACEHOLDER)
    if position < 0:
        return ScopeNames()
    return names_in_scope(rendered.sql, position, view.models.find_relation, view.project.functions)


def _end_of_word(cursor: Cursor) -> int:
    match = re.compile(r"\w*").match(cursor.content, cursor.offset)
    return match.end() if match else cursor.offset


def _columns_of_inputs(view: EditorProject, cursor: Cursor) -> tuple[ScopeColumn, ...]:
    """Return the columns of all relations that a file names: SQL that can't be parsed has no scope."""
    columns = []
    for call in relation_calls(cursor.content):
        relation = view.models.relations.get(call.id)
        if relation is not None:
            alias = re.compile(r"\s*\}\}\s+(?:as\s+)?(\w+)", re.IGNORECASE).match(
                cursor.content, call.call_stop
            )
            name = alias[1] if alias else call.id.last_name
            columns += [ScopeColumn(c.name, c.type, c.nullable, name) for c in relation.columns]
    return tuple(columns)


def _distinct(columns: Iterable[ScopeColumn]) -> list[ScopeColumn]:
    return list({column.name.lower(): column for column in reversed(list(columns))}.values())[::-1]


def _column(column: ScopeColumn, typed: int) -> Suggestion:
    type_ = "" if column.type == UNKNOWN else f"{column.type}{'' if column.nullable else ' not null'}"
    return Suggestion(column.name, "column", type_, f"of {column.relation}", replaces=typed)


def _fields_below(columns: Iterable[ScopeColumn], path: list[str]) -> Iterator[tuple[str, Type]]:
    """Yield the fields of a struct that a path such as `alias.item` or `item.price` names."""
    for column in columns:
        steps = path[1:] if len(path) > 1 and column.relation.lower() == path[0].lower() else path
        if steps and column.name.lower() == steps[0].lower():
            type_: Type = column.type
            for step in steps[1:]:
                inner = type_.field(step) if isinstance(type_, Row) else None
                type_ = UNKNOWN if inner is None else inner.type
            yield from fields_of(type_)
            return


# -- YAML


def _in_yaml(view: EditorProject, cursor: Cursor) -> Iterator[Suggestion]:
    context = yaml_context(cursor)
    typed = len(context.typed)
    if call := re.search(r"\b(ref|source)\(\s*(?:['\"](\w*)['\"]\s*,\s*)?['\"](\w*)$", cursor.line_before):
        arguments = (call[2],) if call[2] is not None else ()
        found_relations = _relations(view) if call[1] == "ref" else _sources(view, arguments)
        yield from (replace(suggestion, replaces=len(call[3])) for suggestion in found_relations)
        return
    document = (
        "selectors" if cursor.path == SELECTORS else "profiles" if _is_profiles(cursor) else "properties"
    )
    if context.key:
        yield from (replace(s, replaces=typed) for s in _yaml_values(view, document, context))
        return
    for key in keys_at(document, context.path).values():
        if key.name not in context.siblings:
            yield Suggestion(key.name, "key", "", key.description, f"{key.name}: ", typed)
    if context.path and context.path[-1].isdigit():
        yield from (replace(s, replaces=typed) for s in _yaml_values(view, document, context))


def _is_profiles(cursor: Cursor) -> bool:
    return cursor.path.rpartition("/")[2] == "profiles.yml"


def _yaml_values(view: EditorProject, document: str, context: YamlContext) -> Iterator[Suggestion]:
    path = (*context.path, context.key) if context.key else context.path
    if document == "selectors":
        yield from _selectors(view)
        return
    lists = [step for step in path if not step.isdigit()]
    if lists[-1:] in (["tests"], ["data_tests"]):
        yield from (Suggestion(name, "value", "data test") for name in KINDS)
        for macro in view.models.renderer.library.macros.values():
            if macro.parameters[:1] == ("model",):
                yield Suggestion(macro.name, "macro", "a test of this project")
    elif lists == ["models", "name"]:
        yield from (Suggestion(name, "model", "model") for name in view.project.models)
    elif lists == ["seeds", "name"]:
        yield from (Suggestion(name, "seed", "seed") for name in view.project.seeds)
    elif lists == ["functions", "name"]:
        yield from (Suggestion(name, "function", "function") for name in view.project.functions)
    elif lists[-1:] == ["model"]:
        yield from _relations(view)
    elif lists[-2:] == ["columns", "name"]:
        yield from _columns_in_yaml(view, context)
    elif lists[-1:] in (["type"], ["data_type"]) and "columns" in lists:
        yield from (Suggestion(name, "value", "type") for name in _TYPES.split(" "))
    else:
        yield from (Suggestion(value, "value") for value in values_at(document, path))


def _columns_in_yaml(view: EditorProject, context: YamlContext) -> Iterator[Suggestion]:
    nodes = (n for n in view.compiled.manifest.nodes.values() if n.kind in {"model", "seed", "source"})
    node = next((node for node in nodes if node.name == context.relation), None)
    for column in node.columns if node else ():
        yield Suggestion(column.name, "column", column.type, column.description)


def _selectors(view: EditorProject) -> Iterator[Suggestion]:
    nodes = list(view.compiled.manifest.nodes.values())
    for name, method in METHODS.items():
        if name == "fqn":
            continue
        yield Suggestion(f"{name}:", "key", "method")
        values = method.choices or dict.fromkeys(
            str(value) for node in nodes for value in method.values(node, ()) if name in {"tag", "source"}
        )
        yield from (Suggestion(f"{name}:{value}", "value", name) for value in values)
    yield from (Suggestion(f"{name}:", "key", "method") for name in BEYOND_NODES)
    yield from _relations(view)
