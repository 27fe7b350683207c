"""What is at a cursor, where it is declared, and where it is used: the base of several features."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.core.text import FileText, Location
from millstream.editor.project import EditorProject, ModelNames
from millstream.editor.templates import relation_calls, tag_at, word_at
from millstream.editor.values import Cursor
from millstream.editor.yaml_names import YamlName, yaml_name_at, yaml_names
from millstream.project.values import SqlFile
from millstream.sql.name_map import SqlName, root_of


class NodeSymbol(Struct, frozen=True):
    """A model, source or seed."""

    id: NodeId


class ColumnSymbol(Struct, frozen=True):
    """A column of a model, source or seed."""

    node: NodeId
    column: str


class LocalSymbol(Struct, frozen=True):
    """A CTE, or a column of one, which no other file knows."""

    model: str
    span: tuple[int, int]
    """Where the rendered SQL declares it."""


class MacroSymbol(Struct, frozen=True):
    name: str


class FunctionSymbol(Struct, frozen=True):
    """A Python function of the project, or one of Spark."""

    name: str


Symbol = NodeSymbol | ColumnSymbol | LocalSymbol | MacroSymbol | FunctionSymbol


class SymbolAt(Struct, frozen=True):
    """A symbol, and the span in the file that names it."""

    symbol: Symbol
    location: Location
    name: SqlName | None = None
    """Its name in the SQL, if it has one there."""


def symbol_at(view: EditorProject, cursor: Cursor) -> SymbolAt | None:
    """Return what is at the cursor; None if it is nothing that other places name."""
    text = FileText(cursor.path, cursor.content)
    for call in relation_calls(cursor.content):
        if call.call_start <= cursor.offset <= call.call_stop:
            id_ = _as_seed(view, call.id)
            return SymbolAt(NodeSymbol(id_), text.location(call.start, call.stop))
    word, start, stop = word_at(cursor.content, cursor.offset)
    location = text.location(start, stop)
    if cursor.path.endswith(".sql"):
        return _in_sql(view, cursor, word, location)
    if cursor.path.endswith((".yml", ".yaml")) and (yaml_name := yaml_name_at(cursor)) is not None:
        symbol = _of_yaml(view, yaml_name)
        return None if symbol is None else SymbolAt(symbol, yaml_name.location)
    if cursor.path.endswith(".py") and word in view.project.functions:
        return SymbolAt(FunctionSymbol(word), location)
    return None


def _as_seed(view: EditorProject, id_: NodeId) -> NodeId:
    """Return the seed that `ref` names if there is no such model."""
    is_seed = id_.kind == "model" and id_.name in view.project.seeds and id_.name not in view.project.models
    return NodeId("seed", id_.name) if is_seed else id_


def _of_yaml(view: EditorProject, yaml_name: YamlName) -> Symbol | None:
    if yaml_name.column:
        return ColumnSymbol(yaml_name.node, yaml_name.column)
    if yaml_name.node.kind in {"model", "source", "seed"}:
        return NodeSymbol(_as_seed(view, yaml_name.node))
    if yaml_name.node.kind == "function":
        return FunctionSymbol(yaml_name.node.name)
    if yaml_name.test in view.models.renderer.library.macros:
        return MacroSymbol(yaml_name.test)
    return None


def _in_sql(view: EditorProject, cursor: Cursor, word: str, location: Location) -> SymbolAt | None:
    macros = view.models.renderer.library.macros
    if tag_at(cursor.content, cursor.offset) is not None and word in macros:
        return SymbolAt(MacroSymbol(word), location)
    file = view.model_at(cursor.path, cursor.content)
    if file is None:
        return None
    names = view.names_of(file)
    name = name_at(names, cursor)
    if name is None:
        return None
    symbol = symbol_of(file, names, name)
    return None if symbol is None else SymbolAt(symbol, view.locate(names, name.start, name.stop), name)


def name_at(names: ModelNames, cursor: Cursor) -> SqlName | None:
    """Return the name at the cursor: of several, the shortest."""
    matches: list[tuple[int, SqlName]] = []
    for name in names.map.names:
        origin = names.rendered.spans.origin(name.start, name.stop)
        if origin and origin.path == cursor.path and origin.start <= cursor.offset <= origin.stop:
            matches.append((origin.stop - origin.start, name))
    return min(matches, key=lambda match: (match[0], match[1].start), default=(0, None))[1]


def symbol_of(file: SqlFile, names: ModelNames, name: SqlName) -> Symbol | None:
    """Return what a name of a model's SQL means; what is only passed on means its origin."""
    if name.kind == "function":
        return FunctionSymbol(name.name)
    if name.kind == "relation":
        return NodeSymbol(name.node)
    if name.kind == "cte":
        return LocalSymbol(file.name, name.declared) if name.declared else None
    by_start = names.map.by_start()
    node, column, span = root_of(by_start, name)
    if node:
        return ColumnSymbol(node, column)
    if span is None:
        return None
    declared = by_start.get(span[0])
    if declared is not None and declared.output:
        return ColumnSymbol(NodeId("model", file.name), declared.output)
    return LocalSymbol(file.name, span)


# -- declarations


def declaration_of(view: EditorProject, symbol: Symbol) -> Location | None:
    """Return where a symbol is declared."""
    match symbol:
        case NodeSymbol(id=id_):
            return node_location(view, id_)
        case ColumnSymbol(node=node, column=column):
            return column_location(view, node, column)
        case LocalSymbol(model=model, span=span):
            file = view.project.models.get(model)
            return None if file is None else view.locate(view.names_of(file), *span)
        case MacroSymbol(name=name):
            return macro_location(view, name)
        case FunctionSymbol(name=name):
            function = view.project.functions.get(name)
            return function.location if function else None


def node_location(view: EditorProject, id_: NodeId) -> Location | None:
    project = view.project
    match id_.kind:
        case "model":
            file = project.models.get(id_.name)
            return Location(file.path, 1, 1, 1) if file else None
        case "source":
            source = project.sources.get(id_.name)
            return source.location if source else None
        case "seed":
            seed = project.seeds.get(id_.name)
            return Location(seed.path, 1, 1, 1) if seed else None
        case _:
            return None


def column_location(view: EditorProject, node: NodeId, column: str) -> Location | None:
    """Return where a relation's column is computed or declared; one behind a star, at its origin."""
    file = view.file_of(node)
    if file is not None:
        names = view.names_of(file)
        for name in names.map.names:
            if name.output.lower() == column.lower():
                return view.locate(names, name.start, name.stop)
        for passed, (origin, origin_column) in names.map.passed.items():
            if passed.lower() == column.lower():
                return column_location(view, origin, origin_column)
    declared = [
        yaml_name for yaml_name in declared_columns(view, node) if yaml_name[0].lower() == column.lower()
    ]
    return declared[0][1] if declared else node_location(view, node)


def declared_columns(view: EditorProject, node: NodeId) -> Iterator[tuple[str, Location]]:
    """Yield the columns that YAML, or the first line of a seed, declares."""
    project = view.project
    match node.kind:
        case "model":
            properties = project.properties.get(node.name)
            columns = properties.columns if properties else ()
        case "source":
            source = project.sources.get(node.name)
            columns = source.columns if source else ()
        case "seed":
            seed = project.seeds.get(node.name)
            columns = seed.columns if seed else ()
        case _:
            columns = ()
    yield from ((column.name, column.location) for column in columns)


def macro_location(view: EditorProject, name: str) -> Location | None:
    macro = view.models.renderer.library.macros.get(name)
    if macro is None:
        return None
    text = view.text(macro.path)
    start = text.content.find(name, macro.offset)
    return text.location(start, start + len(name))


# -- uses


def uses_of(view: EditorProject, symbol: Symbol) -> list[Location]:
    """Return where a symbol is used, without its declaration, each once and in order."""
    match symbol:
        case NodeSymbol(id=id_):
            locations = _node_uses(view, id_)
        case ColumnSymbol(node=node, column=column):
            locations = column_uses(view, node, column)
        case LocalSymbol(model=model):
            file = view.project.models.get(model)
            locations = iter(()) if file is None else _uses_in(view, file, symbol)
        case MacroSymbol(name=name):
            locations = _macro_uses(view, name)
        case FunctionSymbol(name=name):
            locations = _function_uses(view, name)
    return sorted(set(locations))


def _uses_in(view: EditorProject, file: SqlFile, symbol: Symbol) -> Iterator[Location]:
    names = view.names_of(file)
    for name in names.map.names:
        if symbol_of(file, names, name) == symbol and (
            not isinstance(symbol, LocalSymbol) or (name.start, name.stop) != symbol.span
        ):
            yield view.locate(names, name.start, name.stop)


def _node_uses(view: EditorProject, id_: NodeId) -> Iterator[Location]:
    for model in view.readers_of(id_):
        yield from (r.location for r in model.references if r.id == id_ and r.location is not None)
    for path in view.yaml_paths():
        text = view.text(path)
        for call in relation_calls(text.content):
            if _as_seed(view, call.id) == id_:
                yield text.location(call.start, call.stop)
        yield from (
            yaml_name.location
            for yaml_name in yaml_names(text)
            if yaml_name.node == id_ and not yaml_name.column
        )


def column_uses(view: EditorProject, node: NodeId, column: str) -> Iterator[Location]:
    """Yield where a column is read or described; a star passes it on to further readers."""
    pending, seen = [(node, column)], set[tuple[NodeId, str]]()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        symbol = ColumnSymbol(*current)
        declared = column_location(view, *current)
        declaring = view.file_of(current[0])
        files = [declaring] if declaring else []
        for file in [*files, *(model.file for model in view.readers_of(current[0]))]:
            yield from (location for location in _uses_in(view, file, symbol) if location != declared)
            passed = view.names_of(file).map.passed.items()
            pending += [
                (NodeId("model", file.name), name)
                for name, origin in passed
                if origin == current and file is not declaring
            ]
        for path in view.yaml_paths():
            for yaml_name in yaml_names(view.text(path)):
                if (yaml_name.node, yaml_name.column.lower()) == (current[0], current[1].lower()):
                    yield yaml_name.location


def _macro_uses(view: EditorProject, name: str) -> Iterator[Location]:
    word = re.compile(rf"\b{re.escape(name)}\b")
    declared = macro_location(view, name)
    files = [model.file for model in view.models.models.values() if name in model.uses.names]
    for file in [*files, *view.project.macros, *view.project.tests]:
        text = FileText(file.path, file.content)
        for match in word.finditer(file.content):
            location = text.location(*match.span())
            quoted = file.content[match.start() - 1 : match.start()] in {"'", '"'}
            if not quoted and tag_at(file.content, match.start()) is not None and location != declared:
                yield location


def _function_uses(view: EditorProject, name: str) -> Iterator[Location]:
    for model in view.models.models.values():
        if model.node is not None and name in model.node.functions:
            names = view.names_of(model.file)
            for used in names.map.names:
                if used.kind == "function" and used.name == name:
                    yield view.locate(names, used.start, used.stop)
