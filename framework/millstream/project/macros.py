"""All SQL macros of a project. Each can call every other, in any file and any order."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from jinja2 import TemplateSyntaxError, nodes
from msgspec import Struct

from millstream.core.errors import Diagnostic, DiagnosticNote, diagnostic_at, did_you_mean
from millstream.core.text import FileText
from millstream.project import dbt
from millstream.project.environment import TracingEnvironment
from millstream.project.values import SqlFile


class Macro(Struct, frozen=True):
    name: str
    path: str
    offset: int
    parameters: tuple[str, ...]


class MacroFile(Struct, frozen=True):
    """A parsed macro file: what it defines and which names it reads."""

    file: SqlFile
    tree: Any
    macros: tuple[Macro, ...]
    reads: frozenset[str]


class MacroLibrary:
    """The macros by name, and the files that a template depends on when it names one."""

    def __init__(self, files: Iterable[MacroFile]) -> None:
        self.files = tuple(files)
        self.macros = {macro.name: macro for file in self.files for macro in file.macros}
        self._by_path = {file.file.path: file for file in self.files}

    def paths_behind(self, names: Iterable[str]) -> frozenset[str]:
        """Return the macro files that these names reach, through macros that call macros."""
        paths: set[str] = set()
        pending = [self.macros[name].path for name in names if name in self.macros]
        while pending:
            path = pending.pop()
            if path not in paths:
                paths.add(path)
                pending += [
                    self.macros[name].path for name in self._by_path[path].reads if name in self.macros
                ]
        return frozenset(paths)

    def names_behind(self, paths: Iterable[str]) -> frozenset[str]:
        """Return every name that these macro files read."""
        return frozenset().union(*(self._by_path[path].reads for path in paths))

    def digest(self, names: Iterable[str]) -> str:
        """Return a digest of all macro text that a template with these names could run."""
        hashed = hashlib.blake2b(digest_size=16)
        for path in sorted(self.paths_behind(names)):
            hashed.update(f"{path}\0{self._by_path[path].file.digest}\0".encode())
        return hashed.hexdigest()


def names_read(tree: nodes.Template) -> frozenset[str]:
    """Return every name that a template loads anywhere; too many do no harm."""
    return frozenset(node.name for node in tree.find_all(nodes.Name) if node.ctx == "load")


def read_macros(
    environment: TracingEnvironment, files: Iterable[SqlFile], reserved: frozenset[str]
) -> tuple[MacroLibrary, list[Diagnostic]]:
    """Parse every macro file and collect its macros."""
    diagnostics: list[Diagnostic] = []
    parsed: list[MacroFile] = []
    seen: dict[str, tuple[Macro, FileText]] = {}
    for file in files:
        text = FileText(file.path, file.content)
        try:
            tree = environment.parse(file.content, file.path, file.path)
        except TemplateSyntaxError as error:
            diagnostics.append(syntax_diagnostic(environment, error, text))
            continue
        macros = []
        for node in tree.find_all(nodes.Macro):
            macro = Macro(node.name, file.path, node.lineno - 1, tuple(arg.name for arg in node.args))
            if diagnostic := _name_conflict(macro, text, seen, reserved):
                diagnostics.append(diagnostic)
                continue
            seen[macro.name] = (macro, text)
            macros.append(macro)
        parsed.append(MacroFile(file, tree, tuple(macros), names_read(tree)))
    return MacroLibrary(parsed), diagnostics


def _name_conflict(
    macro: Macro, text: FileText, seen: dict[str, tuple[Macro, FileText]], reserved: frozenset[str]
) -> Diagnostic | None:
    start = text.content.find(macro.name, macro.offset + len("macro"))
    span = (start, start + len(macro.name))
    if macro.name in reserved:
        return diagnostic_at(
            text, *span, "MS210", f"'{macro.name}' is built in", "give the macro another name"
        )
    if macro.name in seen:
        first, where = seen[macro.name]
        note = DiagnosticNote("first defined here", where.location(first.offset))
        return diagnostic_at(
            text, *span, "MS210", f"macro '{macro.name}' is defined twice", "rename one of them", note
        )
    return None


_UNKNOWN_TAG = re.compile(r"unknown tag '(\w+)'")
_CLOSING = re.compile(r"unexpected '([\])}])'(?:, expected '([\])}])')?")
_OPENING = {")": "(", "]": "[", "}": "{"}
_INNERMOST = re.compile(r"innermost block that needs to be closed is '(\w+)'")


def syntax_diagnostic(
    environment: TracingEnvironment, error: TemplateSyntaxError, text: FileText
) -> Diagnostic:
    """Report what Jinja can't parse, at the offset that is in the error's `lineno`."""
    offset = min(error.lineno - 1, max(0, len(text.content.rstrip()) - 1))
    message = error.message or "syntax error"
    message = message.replace("Encountered unknown tag", "unknown tag").partition(". ")[0]
    remedy = "close every '{{', '{%' and block, and check the spelling of tags"
    if closing := _CLOSING.fullmatch(message):
        remedy = f"add '{closing[2] or _OPENING[closing[1]]}' before it"
    if block := _INNERMOST.search(error.message or ""):
        opened = environment.unclosed(text.path, text.content, block.group(1))
        offset = opened if opened is not None else offset
        message, remedy = f"'{block.group(1)}' is not closed", f"add {{% end{block.group(1)} %}}"
    elif text.content[offset:].lstrip("-+ \n").startswith(("%}", "}}")):
        # Something is missing before the end of a tag: show the tag.
        offset = max(0, len(text.content[:offset].rstrip("-+ \n")) - 1)
    if (opened := environment.long_text(text.path, offset)) is not None:
        # Everything after a quote that is not closed is read inside out, up to the last quote of the file.
        message = f"this quote may not be closed: {message}"
        note = DiagnosticNote("found here", text.location(offset, offset + 1))
        return diagnostic_at(
            text, opened, opened + 1, "MS201", message, "close the quote before the end of its line", note
        )
    start, stop = environment.tag_span(text.path, offset)
    if instead := _UNKNOWN_TAG.match(message):
        block = re.compile(r"\w+\s+(\w+)").match(text.content, start, stop)
        remedy = dbt.TAGS.get(instead[1], remedy).replace("NAME", block[1] if block else "name")
    for kind, names in (("filter", environment.filters), ("test", environment.tests)):
        if message.startswith(f"No {kind} named "):
            name = message.split("'")[1]
            position = text.content.find(name, start, stop)
            start, stop = (position, position + len(name)) if position >= 0 else (start, stop)
            message, remedy = f"unknown {kind} '{name}'", did_you_mean(name, names, f"see Jinja's {kind}s")
            break
    return diagnostic_at(text, start, stop, "MS201", message.rstrip("."), remedy)
