"""Renames of models, columns and CTEs across a project, checked by compiling the result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.text import FileText, Location
from millstream.editor.csv_names import header_location
from millstream.editor.project import EditorProject, OpenProject, absolute
from millstream.editor.symbols import (
    ColumnSymbol,
    LocalSymbol,
    NodeSymbol,
    Symbol,
    SymbolAt,
    declaration_of,
    symbol_at,
    symbol_of,
    uses_of,
)
from millstream.editor.templates import relation_calls
from millstream.editor.values import Changes, Cursor, FileRename, TextChange
from millstream.editor.yaml_names import column_mentions, fixtures_of, selected_names, yaml_names
from millstream.project.references import IDENTIFIER
from millstream.project.selectors_file import FILE as SELECTORS
from millstream.project.unsaved import Unsaved
from millstream.project.values import SqlFile
from millstream.sql.name_map import SqlName
from millstream.testing.units.rows import fixture_file

_CONFIG = re.compile(r"\bconfig\((?:[^()]|\([^()]*\))*\)")


def renamed_at(view: EditorProject, cursor: Cursor) -> SymbolAt:
    """Return what a rename at the cursor renames; raise if it can't be renamed."""
    at_cursor = symbol_at(view, cursor)
    symbol = _renamable(view, cursor, at_cursor) if at_cursor else None
    if at_cursor is None or symbol is None:
        raise _refused("models, their columns and CTEs can be renamed", "place the cursor on one of them")
    return SymbolAt(symbol, at_cursor.location, at_cursor.name)


def _renamable(view: EditorProject, cursor: Cursor, at_cursor: SymbolAt) -> Symbol | None:
    match at_cursor.symbol:
        case NodeSymbol(id=id_) if id_.kind == "model":
            return at_cursor.symbol
        case ColumnSymbol(node=node) if node.kind in {"model", "seed"}:
            return at_cursor.symbol
        case ColumnSymbol() if at_cursor.name is not None and at_cursor.name.output:
            # Records have the column of a source: only this model's is renamed.
            file = view.model_at(cursor.path, cursor.content)
            return ColumnSymbol(NodeId("model", file.name), at_cursor.name.output) if file else None
        case LocalSymbol():
            return at_cursor.symbol
        case _:
            return None


def rename(
    project: OpenProject, view: EditorProject, unsaved: Unsaved, cursor: Cursor, new_name: str
) -> Changes:
    """Return the changes of a rename; raise if the project would have errors that it does not have now."""
    symbol = renamed_at(view, cursor).symbol
    if not IDENTIFIER.match(new_name):
        raise _refused(f"'{new_name}' can't be a name", "use letters, digits and '_'")
    match symbol:
        case NodeSymbol(id=id_):
            changes = _rename_model(view, id_, new_name)
        case ColumnSymbol(node=node, column=column):
            changes = Changes(tuple(_column_changes(view, node, column, new_name)))
        case _:
            declared = declaration_of(view, symbol)
            locations = {*uses_of(view, symbol), *([declared] if declared else ())}
            changes = Changes(tuple(TextChange(location, new_name) for location in sorted(locations)))
    changes = Changes(tuple(dict.fromkeys(changes.texts)), changes.files)
    _check(project, view, unsaved, changes, new_name)
    return changes


# -- models


def _rename_model(view: EditorProject, id_: NodeId, new_name: str) -> Changes:
    file = view.file_of(id_)
    if file is None or new_name in view.project.models:
        raise _refused(f"a model '{new_name}' exists", "use another name")
    texts: list[TextChange] = []
    for path in [*(model.file.path for model in view.models.models.values()), *view.yaml_paths()]:
        text = view.text(path)
        spans = [(call.start, call.stop) for call in relation_calls(text.content) if call.id == id_]
        texts += [TextChange(text.location(*span), new_name) for span in spans]
    for path in view.yaml_paths():
        texts += [
            TextChange(name.location, new_name)
            for name in yaml_names(view.text(path))
            if name.node == id_ and not name.column
        ]
    texts += [TextChange(location, new_name) for location in selected_names(view.text(SELECTORS), id_.name)]
    new_path = f"{file.path.rpartition('/')[0]}/{new_name}.sql"
    return Changes(tuple(texts), (FileRename(file.path, new_path),))


# -- columns


def _column_changes(view: EditorProject, node: NodeId, column: str, new_name: str) -> Iterator[TextChange]:
    """Yield the changes in a model and its readers; those keep the names of their own columns."""
    pending, seen = [(node, column)], set[tuple[NodeId, str]]()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        model = view.file_of(current[0])
        if model is not None:
            yield from _in_own_file(view, model, current, new_name)
            yield from _in_config(view, model, current[1], new_name)
        for reader in view.readers_of(current[0]):
            yield from _in_reader(view, reader.file, ColumnSymbol(*current), new_name)
            passed = view.names_of(reader.file).map.passed
            pending += [
                (reader.id, name)
                for name, (origin, origin_column) in passed.items()
                if (origin, origin_column.lower()) == (current[0], current[1].lower())
            ]
        for path in view.yaml_paths():
            text = view.text(path)
            for name in yaml_names(text):
                if (name.node, name.column.lower()) == (current[0], current[1].lower()):
                    yield TextChange(name.location, new_name)
            for location in column_mentions(text, *current):
                yield TextChange(location, new_name)
        for text in _csv_files(view, current[0]):
            if (header := header_location(text, current[1])) is not None:
                yield TextChange(header, new_name)


def _csv_files(view: EditorProject, node: NodeId) -> Iterator[FileText]:
    """Yield a seed's file, and those that unit tests read rows of a relation from."""
    seed = view.project.seeds.get(node.name) if node.kind == "seed" else None
    if seed is not None:
        yield view.text(seed.path)
    for path in view.yaml_paths():
        for name in fixtures_of(view.text(path), node):
            fixture = fixture_file(view.root, name)
            if fixture is not None:
                yield view.text(fixture.relative_to(view.root).as_posix())


def _in_own_file(
    view: EditorProject, file: SqlFile, column: tuple[NodeId, str], new_name: str
) -> Iterator[TextChange]:
    names = view.names_of(file)
    symbol = ColumnSymbol(*column)
    for name in names.map.names:
        if name.kind != "column":
            continue
        location = view.locate(names, name.start, name.stop)
        if name.output.lower() == column[1].lower() and name.bare:
            yield _after(location, f" as {new_name}")
        elif symbol_of(file, names, name) == symbol:
            yield TextChange(location, new_name)


def _in_reader(
    view: EditorProject, file: SqlFile, symbol: ColumnSymbol, new_name: str
) -> Iterator[TextChange]:
    names = view.names_of(file)
    for name in names.map.names:
        if name.kind == "column" and symbol_of(file, names, name) == symbol:
            location = view.locate(names, name.start, name.stop)
            yield TextChange(location, _in_select_list(name, new_name))


def _in_select_list(name: SqlName, new_name: str) -> str:
    return f"{new_name} as {name.output}" if name.bare and name.output else new_name


def _after(location: Location, text: str) -> TextChange:
    return TextChange(Location(location.path, location.line, location.end, location.end), text)


def _in_config(view: EditorProject, file: SqlFile, column: str, new_name: str) -> Iterator[TextChange]:
    """Yield the changes of options that name the column: `config(unique_key='user_id')`."""
    text = view.text(file.path)
    for call in _CONFIG.finditer(text.content):
        for match in re.finditer(rf"(['\"]){re.escape(column)}(?=\1)", call[0]):
            start = call.start() + match.start() + 1
            yield TextChange(text.location(start, start + len(column)), new_name)


# -- the result


def _check(
    project: OpenProject, view: EditorProject, unsaved: Unsaved, changes: Changes, new_name: str
) -> None:
    """Raise if the project would have an error that it does not have now."""
    changed = {**unsaved, **changed_contents(view, changes)}
    result, diagnostics = project.preview(changed)
    before = {(diagnostic.code, diagnostic.message) for diagnostic in view.compiled.diagnostics}
    worse = [d for d in diagnostics if d.severity == "error" and (d.code, d.message) not in before]
    if worse:
        where = f" ({worse[0].location})" if worse[0].location else ""
        reason = f"with '{new_name}', the project would have an error: {worse[0].message}{where}"
        raise _refused(reason, "edit this place first, or use another name")
    assert result is not None


def changed_contents(view: EditorProject, changes: Changes) -> dict[str, bytes | None]:
    """Return the contents of all files that changes touch, by absolute path."""
    by_path: dict[str, list[TextChange]] = {}
    for change in changes.texts:
        by_path.setdefault(change.location.path, []).append(change)
    contents: dict[str, bytes | None] = {}
    renamed = {file.path: file.new_path for file in changes.files}
    for path in {*by_path, *renamed}:
        content = apply_changes(view.text(path), by_path.get(path, ()))
        contents[absolute(view.root, renamed.get(path, path))] = content.encode()
        if path in renamed:
            contents[absolute(view.root, path)] = None
    return contents


def apply_changes(text: FileText, changes: Iterable[TextChange]) -> str:
    content = text.content
    for change in sorted(changes, key=lambda change: change.location, reverse=True):
        where = change.location
        start = text.offset(where.line, where.column)
        content = f"{content[:start]}{change.text}{content[start + where.end - where.column :]}"
    return content


def _refused(message: str, remedy: str) -> MillstreamError:
    return MillstreamError(Diagnostic("MS715", message, None, remedy))
