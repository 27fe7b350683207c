"""What editors show and change, as values without a protocol."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from millstream.core.errors import Diagnostic
from millstream.core.text import Location


class Cursor(Struct, frozen=True):
    """An offset in the text of a file as the editor has it."""

    path: str
    """Relative to the project."""
    content: str
    offset: int

    @property
    def before(self) -> str:
        return self.content[: self.offset]

    @property
    def line_before(self) -> str:
        return self.before.rpartition("\n")[2]


class TextChange(Struct, frozen=True):
    """Text that replaces a span of one line."""

    location: Location
    text: str


class FileRename(Struct, frozen=True):
    path: str
    new_path: str


class Changes(Struct, frozen=True):
    """What a rename or a code action does to a project."""

    texts: tuple[TextChange, ...] = ()
    files: tuple[FileRename, ...] = ()


class HoverText(Struct, frozen=True):
    """Markdown about what is at a location."""

    markdown: str
    location: Location | None = None


SuggestionKind = Literal["model", "source", "seed", "column", "field", "function", "macro", "key", "value"]


class Suggestion(Struct, frozen=True):
    """One entry of a completion."""

    label: str
    kind: SuggestionKind
    detail: str = ""
    documentation: str = ""
    insert: str = ""
    """What is inserted; by default, the label."""
    replaces: int = 0
    """How many characters before the cursor it replaces."""


class QuickFix(Struct, frozen=True):
    """A change that fixes a diagnostic."""

    title: str
    diagnostic: Diagnostic
    changes: Changes


class Lens(Struct, frozen=True):
    """A command above a line that runs `millstream` with these arguments."""

    location: Location
    title: str
    arguments: tuple[str, ...]
