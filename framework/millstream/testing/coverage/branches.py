"""The branches of CASE and IF in an expression, as conditions of which exactly one holds for a row."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|\w+|\S", re.DOTALL)


class Branch(Struct, frozen=True):
    label: str
    """As people read it: `when type = 'purchase'`."""
    condition: str
    start: int
    """Where it begins in the expression."""


class _Case(Struct):
    start: int
    """Where what comes after CASE begins."""
    operand: str = ""
    when: int = 0
    conditions: list[tuple[str, int]] = []
    """With where each begins."""
    otherwise: int = -1
    """Where ELSE begins; without one, END."""
    depth: int = 0


def find_branches(sql: str) -> Iterator[tuple[Branch, ...]]:
    """Yield the branches of each CASE and each IF, the inner ones first."""
    stack: list[_Case] = []
    depth = 0
    tokens = [(each.group(), each.start(), each.end()) for each in _TOKEN.finditer(sql)]
    for index, (token, start, stop) in enumerate(tokens):
        depth += (token == "(") - (token == ")")  # noqa: S105 -- brackets
        word, case = token.lower(), stack[-1] if stack and stack[-1].depth == depth else None
        if word == "case":
            stack.append(_Case(stop, depth=depth))
        elif word == "if" and index + 1 < len(tokens) and tokens[index + 1][0] == "(":
            condition = _first_argument(sql, tokens[index + 1][2])
            if condition:
                yield _branches([(condition, start)], start)
        elif case is not None and word == "when":
            if not case.conditions and not case.operand:
                case.operand = sql[case.start : start].strip()
            case.when = start
        elif case is not None and word == "then":
            label = sql[case.when + len("when") : start].strip()
            case.conditions.append((f"{case.operand} = {label}" if case.operand else label, case.when))
        elif case is not None and word == "else":
            case.otherwise = start
        elif case is not None and word == "end":
            stack.pop()
            yield _branches(case.conditions, start if case.otherwise < 0 else case.otherwise)


def _branches(conditions: list[tuple[str, int]], otherwise: int) -> tuple[Branch, ...]:
    found: list[Branch] = []
    before: list[str] = []
    for condition, start in conditions:
        holds = f"coalesce({condition}, false)"
        found.append(Branch(f"when {condition}", " and ".join([*before, holds]), start))
        before.append(f"not {holds}")
    found.append(Branch(f"else of {conditions[0][0]}", " and ".join(before), otherwise))
    return tuple(found)


def _first_argument(sql: str, start: int) -> str:
    depth = 0
    for match in _TOKEN.finditer(sql, start):
        token = match.group()
        if depth == 0 and token in {",", ")"}:
            return sql[start : match.start()].strip() if token == "," else ""  # noqa: S105
        depth += (token == "(") - (token == ")")  # noqa: S105
    return ""
