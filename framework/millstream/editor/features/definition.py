"""Go to definition: of relations, columns, CTEs, macros and Python functions."""

from __future__ import annotations

from millstream.core.text import Location
from millstream.editor.project import EditorProject
from millstream.editor.symbols import declaration_of, symbol_at
from millstream.editor.values import Cursor


def find_definition(view: EditorProject, cursor: Cursor) -> list[Location]:
    """Return where the name at the cursor is declared: next, where this file declares it."""
    at_cursor = symbol_at(view, cursor)
    if at_cursor is None:
        return []
    file = view.model_at(cursor.path, cursor.content)
    name = at_cursor.name
    if file is not None and name is not None and name.declared is not None:
        nearest = view.locate(view.names_of(file), *name.declared)
        if nearest != at_cursor.location:
            return [nearest]
    declared = declaration_of(view, at_cursor.symbol)
    return [] if declared is None else [declared]
