"""Finds the sets of ROLLUP, CUBE and GROUPING SETS among the tokens of GROUP BY."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from msgspec import Struct
from sqlglot.tokenizer_core import TokenType

from millstream.sql.clauses import NotSplitError, SqlTokens, TokenRange, by_commas, unwrapped

_KINDS = frozenset((TokenType.ROLLUP, TokenType.CUBE, TokenType.GROUPING_SETS))

Positions = list[int]


class GroupingSets(Struct):
    token_ranges: list[TokenRange]
    """The keys, first those that all sets have."""
    sets: list[Positions]
    """The keys of each set, by their position in `token_ranges`."""


def grouping_sets(source: SqlTokens, group: TokenRange | None) -> GroupingSets | None:
    """Return the sets of a GROUP BY; None if each row belongs to one group."""
    if group is None or not any(source.tokens[index].token_type in _KINDS for index in range(*group)):
        return None
    parts = by_commas(source, group)
    special = [part for part in parts if source.tokens[part[0]].token_type in _KINDS]
    token_ranges = [part for part in parts if part not in special]
    choices: list[list[Positions]] = [[[*range(len(token_ranges))]]]
    for part in special:
        first, last = part
        if source.match[first + 1] != last - 1:
            raise NotSplitError("a GROUP BY that could not be split")
        elements: list[Positions] = []
        for element in by_commas(source, (first + 2, last - 1)):
            members = [*_members(source, element)]
            elements.append([*range(len(token_ranges), len(token_ranges) + len(members))])
            token_ranges += members
        choices.append(_sets(source.tokens[first].token_type, elements))
    for token_range in token_ranges:
        if any(source.tokens[index].token_type in {*_KINDS, TokenType.WITH} for index in range(*token_range)):
            raise NotSplitError("a GROUP BY that could not be split")
    return GroupingSets(
        token_ranges, [[i for positions in chosen for i in positions] for chosen in product(*choices)]
    )


def _sets(kind: TokenType, elements: list[Positions]) -> list[Positions]:
    match kind:
        case TokenType.ROLLUP:
            chosen = [tuple(elements[:size]) for size in range(len(elements), -1, -1)]
        case TokenType.CUBE:
            sizes = range(len(elements), -1, -1)
            chosen = [subset for size in sizes for subset in combinations(elements, size)]
        case _:
            return elements
    return [[index for element in subset for index in element] for subset in chosen]


def _members(source: SqlTokens, element: TokenRange) -> Iterator[TokenRange]:
    """Yield the keys of one element: `a`, `(a, b)` or `()`."""
    first, last = element
    is_list = source.tokens[first].token_type == TokenType.L_PAREN and source.match[first] == last - 1
    if is_list and last - first == 2:
        return
    for key in by_commas(source, (first + 1, last - 1)) if is_list else [element]:
        yield unwrapped(source, key)
