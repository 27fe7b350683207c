"""Finds the sets of ROLLUP, CUBE and GROUPING SETS among the tokens of GROUP BY."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from msgspec import Struct
from sqlglot.tokenizer_core import TokenType

from millstream.sql.clauses import NotSplitError, Region, SqlTokens, by_commas, unwrapped

_KINDS = frozenset((TokenType.ROLLUP, TokenType.CUBE, TokenType.GROUPING_SETS))

Positions = list[int]


class GroupingSets(Struct):
    regions: list[Region]
    """The keys, first those that all sets have."""
    sets: list[Positions]
    """The keys of each set, by their position in `regions`."""


def grouping_sets(source: SqlTokens, group: Region | None) -> GroupingSets | None:
    """Return the sets of a GROUP BY; None if each row belongs to one group."""
    if group is None or not any(source.tokens[index].token_type in _KINDS for index in range(*group)):
        return None
    parts = by_commas(source, group)
    special = [part for part in parts if source.tokens[part[0]].token_type in _KINDS]
    regions = [part for part in parts if part not in special]
    choices: list[list[Positions]] = [[[*range(len(regions))]]]
    for part in special:
        first, last = part
        if source.match[first + 1] != last - 1:
            raise NotSplitError("a GROUP BY that could not be split")
        elements: list[Positions] = []
        for element in by_commas(source, (first + 2, last - 1)):
            members = [*_members(source, element)]
            elements.append([*range(len(regions), len(regions) + len(members))])
            regions += members
        choices.append(_sets(source.tokens[first].token_type, elements))
    for region in regions:
        if any(source.tokens[index].token_type in {*_KINDS, TokenType.WITH} for index in range(*region)):
            raise NotSplitError("a GROUP BY that could not be split")
    return GroupingSets(regions, [[i for each in chosen for i in each] for chosen in product(*choices)])


def _sets(kind: TokenType, elements: list[Positions]) -> list[Positions]:
    match kind:
        case TokenType.ROLLUP:
            chosen = [tuple(elements[:size]) for size in range(len(elements), -1, -1)]
        case TokenType.CUBE:
            sizes = range(len(elements), -1, -1)
            chosen = [each for size in sizes for each in combinations(elements, size)]
        case _:
            return elements
    return [[index for element in each for index in element] for each in chosen]


def _members(source: SqlTokens, element: Region) -> Iterator[Region]:
    """Yield the keys of one element: `a`, `(a, b)` or `()`."""
    first, last = element
    listed = source.tokens[first].token_type == TokenType.L_PAREN and source.match[first] == last - 1
    if listed and last - first == 2:
        return
    for each in by_commas(source, (first + 1, last - 1)) if listed else [element]:
        yield unwrapped(source, each)
