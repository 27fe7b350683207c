"""Selectors as written on the command line: `tag:nightly,2+orders+ @staging.*`."""

import re
from collections.abc import Callable

from millstream.errors import Diagnostic
from millstream.selectors.methods import check_method
from millstream.selectors.values import Criterion, Intersection, Origin, Spec, Union
from millstream.text import Text

Place = Callable[[int, int], Origin]
"""The origin of a part of the text, by its offsets."""

_BEFORE = re.compile(r"(?P<at>@)?(?:(?P<depth>\d*)(?P<plus>\+))?")
_METHOD = re.compile(r"(?P<name>[\w.]+):")
_AFTER = re.compile(r"\+(?P<depth>\d*)\Z")
_FILES = (".sql", ".py", ".csv")


def option(name: str, content: str) -> Place:
    """Return the places in the text of a command-line option."""
    text = Text(name, content)

    def place(start: int, stop: int) -> Origin:
        location = text.location(start, stop)
        return Origin(location, text.line(location.line))

    return place


def parse(content: str, place: Place, problems: list[Diagnostic]) -> Spec:
    """Read a union of intersections; what is wrong goes to `problems`."""
    terms = [_term(m.group(), m.start(), place, problems) for m in re.finditer(r"\S+", content)]
    if not terms:
        problems.append(place(0, len(content)).report("MS601", "the selector is empty", _EXAMPLE))
    return terms[0] if len(terms) == 1 else Union(tuple(terms))


_EXAMPLE = "name what to select: a model such as 'orders+', or a method such as 'tag:nightly'"


def _term(term: str, offset: int, place: Place, problems: list[Diagnostic]) -> Spec:
    parts: list[Spec] = []
    for part in term.split(","):
        if part:
            found = _criterion(part, offset, place, problems)
            parts += [found] if found else []
        else:
            problem = place(max(offset - 1, 0), offset).report(
                "MS601",
                f"'{term}' has nothing on one side of a comma",
                "write an intersection without blanks: 'tag:nightly,orders+'",
            )
            # `a,,b` has one mistake between its commas, and `,` alone has one, not two
            if not problems or problems[-1].message != problem.message:
                problems.append(problem)
        offset += len(part) + 1
    return (
        parts[0]
        if len(parts) == 1
        else Intersection(tuple(parts), term, place(offset - len(term) - 1, offset - 1))
    )


def _criterion(part: str, offset: int, place: Place, problems: list[Diagnostic]) -> Criterion | None:
    def fail(start: int, stop: int, message: str, remedy: str) -> None:
        problems.append(place(offset + start, offset + stop).report("MS601", message, remedy))

    before = _BEFORE.match(part)
    assert before
    after = _AFTER.search(part, before.end())
    stop = after.start() if after else len(part)
    method = _METHOD.match(part, before.end(), stop)
    start = method.end() if method else before.end()
    value = part[start:stop]
    if not value:
        fail(0, len(part), f"'{part}' names nothing to select", _EXAMPLE)
        return None
    if before["at"] and after:
        message = f"'{part}' has both '@' before and '+' after"
        fail(stop, len(part), message, "drop the '+': '@' takes all descendants already")
        return None
    if not method and (plus := value.find("+")) >= 0:
        fail(
            start + plus,
            start + plus + 1,
            f"'+' stands within '{value}'",
            "write it before or after a name: '1+orders+2'",
        )
        return None
    origin = place(offset + before.end(), offset + stop)
    name, *arguments = method["name"].split(".") if method else [default_method(value)]
    at_method = place(offset + before.end(), offset + start - 1) if method else origin
    at_value = place(offset + start, offset + stop)
    if problem := check_method(name, tuple(arguments), value, at_method, at_value):
        problems.append(problem)
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
    # more digits than any graph is deep: all the way, and int() refuses more than 4300 of them
    return int(digits) if digits and len(digits) < 10 else None
