"""All places that name a relation, a column, a CTE, a macro or a Python function."""

from __future__ import annotations

from millstream.core.text import Location
from millstream.editor.project import EditorProject
from millstream.editor.symbols import declaration_of, symbol_at, uses_of
from millstream.editor.values import Cursor


def find_references(view: EditorProject, cursor: Cursor, *, declaration: bool = True) -> list[Location]:
    """Return where what is at the cursor is used, with its declaration if it is wanted."""
    at_cursor = symbol_at(view, cursor)
    if at_cursor is None:
        return []
    uses = uses_of(view, at_cursor.symbol)
    declared = declaration_of(view, at_cursor.symbol)
    if declared is None:
        return uses
    uses = [use for use in uses if use != declared]
    return [declared, *uses] if declaration else uses
