"""Which sides of a join of streams have rows that Spark drops, since no later row can match them.

Spark reads it from ON (StreamingJoinHelper, StreamingSymmetricHashJoinHelper): a column that is an event time
is compared by `=`, or two timestamps of both sides by `<`, `<=`, `>`, `>=` or BETWEEN, each more or less a
constant interval. Fields of a window, functions, casts and months bound nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref
from millstream.core.types import Row, Type
from millstream.plan.nodes import Join

Side = Literal["left", "right"]
_WORDS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|<=>|<>|<=|>=|!=|==|[\w.]+|\S")
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "==": "="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_INEXACT = re.compile(r"year|month|quarter", re.IGNORECASE)
_LENGTH = re.compile(r"'[^']*'|[\d.]+|[a-z]+|[-+]", re.IGNORECASE)

Words = tuple[str | Ref, ...]


class _Comparison(Struct, frozen=True):
    """Two operands with `=`, `<`, `<=`, `>` or `>=` between them."""

    left: Words
    sign: str
    right: Words


def is_window(type_: Type) -> bool:
    """Return whether a type is that of `window(…)`: a struct of two timestamps."""
    return isinstance(type_, Row) and [field.name for field in type_.fields] == ["start", "end"]


def dropped_sides(node: Join, times: Collection[str]) -> frozenset[Side]:
    """Return the sides whose rows are dropped once they can't match; `times` are event times in the join."""
    sides: dict[str, Side] = {joined.name: joined.side for joined in node.joined}
    comparisons = [comparison for condition in node.on for comparison in _comparisons(condition)]
    if any(_is_key(comparison, sides, times) for comparison in comparisons):
        return frozenset(("left", "right"))
    inputs = {"left": node.left, "right": node.right}
    windows = {j.name for j in node.joined if is_window(inputs[j.side].column(j.source).type)}
    exact = {*times} - windows
    return frozenset(
        sides[later]
        for comparison in comparisons
        for later, earlier in [_bound(comparison)]
        if later in exact and earlier in exact and sides[later] != sides[earlier]
    )


def with_hidden_bounds(node: Join, times: Collection[str]) -> Join:
    """Return a join that Spark keeps rows for as long as they can match.

    Spark drops rows by the event time of their side, even where ON compares another timestamp of it, which
    may be later. In a function, it does not see that timestamp.
    """
    sides: dict[str, Side] = {joined.name: joined.side for joined in node.joined}
    dropped = dropped_sides(node, times)
    on = tuple(_hidden(condition, sides, {*times}, dropped) for condition in node.on)
    return node if on == node.on else replace(node, on=on)


def _hidden(
    condition: Expression, sides: Mapping[str, Side], times: set[str], dropped: Collection[Side]
) -> Expression:
    timed = {sides[time] for time in times if time in sides}
    misleading = {
        later
        for comparison in _comparisons(condition)
        for later, earlier in [_bound(comparison)]
        if later and later not in times and earlier in times
        if sides[later] not in {sides[earlier], *dropped} and sides[later] in timed
    }
    if not misleading:
        return condition
    pieces: list[Piece] = []
    for piece in condition.pieces:
        hidden = isinstance(piece, Ref) and piece.column in misleading
        pieces += ["timestamp_micros(unix_micros(", piece, "))"] if hidden else [piece]
    return replace(condition, pieces=_merged(pieces))


def _merged(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return pieces with one text between two columns."""
    merged: list[Piece] = []
    for piece in pieces:
        if merged and isinstance(piece, str) and isinstance(last := merged[-1], str):
            merged[-1] = last + piece
        else:
            merged.append(piece)
    return tuple(merged)


def _is_key(compared: _Comparison, sides: Mapping[str, Side], times: Collection[str]) -> bool:
    """Return whether a comparison is `=` of both sides, with an event time alone on one of them."""
    if compared.sign not in {"=", "=="}:
        return False
    read = [{sides.get(ref.column) for ref in _refs(words)} for words in (compared.left, compared.right)]
    if not (len(read[0]) == len(read[1]) == 1 and read[0] != read[1]):
        return False
    alone = (words[0] for words in (compared.left, compared.right) if len(words) == 1)
    return any(isinstance(word, Ref) and word.column in times for word in alone)


def _bound(compared: _Comparison) -> tuple[str, str]:
    """Return the timestamp that is at least as late as another one, less a constant, and that other one."""
    if compared.sign in {"<", "<="}:
        compared = _Comparison(compared.right, _MIRRORED[compared.sign], compared.left)
    if compared.sign not in {">", ">="}:
        return "", ""
    later, earlier = _shifted(compared.left), _shifted(compared.right)
    return (later, earlier) if later and earlier else ("", "")


def _shifted(words: Words) -> str:
    """Return the only column of `column + interval 1 hour`; empty for any other operand."""
    refs = _refs(words)
    rest = [word for word in words if isinstance(word, str)]
    if len(refs) != 1 or any(_INEXACT.search(word) for word in rest):
        return ""
    rest = [word for word in rest if word not in {"(", ")"}]
    if not rest:
        return refs[0].column
    intervals = any(word.lower() == "interval" for word in rest)
    return refs[0].column if intervals and all(_LENGTH.fullmatch(word) for word in rest) else ""


def _refs(words: Words) -> list[Ref]:
    return [word for word in words if isinstance(word, Ref)]


def _comparisons(condition: Expression) -> Iterator[_Comparison]:
    """Yield the comparisons that a condition consists of; nothing for any other condition."""
    words: list[str | Ref] = []
    for piece in condition.pieces:
        words += (
            _WORDS.findall(piece) if isinstance(piece, str) else [piece] if isinstance(piece, Ref) else []
        )
    yield from _read(_unwrapped(tuple(words)))


def _read(words: Words) -> Iterator[_Comparison]:
    if words and _is(words[0], "not"):
        for negated in list(_read(_unwrapped(words[1:])))[:2]:
            if negated.sign in _NEGATED and not _is(words[1], "not"):
                yield _Comparison(negated.left, _NEGATED[negated.sign], negated.right)
        return
    outside = list(_outside(words))
    if any(_is(words[index], "or", "case", "in", "is", "like", "not") for index in outside):
        return
    between = [index for index in outside if _is(words[index], "between")]
    ands = [index for index in outside if _is(words[index], "and")]
    if len(between) == len(ands) == 1 and between[0] < ands[0]:
        tested, low, high = words[: between[0]], words[between[0] + 1 : ands[0]], words[ands[0] + 1 :]
        yield _Comparison(_unwrapped(tested), ">=", _unwrapped(low))
        yield _Comparison(_unwrapped(tested), "<=", _unwrapped(high))
        return
    signs = [index for index in outside if isinstance(word := words[index], str) and word in _MIRRORED]
    if len(signs) == 1 and not (between or ands):
        index = signs[0]
        yield _Comparison(_unwrapped(words[:index]), str(words[index]), _unwrapped(words[index + 1 :]))


def _outside(words: Words) -> Iterator[int]:
    """Yield the places of words that are not in parentheses."""
    depth = 0
    for index, word in enumerate(words):
        depth += (word in ("(", "[")) - (word in (")", "]"))
        if not depth:
            yield index


def _is(word: str | Ref, *names: str) -> bool:
    return isinstance(word, str) and word.lower() in names


def _unwrapped(words: Words) -> Words:
    """Return words without the parentheses around all of them."""
    while len(words) > 1 and words[0] == "(" and [*_outside(words)] == [len(words) - 1]:
        words = words[1:-1]
    return words
