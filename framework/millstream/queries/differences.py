"""Describes how two states differ: aggregates, keys, windows, conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Facts = Sequence[tuple[str, str]]

_LEAF = re.compile(r"\b(?:source\.\w+|model|seed)\.\w+\.(\w+)")
_COLUMN = re.compile(rf"{_LEAF.pattern} [\w<>,:()]+(?: not null)?")
_DIGEST = re.compile(r"[0-9a-f]{24}")
_NUMBERED = {
    "measure": ("aggregate", "aggregates"),
    "key": ("key", "keys"),
    "on": ("condition", "conditions"),
}
"""The numbered facts, by the word before the number, with their singular and plural."""
_LISTS = frozenset(("left", "right", "row", "gives"))
"""The facts that list columns."""
_NOUNS = {
    "emit": "the time of its rows",
    "exact": "the exact time",
    "fields": "what is read of structs above it",
    "function": "its function",
    "gives": "its result",
    "kind": "the kind of join",
    "left": "the left side",
    "record time": "the time of its records (none with timestamp='processing_time')",
    "right": "the right side",
    "row": "its input",
    "ttl": "the time to live",
}
"""What users call a fact, where that is not its name."""
_NUMBER = re.compile(r" \d+$")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.|'')*'")
_HIDING = re.compile(rf"{_QUOTED.pattern}| [<>=!]+ ")
"""Texts and comparisons, whose signs open and close nothing."""
_LONG = 200


def describe_differences(was: Facts, now: Facts) -> Iterator[str]:
    """Yield each difference; the order counts, since Spark matches state columns by position."""
    for kind, words in _NUMBERED.items():
        yield from _list_changes(words, _contents(was, kind), _contents(now, kind))
    before, after = _single(was), _single(now)
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) == after.get(name):
            continue
        if name == "order":
            # Added, removed and moved aggregates are already reported.
            if _contents(was, "measure") == _contents(now, "measure"):
                yield "its aggregates are selected in a different order"
        elif name not in before:
            yield f"with {_noun(name)} {_shown(after[name])}"
        elif name not in after:
            yield f"without {_noun(name)} {_shown(before[name])}"
        elif name in _LISTS:
            yield _columns(_NOUNS[name], before[name], after[name])
        else:
            yield _instead(_noun(name), before[name], after[name])


def _noun(name: str) -> str:
    return _NOUNS.get(_NUMBER.sub("", name), name)


def _contents(facts: Facts, kind: str) -> list[str]:
    return [content for name, content in facts if re.fullmatch(rf"{kind} \d+", name)]


def _single(facts: Facts) -> dict[str, str]:
    """Return the facts without a number; several of one name are joined."""
    by_name: dict[str, str] = {}
    for name, content in facts:
        if not re.fullmatch(rf"(?:{'|'.join(_NUMBERED)}) \d+", name):
            by_name[name] = f"{by_name[name]}, {content}" if name in by_name else content
    return by_name


def _list_changes(words: tuple[str, str], was: list[str], now: list[str]) -> Iterator[str]:
    one, many = words
    if was == now:
        return
    gone = [text for text in was if was.count(text) > now.count(text)]
    new = [text for text in now if now.count(text) > was.count(text)]
    if not gone and not new:
        yield f"its {many} are in another order"
    elif len(gone) == len(new) and len(was) == len(now):
        for before, after in zip(gone, new, strict=True):
            yield _instead(one, before, after)
    else:
        if gone:
            yield f"without the {one if len(gone) == 1 else many} {', '.join(map(_shown, gone))}"
        if new:
            yield f"with the new {one if len(new) == 1 else many} {', '.join(map(_shown, new))}"


def _columns(noun: str, was: str, now: str) -> str:
    """Describe the columns that are in one of two lists only."""
    before, after = _split(was), _split(now)
    gone = [column for column in before if column not in after]
    new = [column for column in after if column not in before]
    if not gone and not new:
        return f"{noun} has its columns in another order"
    if len(gone) == len(new) == 1:
        return _instead(f"a column of {noun}", gone[0], new[0])
    parts = [f"no longer has {', '.join(map(_shown, gone))}"] if gone else []
    parts += [f"now has {', '.join(map(_shown, new))}"] if new else []
    return f"{noun} {' and '.join(parts)}"


def _split(text: str) -> list[str]:
    """Split a list at its commas, but not at those within parentheses, angle brackets and texts."""
    hidden = _HIDING.sub(lambda part: "_" * len(part[0]), text)
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(hidden):
        depth += (letter in "(<[") - (letter in ")>]")
        if letter == "," and depth <= 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()]


def _instead(name: str, was: str, now: str) -> str:
    before, after = _shown(was), _shown(now)
    if before == after:
        # Their types alone are others, or bodies of functions that they call.
        before, after = quote_sql(simplify_sql(was)), quote_sql(simplify_sql(now))
    if before == after or is_digest(before + after):
        return f"{name} is calculated in another way"
    return f"{name} is {after} instead of {before}"


def is_digest(content: str) -> bool:
    """Return whether a text has a digest, which says nothing to people."""
    return _DIGEST.search(content) is not None


def _shown(content: str) -> str:
    """Return a fact without its type."""
    text = simplify_sql(content)
    call, _, rest = text.rpartition(")")
    # A type is written behind what it is of: `sum(x) bigint not null`.
    if call and re.fullmatch(r"(?: [\w<>,:()]+(?: not null)?)?", rest):
        text = f"{call})"
    elif column := _COLUMN.fullmatch(content):
        text = column.group(1)
    return quote_sql(text)


def quote_sql(text: str) -> str:
    """Return SQL as a part of a sentence, between backticks; those of its own would end it."""
    short = text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
    return f"`{short.replace('`', chr(0x02CB))}`"


def simplify_sql(content: str) -> str:
    """Return SQL with the names of columns alone, and without the parentheses that stand around others."""
    return unwrap_sql(_LEAF.sub(r"\1", content))


def unwrap_sql(text: str) -> str:
    """Return SQL without the parentheses that stand around others: `sum((a + 1))` is `sum(a + 1)`."""
    open_: list[int] = []
    closes: dict[int, int] = {}
    for index, letter in enumerate(_QUOTED.sub(lambda quoted: "_" * len(quoted[0]), text)):
        if letter == "(":
            open_.append(index)
        elif letter == ")" and open_:
            closes[open_.pop()] = index
    needless = {index for index, end in closes.items() if closes.get(index - 1) == end + 1}
    needless |= {closes[index] for index in needless}
    return "".join(letter for index, letter in enumerate(text) if index not in needless)
