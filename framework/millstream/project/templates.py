"""Renders the templates of models to SQL, with every reference, option and variable that they used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jinja2 import TemplateSyntaxError, UndefinedError, nodes
from jinja2.exceptions import SecurityError
from msgspec import Struct

from millstream.core.errors import Diagnostic, DiagnosticNote, diagnostic_at, did_you_mean
from millstream.core.expressions import quote_name
from millstream.core.text import FileText, Location
from millstream.project import dbt
from millstream.project.config import ConfigValue
from millstream.project.context import RenderDiagnostic, RenderError, RenderRecorder, TemplateFunctions
from millstream.project.environment import TracingEnvironment, frame_offset
from millstream.project.macros import names_read, read_macros, syntax_diagnostic
from millstream.project.spans import MacroCall, SpanMap, TracedText, concat
from millstream.project.template_limits import REMEDY, BudgetError, NotTextError
from millstream.project.values import NodeReference, Project, SqlFile, TemplateUses

_NO_FILES = "no loader for this environment specified"
"""Jinja's message for include, import and extends."""
THROUGH = "through this macro"
"""The note of an error that is in an argument of a macro's call."""
_DEFINE = "define it in a file of macros/: {{% macro {name}(…) %}} … {{% endmacro %}}"
_DEFINED = re.compile(r"\b(?:macro|test)\s+(\w+)")
_MACRO = re.compile(r"\{%[-+]?\s*(?:macro|test)\s+(\w+)")


class Rendered(Struct, frozen=True):
    sql: str
    spans: SpanMap
    references: tuple[NodeReference, ...]
    options: dict[str, ConfigValue]
    """Those given in `config()`."""
    uses: TemplateUses
    logs: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    failed: bool
    """Rendering ended early: `sql` is incomplete."""


class Renderer:
    """Renders the SQL files of one project."""

    def __init__(self, project: Project) -> None:
        self.environment = TracingEnvironment()
        self.functions = TemplateFunctions(project)
        self.globals: dict[str, Any] = {
            **self.environment.globals,
            **self.functions.globals(),
            "this": "",
            "is_test": False,
        }
        self.texts = {file.path: FileText(file.path, file.content) for file in project.macros}
        self.library, self.diagnostics = read_macros(
            self.environment, project.macros, frozenset(self.globals)
        )
        self._macros_elsewhere: set[str] = set()
        """The names of macros in the files of models and tests."""
        for file in self.library.files:
            self._define(file.tree, file.file)

    def again(self, project: Project) -> Renderer:
        """Return another renderer that knows what this one has seen."""
        other = Renderer(project)
        other._macros_elsewhere |= self._macros_elsewhere
        return other

    def _define(self, tree: nodes.Template, file: SqlFile) -> None:
        self.environment.start()
        try:
            template = self.environment.template(tree, file.path, self.globals)
            module = template.make_module(vars=self.globals, shared=True)
        except Exception as error:  # noqa: BLE001 - any failure of a template is its author's
            self.diagnostics.append(self._diagnose(error, file))
            return
        self.globals |= {name: value for name, value in vars(module).items() if name in self.library.macros}

    @property
    def lost_macros(self) -> frozenset[str]:
        """The names of macros in files that could not be parsed or run, or are in another folder."""
        paths = {diagnostic.location.path for diagnostic in self.diagnostics if diagnostic.location}
        in_macros = {name for path in paths for name in _DEFINED.findall(self.texts[path].content)}
        return frozenset(in_macros | self._macros_elsewhere)

    def _empty(self, file: SqlFile) -> Diagnostic:
        message = f"model '{file.name}' is empty after rendering"
        remedy = "write a SELECT, or disable it: config(enabled=false)"
        if macros := _MACRO.findall(file.content):
            self._macros_elsewhere.update(macros)
            message = f"'{file.path}' has macros and no SELECT"
            remedy = "move it to macros/"
        return diagnostic_at(self.texts[file.path], 0, 1, "MS212", message, remedy)

    def render(self, file: SqlFile, base_config: Mapping[str, Any]) -> Rendered:
        """Render one file; errors are in the result, none is raised."""
        recorder = self.functions.recorder = RenderRecorder(base_config)
        self.globals["this"] = f"models.{quote_name(file.name)}"
        self.texts[file.path] = FileText(file.path, file.content)
        diagnostics: list[Diagnostic] = []
        piece, names = TracedText.of("", ()), frozenset[str]()
        self.environment.start()
        try:
            tree = self.environment.parse(file.content, file.path, file.path)
            names = names_read(tree)
            diagnostics += self._undefined_names(tree, file)
            if not diagnostics:
                template = self.environment.template(tree, file.path, self.globals)
                context = template.new_context(self.globals, shared=True)
                piece = concat(template.root_render_func(context))
        except Exception as error:  # noqa: BLE001 - any failure of a template is its author's
            diagnostics.append(self._diagnose(error, file))
        failed = bool(diagnostics)
        diagnostics += [
            self._diagnostic(diagnostic, position) for diagnostic, position in recorder.diagnostics
        ]
        if not failed and not piece.strip():
            diagnostics.append(self._empty(file))
            failed = True
        return Rendered(
            sql=str(piece),
            spans=SpanMap(piece),
            references=tuple(
                NodeReference(id_, self._location(position, id_.last_name))
                for id_, position in recorder.references
            ),
            options={name: self._option(name, *option) for name, option in recorder.config.items()},
            uses=TemplateUses(tuple(sorted(names)), recorder.vars, recorder.env),
            logs=tuple(recorder.logs),
            diagnostics=tuple(diagnostics),
            failed=failed,
        )

    # -- locations

    def locate(
        self, rendered: Rendered, start: int, stop: int, needle: str = "", before: int | None = None
    ) -> tuple[Location, str, list[DiagnosticNote]]:
        """Return where rendered text was written, its line, and the calls that led there.

        A name that a caller passed to a macro is located in the call: that is where the mistake is. So is
        text that does not go with the character at `before` if the macro did not write that, or if the word
        before the call and the first one of the macro became one word.
        """
        spans = rendered.spans
        origin = spans.origin(start, stop)
        if origin is None or not origin.path:
            return Location("", 1, 1, 2), "", []
        text = self.texts[origin.path]
        location = text.location(origin.start, origin.stop)
        notes: list[DiagnosticNote] = []
        caller: MacroCall | None = origin.caller
        passed = bool(needle) and needle not in text.content[origin.start : origin.stop]
        around = None if before is None else spans.calls(before)
        while caller:
            begin, end = self.environment.tag_span(caller.path, caller.offset)
            calling = self.texts[caller.path]
            argument = _find(calling.content, needle, begin, end) if passed else None
            if around is not None and (caller not in around or _runs_on(rendered, start, caller)):
                argument = (begin, end)
            if argument:
                passed = False
                notes.insert(0, DiagnosticNote(THROUGH, location))
                text, location = calling, calling.location(*argument)
            else:
                notes.append(DiagnosticNote("called from here", calling.location(begin, end)))
            caller = caller.caller
        return location, text.line(location.line), notes

    def _location(self, position: tuple[str, int] | None, needle: str) -> Location | None:
        if position is None or position[0] not in self.texts:
            return None
        text = self.texts[position[0]]
        start, stop = self.environment.tag_span(*position)
        return text.location(*(_find(text.content, needle, start, stop) or (start, stop)))

    def _option(self, name: str, value: Any, position: tuple[str, int] | None) -> ConfigValue:
        location = self._location(position, name)
        line = self.texts[location.path].line(location.line) if location else ""
        return ConfigValue(value, location, line)

    # -- errors

    def _diagnostic(
        self, diagnostic: RenderDiagnostic, position: tuple[str, int] | None, *notes: DiagnosticNote
    ) -> Diagnostic:
        location = self._location(position, diagnostic.needle)
        line = self.texts[location.path].line(location.line) if location else ""
        return diagnostic.located_at(location, line, notes)

    def _diagnose(self, error: Exception, file: SqlFile) -> Diagnostic:
        if isinstance(error, TemplateSyntaxError):
            return syntax_diagnostic(self.environment, error, self.texts[error.name or ""])
        positions = _template_frames(error)
        inner, outer = positions[-1] if positions else (file.path, 0), positions[:-1]
        diagnostic = self._explain(error)
        if "was not provided" in diagnostic.message and outer:
            inner, outer = outer[-1], outer[:-1]
        notes = [
            DiagnosticNote("called from here", self._location(position, ""))
            for position in reversed(outer)
            if position != inner
        ]
        return self._diagnostic(diagnostic, inner, *notes)

    def _explain(self, error: Exception) -> RenderDiagnostic:
        match error:
            case RenderError():
                return error.diagnostic
            case BudgetError():
                return RenderDiagnostic("MS213", str(error), REMEDY)
            case UndefinedError():
                message = error.message or "something is undefined"
                name = (re.findall(r"'([^']+)'", message) or [""])[-1 if "has no attribute" in message else 0]
                if "was not provided" in message:
                    return RenderDiagnostic(
                        "MS206", f"macro argument {message.removeprefix('parameter ')}", "pass it"
                    )
                hint = self._instead(name, "set it before using it, or test `is defined`")
                return RenderDiagnostic("MS202", message, hint, name)
            case SecurityError():
                return RenderDiagnostic("MS207", str(error), "templates can't reach Python's internals")
            case TypeError() if str(error) == _NO_FILES:
                remedy = "call macros of macros/*.sql by their names: they are available in every file"
                return RenderDiagnostic("MS207", "a template can't include, import or extend files", remedy)
            case NotTextError():
                return RenderDiagnostic("MS206", str(error), error.remedy)
            case TypeError():
                message = str(error)
                name = (re.findall(r"'([^']+)'", message) or [""])[0]
                return RenderDiagnostic("MS206", message, self._signature(name), name)
            # Python's compiler allows 20 loops within each other, and raises a SyntaxError.
            case SyntaxError() | RecursionError() if not _template_frames(error):
                return RenderDiagnostic(
                    "MS209", "the template is nested too deeply", "use fewer blocks within blocks"
                )
            case RecursionError():
                return RenderDiagnostic(
                    "MS209", "macros call each other without end", "give the recursion an end"
                )
            case _:
                message = f"{type(error).__name__}: {error}"
                return RenderDiagnostic("MS209", message, "fix the expression, or test its operands first")

    def _signature(self, name: str) -> str:
        macro = self.library.macros.get(name)
        return f"it is defined as {name}({', '.join(macro.parameters)})" if macro else "check the arguments"

    def _instead(self, name: str, otherwise: str) -> str:
        names = [*self.globals, *self.library.macros]
        return dbt.NAMES.get(name) or did_you_mean(name, names, otherwise)

    def _undefined_names(self, tree: nodes.Template, file: SqlFile) -> list[Diagnostic]:
        """Find names that can't be defined at run time, all at once."""
        defined = (
            self.globals.keys()
            | self.library.macros.keys()
            | _stored(tree)
            | {"caller", "varargs", "kwargs", "loop", "self"}
        )
        text = self.texts[file.path]
        tested_names = _tested_names(tree)
        undefined: dict[str, nodes.Name] = {}
        for node in tree.find_all(nodes.Name):
            if node.ctx == "load" and node.name not in defined and node.name not in tested_names:
                undefined.setdefault(node.name, node)
        called = {call.node.name for call in tree.find_all(nodes.Call) if isinstance(call.node, nodes.Name)}
        diagnostics: list[Diagnostic] = []
        for name, node in undefined.items():
            otherwise = _DEFINE if name in called else "set it before using it"
            start, hint = node.lineno - 1, self._instead(name, otherwise.format(name=name))
            diagnostics.append(
                diagnostic_at(text, start, start + len(name), "MS202", f"'{name}' is undefined", hint)
            )
        return diagnostics


def _stored(tree: nodes.Template) -> set[str]:
    names = {node.name for node in tree.find_all(nodes.Name) if node.ctx in {"store", "param"}}
    return names | {node.name for node in tree.find_all(nodes.Macro)}


def _tested_names(tree: nodes.Template) -> set[str]:
    """Return the names that the template itself tests: `x is defined`, `x | default(…)`."""
    tested: list[nodes.Node] = [
        node.node for node in tree.find_all(nodes.Test) if node.name in {"defined", "undefined"}
    ]
    tested += [
        node.node for node in tree.find_all(nodes.Filter) if node.name in {"default", "d"} and node.node
    ]
    return {node.name for node in tested if isinstance(node, nodes.Name)}


def _template_frames(error: BaseException) -> list[tuple[str, int]]:
    positions: list[tuple[str, int]] = []
    trace = error.__traceback__
    while trace is not None:
        if position := frame_offset(trace.tb_frame, trace.tb_lineno):
            positions.append(position)
        trace = trace.tb_next
    return positions


def _runs_on(rendered: Rendered, position: int, call: MacroCall) -> bool:
    """Return whether the text of a call begins within a word, and `position` is behind that word."""
    begin = rendered.spans.beginning(position, call)
    word = re.compile(r"(?<=\w)\w+").match(rendered.sql, begin)
    return word is not None and word.end() <= position


def _find(content: str, needle: str, start: int, stop: int) -> tuple[int, int] | None:
    """Find a whole word within a range; the range itself, if the needle is a sign that it has somewhere."""
    if not needle:
        return None
    if not re.search(r"\w", needle):
        return (start, stop) if needle in content[start:stop] else None
    word = re.compile(rf"(?<!\w){re.escape(needle)}(?!\w)").search(content, start, stop)
    return word.span() if word else None
