"""The keywords of JSON Schema that limit a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from millstream.formats.compatibility.values import ComparedSides, SchemaDifference, make_difference

Keywords = Mapping[str, Any]


def string_limits(was: Keywords, now: Keywords, sides: ComparedSides) -> Iterator[SchemaDifference]:
    yield from _limits(("minLength", "maxLength"), was, now, sides)
    before, after = was.get("pattern"), now.get("pattern")
    if after is not None and before != after:
        rule = "pattern_added" if before is None else "pattern_changed"
        yield make_difference(sides, "", rule, "its pattern", after, "missing" if before is None else before)


def number_limits(was: Keywords, now: Keywords, sides: ComparedSides) -> Iterator[SchemaDifference]:
    words = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    yield from _limits(words, was, now, sides)
    yield from _multiples(was.get("multipleOf"), now.get("multipleOf"), sides)
    integers = [_is_integer(keywords) for keywords in (was, now)]
    if integers == [False, True]:
        yield make_difference(sides, "", "type_narrowed", "it", "an integer", "any number")
    elif integers == [True, False]:
        yield make_difference(sides, "", "type_extended", "it", "any number", "an integer", breaks=False)


def _is_integer(keywords: Keywords) -> bool:
    types = keywords.get("type")
    return types == "integer" or (isinstance(types, list) and "integer" in types and "number" not in types)


def _multiples(before: Any, after: Any, sides: ComparedSides) -> Iterator[SchemaDifference]:
    if after is None or before == after:
        return
    if before is None:
        yield make_difference(sides, "", "multiple_of_added", "its multipleOf", after, "missing")
        return
    one, other = Decimal(str(before)), Decimal(str(after))
    if other and one % other:
        rule = "multiple_of_changed" if not one or other % one else "multiple_of_expanded"
        yield make_difference(sides, "", rule, "its multipleOf", after, before)


def object_limits(was: Keywords, now: Keywords, sides: ComparedSides) -> Iterator[SchemaDifference]:
    yield from _limits(("minProperties", "maxProperties"), was, now, sides)


def array_limits(was: Keywords, now: Keywords, sides: ComparedSides) -> Iterator[SchemaDifference]:
    yield from _limits(("minItems", "maxItems", "minContains", "maxContains"), was, now, sides)
    if now.get("uniqueItems") and not was.get("uniqueItems"):
        what = f"its items must be unique in the {sides.reader} schema only"
        yield SchemaDifference("", "unique_items_added", what)


def _limits(
    words: tuple[str, ...], was: Keywords, now: Keywords, sides: ComparedSides
) -> Iterator[SchemaDifference]:
    for word in words:
        before, after = _number(was.get(word)), _number(now.get(word))
        if before == after:
            continue
        name = re.sub("([A-Z])", r"_\1", word).lower()
        lower = word.lower().startswith(("min", "exclusivemin"))
        if after is None:
            how, breaks = "removed", False
        elif before is None:
            how, breaks = "added", True
        else:
            how = "increased" if after > before else "decreased"
            breaks = lower == (after > before)
        shown = ["missing" if limit is None else limit for limit in (after, before)]
        yield make_difference(sides, "", f"{name}_{how}", f"its {word}", *shown, breaks=breaks)


def _number(limit: Any) -> int | float | None:
    """Return a limit; `exclusiveMinimum` was a boolean in draft 4, which is not compared."""
    return None if isinstance(limit, bool) or not isinstance(limit, int | float) else limit
