"""Lays out Jinja SQL with sqlfmt, whose lexer learns the words of Spark here.

Only this module knows sqlfmt. It is an extra, so it is imported only where a text is laid out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError, diagnostic_at
from millstream.core.text import FileText

if TYPE_CHECKING:
    from sqlfmt.analyzer import Analyzer
    from sqlfmt.line import Line
    from sqlfmt.mode import Mode
    from sqlfmt.query_formatter import QueryFormatter
    from sqlfmt.rule import Rule

_POSITION = re.compile(r"(?:at|near) (?:position )?(\d+)")
_CONFIG = re.compile(r"\{\{-?\s*config\(")
_WORDS = (
    r"(asc|desc|nulls\s+(?:first|last)|null|true|false|distinct|lateral(?!\s+view)|preceding|following|current\s+row"
    r"|unbounded(?=\s+(?:preceding|following))|watermark(?=\s+\S+\s+delay)|delay\s+of)(?!\w)"
)
"""Keywords that sqlfmt takes for names."""
_TAGS = r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}"
_TEXTS = "|".join(
    rf"(?:[rx])?{quote}(?:[^{quote}\\{{]|\\.|{quote}{quote}|\{{(?![{{%#])|{_TAGS})*{quote}"
    for quote in "'\"`"
)
"""Texts and quoted names. A tag inside may have quotes of its own: `'{{ var('since') }}'`."""
_INSTALL = "install it: `pip install 'millstream[fmt]'`, or `uv add 'millstream[fmt]'` in the project"
_OFF = "put the lines between `-- fmt: off` and `-- fmt: on`"
_MOST_PASSES = 4
_NEVER = 1_000_000
"""A line length that no comment reaches: comments are not wrapped."""


class Style(Struct, frozen=True):
    line_length: int = 100
    indent: int = 2


def lay_out(text: FileText, style: Style) -> str:
    """Return the text in sqlfmt's layout, which does not change if it is laid out again."""
    if not text.content.strip():
        return text.content
    before, after = text.content, _lay_out_once(text, style)
    for _ in range(_MOST_PASSES):
        if before == after:
            return after
        before, after = after, _lay_out_once(FileText(text.path, after), style)
    raise MillstreamError(
        diagnostic_at(text, 0, 1, "MS731", "sqlfmt lays out this SQL differently each time", _OFF)
    )


def _lay_out_once(text: FileText, style: Style) -> str:
    mode = _mode(style)
    from sqlfmt.exception import SqlfmtError

    try:
        query = mode.dialect.initialize_analyzer(mode.line_length).parse_query(text.content)
        lines = _formatter(mode).format(query).lines
    except (SqlfmtError, AssertionError, RecursionError) as error:
        raise MillstreamError(_unreadable(text, error)) from None
    return "".join(piece for line in lines for piece in _render(line, style.indent))


def _render(line: Line, indent: int) -> Iterator[str]:
    """Yield a line with its comments as `Line.render_with_comments` does, but with another indentation."""
    prefix = " " * (indent * sum(line.depth))
    content = f"{line}"
    if not line.formatting_disabled and not line.is_blank_line:
        content = prefix + content.removeprefix(line.prefix)
    inline = ""
    for comment in line.comments:
        if comment.is_multiline or comment.is_standalone:
            yield comment.render_standalone(max_length=_NEVER, prefix=prefix)
        else:
            inline += comment.render_inline()
    if inline:
        yield f"{content.rstrip()}{inline}\n"
    elif content.strip() or not line.comments:
        yield content


def _formatter(mode: Mode) -> QueryFormatter:
    from sqlfmt.query_formatter import QueryFormatter

    class WithHead(QueryFormatter):
        """Keeps `{{ config(…) }}` on lines of its own, also above a short SELECT."""

        def _merge_lines(self, lines: list[Line]) -> list[Line]:
            head = _lines_of_config(lines)
            return [*lines[:head], *super()._merge_lines(lines[head:])]

    return WithHead(mode)


def _lines_of_config(lines: list[Line]) -> int:
    """Return how many lines there are up to the last `{{ config(…) }}` before the SQL."""
    head = 0
    for number, line in enumerate(lines, 1):
        if f"{line}".strip():
            if not _CONFIG.match(f"{line}"):
                break
            head = number
    return head


@lru_cache(4)
def _mode(style: Style) -> Mode:
    try:
        from sqlfmt.dialect import Polyglot
        from sqlfmt.mode import Mode
    except ImportError:
        raise MillstreamError(Diagnostic("MS730", "`millstream fmt` needs sqlfmt", None, _INSTALL)) from None

    class Spark(Polyglot):
        """Names keep their case, since columns are named by them."""

        case_sensitive_names = True

        def __init__(self) -> None:
            super().__init__()
            self.RULES = [*self.RULES, *_spark_names()]

    mode = Mode(line_length=style.line_length, no_jinjafmt=True)
    mode.dialect = Spark()
    return mode


def _spark_names() -> list[Rule]:
    """Return rules for words that sqlfmt takes for keywords, but that are names in Spark's SQL."""
    from sqlfmt import actions
    from sqlfmt.node import get_previous_token
    from sqlfmt.rule import Rule
    from sqlfmt.tokens import Token, TokenType

    is_name = partial(actions.add_node_to_buffer, token_type=TokenType.NAME)

    def add_keyword(analyzer: Analyzer, text: str, match: re.Match[str]) -> None:
        token = Token.from_match(text, match, token_type=TokenType.NAME)
        token_before, _ = get_previous_token(analyzer.previous_node)
        if token_before is None or token_before.type is not TokenType.DOT:
            token = token._replace(token=" ".join(token.token.lower().split()))
        node = analyzer.node_manager.create_node(token=token, previous_node=analyzer.previous_node)
        analyzer.node_buffer.append(node)
        analyzer.pos = token.epos

    is_quoted = partial(actions.add_node_to_buffer, token_type=TokenType.QUOTED_NAME)
    return [
        Rule("spark_text", 199, f"({_TEXTS})", is_quoted),
        Rule("spark_keyword", 1045, _WORDS, add_keyword),
        # `window(at, '5 seconds')` and `window.start`; the clause is `window w as (…)`.
        Rule("spark_window", 1040, r"(window)(?!\w|\s+\w+\s+as\s*\()", is_name),
        # `exists(items, item -> item > 1)` is a function of arrays.
        Rule("spark_exists", 1041, r"(exists)(?=\((?!\s*(?:select|with)\b))", is_name),
    ]


def _unreadable(text: FileText, error: Exception) -> Diagnostic:
    reason = str(error).removeprefix("sqlfmt encountered an error: ").strip().partition("\n")[0]
    position = _POSITION.search(reason)
    start = min(int(position[1]) if position else 0, max(0, len(text.content) - 1))
    message = "sqlfmt can't read this SQL"
    if reason:
        message += f": {reason[:1].lower()}{reason[1:]}"
    remedy = f"fix the brackets, quotes or Jinja blocks, or {_OFF}"
    return diagnostic_at(text, start, start + 1, "MS731", message, remedy)
