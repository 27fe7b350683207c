"""Formats texts and files; what would change the meaning is left as it is, with an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from millstream.compile.manifest import Compiled
from millstream.core.errors import Diagnostic, MillstreamError, diagnostic_at
from millstream.core.text import FileText
from millstream.fmt.layout import Style, lay_out
from millstream.fmt.meaning import same_source
from millstream.fmt.plans import changed_paths

Compile = Callable[[Mapping[str, str]], Compiled]
"""Compiles the project with these texts in place of files, by path."""
_OFF = "put the lines that must stay between `-- fmt: off` and `-- fmt: on`"


class FormattedFile(Struct, frozen=True):
    path: str
    before: str
    after: str
    """As before, if there is an error."""
    error: Diagnostic | None = None

    @property
    def changed(self) -> bool:
        return self.before != self.after


def format_text(text: FileText, style: Style, *, glued: bool = True) -> FormattedFile:
    """Format one text, and check that it has the same tokens, names, texts, comments and Jinja.

    `glued` also demands that statements such as `{% if … %}` touch the same words: it can be left out if the
    rendered SQL is compared, too.
    """
    try:
        after = lay_out(text, style)
    except MillstreamError as error:
        return FormattedFile(text.path, text.content, text.content, error.diagnostics[0])
    file = FormattedFile(text.path, text.content, after)
    if file.changed and not same_source(text.content, after, glued=glued):
        return _left(file, "formatting would change more than the layout")
    return file


def format_files(texts: Iterable[FileText], style: Style, compile_: Compile) -> tuple[FormattedFile, ...]:
    """Format files of a project, and check that all models compile to the same plan."""
    files = {text.path: format_text(text, style, glued=False) for text in texts}
    edits = {path: file.after for path, file in files.items() if file.changed}
    if not edits:
        return tuple(files.values())
    before = compile_({})
    while edits:
        wrong = changed_paths(before, compile_(edits), edits.keys())
        if not wrong:
            break
        for path in wrong:
            del edits[path]
            files[path] = _left(files[path], "formatting would change what models compile to")
    unrendered = edits.keys() - _rendered(before)
    for path in unrendered:
        if not same_source(files[path].before, files[path].after, glued=True):
            files[path] = _left(
                files[path], "formatting may join or separate words around Jinja's statements"
            )
    return tuple(files.values())


def _rendered(compiled: Compiled) -> frozenset[str]:
    """Return the files of models and tests whose rendered SQL was compared."""
    nodes = compiled.manifest.nodes
    return frozenset(nodes[id_].path for id_ in (*compiled.sql, *compiled.tests) if id_ in nodes)


def _left(file: FormattedFile, message: str) -> FormattedFile:
    text = FileText(file.path, file.before)
    error = diagnostic_at(text, 0, len(text.line(1)), "MS732", f"{message}; the file is left as it is", _OFF)
    return replace(file, after=file.before, error=error)
