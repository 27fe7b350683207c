"""Sandboxed Jinja with offsets: rendered text and errors know where they were written.

Jinja only counts lines. Here, a token's `lineno` is its offset in the file plus one, so every node of a
template, and every error, has an exact location. The code generator wraps its output in `TracedText`s.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, MutableMapping
from typing import Any, NoReturn

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, nodes
from jinja2.compiler import Frame, MacroRef
from jinja2.lexer import TokenStream
from jinja2.runtime import Macro

from millstream.project.spans import TextSegment, TracedText, concat, trace_value
from millstream.project.template_limits import LimitedCodeGenerator, LimitedEnvironment


class ReturnedError(Exception):
    """Carries the value of `{{ return(value) }}` out of a macro's body."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


class ReturningMacro(Macro):
    """A macro that may end early with a value that is not text."""

    def _invoke(self, arguments: list[Any], autoescape: bool) -> str:
        try:
            return super()._invoke(arguments, autoescape)
        except ReturnedError as returned:
            return returned.value  # type: ignore[return-value]


class _Const(str):
    """Template data on its way through the code generator, with its offset."""

    __slots__ = ("offset", "width")
    offset: int
    width: int | None


class TracingCodeGenerator(LimitedCodeGenerator):
    """Makes templates output `TracedText`s; the hooks are those that Jinja's native environment uses."""

    environment: TracingEnvironment

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        const = _Const(super()._output_child_to_const(node, frame, finalize))
        if isinstance(node, nodes.TemplateData):
            const.offset, const.width = node.lineno - 1, None
        else:
            start, stop = self.environment.tag_span(self.name or "", node.lineno - 1)
            const.offset, const.width = start, stop - start
        return const

    def _output_const_repr(self, group: Any) -> str:
        segments = [
            (len(const), self.name, const.offset, const.width) for const in group if isinstance(const, _Const)
        ]
        return f"environment.written({''.join(group)!r}, {segments!r})"

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:  # noqa: ARG002
        self.write(f"environment.computed({finalize.src}")

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:  # noqa: ARG002
        start, stop = self.environment.tag_span(self.name or "", node.lineno - 1)
        self.write(f"), {self.name!r}, {start}, {stop - start})")

    def macro_def(self, macro_ref: MacroRef, frame: Frame) -> None:
        self.write("environment.returning(")
        super().macro_def(macro_ref, frame)
        self.write(")")


class TracingEnvironment(LimitedEnvironment):
    """The environment that every SQL template of a project is rendered in."""

    code_generator_class = TracingCodeGenerator
    concat = staticmethod(concat)

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            extensions=["jinja2.ext.do"],
            keep_trailing_newline=True,
            autoescape=False,
        )
        # As in dbt, lists may be built with `{% do names.append(…) %}`; a template's objects are its own.
        self._tag_spans: dict[str, tuple[list[int], list[int]]] = {}
        self._long_texts: dict[str, list[tuple[int, int | None]]] = {}
        """Where each tag begins, and its first text that spans lines."""

    # -- called by generated code

    def computed(self, value: object, path: str, offset: int, width: int) -> TracedText:
        piece = trace_value(value, path, offset, width)
        self.budget.output(len(piece))
        return piece

    def written(self, text: str, segments: list[tuple[int, str, int, int | None]]) -> TracedText:
        self.budget.output(len(text))
        return TracedText.of(text, tuple(TextSegment(*segment) for segment in segments))

    @staticmethod
    def returning(macro: Macro) -> Macro:
        macro.__class__ = ReturningMacro
        return macro

    # -- locations

    def tag_span(self, name: str, offset: int) -> tuple[int, int]:
        """Return the span of the `{{ … }}` or `{% … %}` content around an offset."""
        starts, stops = self._tag_spans.get(name, ([], []))
        index = bisect_right(starts, offset) - 1
        if 0 <= index < len(stops) and offset < stops[index]:
            return starts[index], stops[index]
        return offset, offset + 1

    def unclosed(self, name: str, source: str, block: str) -> int | None:
        """Return where the innermost unclosed block of this kind begins."""
        opened: list[int] = []
        for start in self._tag_spans.get(name, ([], []))[0]:
            word = _WORD.match(source, start)
            if word and word.group() == block:
                opened.append(start)
            elif word and word.group() == f"end{block}" and opened:
                opened.pop()
        return opened[-1] if opened else None

    def long_text(self, name: str, offset: int) -> int | None:
        """Return where the first text that spans lines begins in the tag before an offset."""
        tags = self._long_texts.get(name, [])
        index = bisect_right([start for start, _ in tags], offset) - 1
        start = tags[index][1] if index >= 0 else None
        return start if start is not None and start < offset else None

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        # All at once: an error in the middle of a tag needs the end of the tag.
        tokens = list(self._offset_tokens(source, name, filename, state))
        return TokenStream(self.lexer.wrap(tokens, name, filename), name, filename)

    def _offset_tokens(
        self, source: str, name: str | None, filename: str | None, state: str | None
    ) -> Iterator[tuple[int, str, str]]:
        starts: list[int] = []
        stops: list[int] = []
        self._tag_spans[name or ""] = (starts, stops)
        tags = self._long_texts[name or ""] = []
        position = significant = 0
        begun = False
        tokens = self.lexer.tokeniter(source, name, filename, state)
        while True:
            try:
                _, token, value = next(tokens)
            except StopIteration:
                return
            except TemplateSyntaxError as error:
                raise _with_offset(error, source, position) from None
            # Only blanks are dropped between tokens, so the next occurrence is the token itself.
            start = source.find(value, position)
            position = start + len(value)
            if token in {"variable_begin", "block_begin"}:
                begun = True
                tags.append((start, None))
            elif token in {"variable_end", "block_end"}:
                if not begun:
                    stops.append(significant)
                begun = False
            elif token != "whitespace":  # noqa: S105
                if token == "string" and "\n" in value and tags and tags[-1][1] is None:  # noqa: S105
                    tags[-1] = (tags[-1][0], start)
                if begun:
                    starts.append(start)
                    begun = False
                significant = position
            yield start + 1, token, value

    # -- templates

    def handle_exception(self, source: str | None = None) -> NoReturn:  # noqa: ARG002
        """Leave exceptions as they are: their frames have the offsets (see `frame_offset`)."""
        raise  # noqa: PLE0704 - Jinja calls this inside its except clauses

    def template(self, tree: nodes.Template, name: str, globals_: MutableMapping[str, Any]) -> Template:
        code = self.compile(tree, name, name)
        return Template.from_code(self, code, globals_)


_WORD = re.compile(r"\w+")
_UNEXPECTED_AT = re.compile(r" at (\d+)$")


def _with_offset(error: TemplateSyntaxError, source: str, position: int) -> TemplateSyntaxError:
    """Give a lexer's error, which counts lines, the offset where reading stopped."""
    message = error.message or "syntax error"
    if unexpected := _UNEXPECTED_AT.search(message):
        position, message = int(unexpected.group(1)), message[: unexpected.start()]
    else:
        while position < len(source) and source[position].isspace():
            position += 1
    return TemplateSyntaxError(message, position + 1, error.name, error.filename)


def frame_offset(frame: Any, line: int) -> tuple[str, int] | None:
    """Return the template name and offset of a frame of generated code; None for any other frame."""
    template = frame.f_globals.get("__jinja_template__")
    if template is None:
        return None
    return template.name, template.get_corresponding_lineno(line) - 1
