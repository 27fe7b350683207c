"""Parses selectors of the command line: `tag:nightly,2+orders+ @staging.*`."""

import re
from collections.abc import Callable

from millstream.compile.selectors.methods import check_method
from millstream.compile.selectors.values import (
    Criterion,
    SelectorIntersection,
    SelectorOrigin,
    SelectorUnion,
    Spec,
)
from millstream.core.errors import Diagnostic
from millstream.core.text import FileText

Locator = Callable[[int, int], SelectorOrigin]
"""Returns the origin of a part of a text, by its offsets."""

_BEFORE = re.compile(r"(?P<at>@)?(?:(?P<depth>\d*)(?P<plus>\+))?")
_METHOD = re.compile(r"(?P<name>[\w.]+):")
_AFTER = re.compile(r"\+(?P<depth>\d*)\Z")
_FILES = (".sql", ".py", ".csv")


def locate_in_option(name: str, content: str) -> Locator:
    """Return a locator for the text of a command-line option."""
    text = FileText(name, content)

    def locate(start: int, stop: int) -> SelectorOrigin:
        location = text.location(start, stop)
        return SelectorOrigin(location, text.line(location.line))

    return locate


def parse_selector(content: str, locate: Locator, diagnostics: list[Diagnostic]) -> Spec:
    """Parse a union of intersections; errors are added to `problems`."""
    terms = [_term(m.group(), m.start(), locate, diagnostics) for m in re.finditer(r"\S+", content)]
    if not terms:
        diagnostics.append(locate(0, len(content)).report("MS601", "the selector is empty", _EXAMPLE))
    return terms[0] if len(terms) == 1 else SelectorUnion(tuple(terms))


_EXAMPLE = "write what to select: a model such as 'orders+', or a method such as 'tag:nightly'"


def _term(term: str, offset: int, locate: Locator, diagnostics: list[Diagnostic]) -> Spec:
    parts: list[Spec] = []
    for part in term.split(","):
        if part:
            criterion = _criterion(part, offset, locate, diagnostics)
            parts += [criterion] if criterion else []
        else:
            message = f"'{term}' has an empty part next to a comma"
            remedy = "write an intersection without spaces: 'tag:nightly,orders+'"
            diagnostic = locate(max(offset - 1, 0), offset).report("MS601", message, remedy)
            # `a,,b` has one error between its commas, and `,` has one, not two
            if not diagnostics or diagnostics[-1].message != diagnostic.message:
                diagnostics.append(diagnostic)
        offset += len(part) + 1
    return (
        parts[0]
        if len(parts) == 1
        else SelectorIntersection(tuple(parts), term, locate(offset - len(term) - 1, offset - 1))
    )


def _criterion(part: str, offset: int, locate: Locator, diagnostics: list[Diagnostic]) -> Criterion | None:
    def fail(start: int, stop: int, message: str, remedy: str) -> None:
        diagnostics.append(locate(offset + start, offset + stop).report("MS601", message, remedy))

    before = _BEFORE.match(part)
    assert before
    after = _AFTER.search(part, before.end())
    stop = after.start() if after else len(part)
    method = _METHOD.match(part, before.end(), stop)
    start = method.end() if method else before.end()
    value = part[start:stop]
    if not value:
        fail(0, len(part), f"'{part}' selects nothing", _EXAMPLE)
        return None
    if before["at"] and after:
        message = f"'{part}' has both '@' before and '+' after"
        fail(stop, len(part), message, "remove the '+': '@' already includes all descendants")
        return None
    if not method and (plus := value.find("+")) >= 0:
        remedy = "write it before or after a name: '1+orders+2'"
        fail(start + plus, start + plus + 1, f"unexpected '+' within '{value}'", remedy)
        return None
    origin = locate(offset + before.end(), offset + stop)
    name, *arguments = method["name"].split(".") if method else [default_method(value)]
    at_method = locate(offset + before.end(), offset + start - 1) if method else origin
    at_value = locate(offset + start, offset + stop)
    if diagnostic := check_method(name, tuple(arguments), value, at_method, at_value):
        diagnostics.append(diagnostic)
        return None
    return Criterion(
        text=part,
        method=name,
        arguments=tuple(arguments),
        value=value,
        origin=origin,
        childrens_parents=bool(before["at"]),
        parents=_depth(before["depth"]) if before["plus"] else 0,
        children=_depth(after["depth"]) if after else 0,
    )


def default_method(value: str) -> str:
    """Return what a value without a method means: a path, a file or a name."""
    if "/" in value or "\\" in value:
        return "path"
    return "file" if value.lower().endswith(_FILES) else "fqn"


def _depth(digits: str) -> int | None:
    # More digits than any graph is deep mean all; int() rejects more than 4300 digits.
    return int(digits) if digits and len(digits) < 10 else None
