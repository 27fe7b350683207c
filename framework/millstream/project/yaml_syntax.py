"""Explains YAML syntax errors in the words of users."""

from __future__ import annotations

import re

import yaml

from millstream.core.errors import Diagnostic, diagnostic_at
from millstream.core.text import FileText

_INDENTATION = "check the indentation, colons and quotes here and in the line above"
_EXPLANATIONS: tuple[tuple[str, str, str], ...] = (
    # libyaml's message, our message, the remedy
    (
        "but found another document",
        "a second document begins here",
        "keep one document per file: remove the '---'",
    ),
    ("mapping values are not allowed", "unexpected ':'", "quote texts that contain ': ', and align the keys"),
    (
        "found undefined alias",
        "an alias without an anchor",
        "quote texts that start with '*', or define the anchor `&name` above",
    ),
    (
        "unknown escape",
        "an unknown escape in a quoted text",
        "write '\\\\' for one backslash, or use single quotes",
    ),
    ("did not find expected ',' or ']'", "a list is not closed", "add the missing ']' or ',' before this"),
    ("did not find expected ',' or '}'", "a mapping is not closed", "add the missing '}' or ',' before this"),
    (
        "did not find expected '-' indicator",
        "expected '-' for the next item of the list",
        "align the keys with those above",
    ),
    (
        "did not find expected key",
        "the indentation does not match any key above",
        "align the keys with those above",
    ),
    ("expected <document start>", "unexpected content after the end of the document", "remove it"),
    (
        "expected alphabetic or numeric",
        "a name is missing after '*' or '&'",
        "quote texts that start with '*' or '&'",
    ),
    (
        "could not find expected ':'",
        "a key without a ':'",
        "write `key: value`, with a space after the colon",
    ),
)


def report_syntax(text: FileText, error: yaml.YAMLError | ValueError) -> Diagnostic:
    """Report why a text is not YAML, at the character where reading failed."""
    if isinstance(error, yaml.reader.ReaderError):
        # Its position counts bytes.
        character = yaml.reader.Reader.NON_PRINTABLE.search(text.content)
        start = character.start() if character else 0
        message = f"a control character (U+{ord(character.group()):04X})" if character else str(error.reason)
        remedy = "remove it, or write it as an escape in double quotes"
        return diagnostic_at(text, start, start + 1, "MS105", message, remedy)
    if not isinstance(error, yaml.MarkedYAMLError):
        return diagnostic_at(
            text, 0, 1, "MS105", str(error).splitlines()[0], "save the file as plain UTF-8 text"
        )
    mark = error.problem_mark or error.context_mark
    start = mark.index if mark else 0
    reason = error.problem or error.context or "can't be parsed"
    if "unexpected end of stream" in reason and error.context_mark and "quoted" in (error.context or ""):
        start = error.context_mark.index
        message = "this quote is never closed"
        return diagnostic_at(text, start, start + 1, "MS105", message, "close it at the end of the text")
    return diagnostic_at(text, start, start + 1, "MS105", *_explain(text.content[start : start + 1], reason))


def _explain(character: str, reason: str) -> tuple[str, str]:
    if character == "\t" or "'\\t'" in reason:
        return "YAML can't be indented with tabs", "indent with spaces"
    if "cannot start any token" in reason and character:
        return f"a value can't start with {character}", "put the value in quotes"
    for words, message, remedy in _EXPLANATIONS:
        if words in reason:
            return message, remedy
    return reason, _INDENTATION


_BRACKET = re.compile(r"[\[{\]}]")
_COMPACT = re.compile(r"(?:[-?:][ \t]+){100}")
DEEPEST = 100
"""Deeper than anyone writes; libyaml recurses without a limit and would crash the process."""


def too_deep(text: FileText) -> Diagnostic | None:
    """Reject nesting that can't be composed safely; only parses events if the brackets look suspicious."""
    depth = deepest = 0
    for bracket in _BRACKET.finditer(text.content):
        depth = depth + 1 if bracket.group() in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    if deepest <= DEEPEST and not _COMPACT.search(text.content):
        return None
    depth = 0
    try:
        for event in yaml.parse(text.content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > DEEPEST:
                start = event.start_mark.index if event.start_mark else 0
                message = f"more than {DEEPEST} levels of nesting"
                return diagnostic_at(text, start, start + 1, "MS105", message, "reduce the nesting")
    except (yaml.YAMLError, ValueError) as error:
        return report_syntax(text, error)
    return None
