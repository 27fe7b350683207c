"""The branches of CASE and IF in an expression, as conditions; exactly one of them is true for each row."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from millstream.sql.call_pieces import split_sql


class SqlBranch(Struct, frozen=True):
    label: str
    """For people, such as `when type = 'purchase'`."""
    condition: str
    start: int


class _Case(Struct):
    start: int
    """Offset after the word CASE."""
    operand: str = ""
    when: int = 0
    conditions: list[tuple[str, int]] = []
    """Each with its offset."""
    otherwise: int = -1
    """Offset of ELSE; -1 if there is none."""
    depth: int = 0


def find_branches(sql: str) -> Iterator[tuple[SqlBranch, ...]]:
    """Yield the branches of each CASE and each IF, the inner ones first."""
    stack: list[_Case] = []
    depth = 0
    tokens = list(_tokens(sql))
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


def _tokens(sql: str) -> Iterator[tuple[str, int, int]]:
    """Yield words, texts and signs, each with where it starts and ends; comments are skipped."""
    position = 0
    for part in split_sql(sql):
        if not part.lstrip().startswith(("--", "/*")) and not part.isspace():
            yield part, position, position + len(part)
        position += len(part)


def _branches(conditions: list[tuple[str, int]], otherwise: int) -> tuple[SqlBranch, ...]:
    branches: list[SqlBranch] = []
    negated: list[str] = []
    for condition, start in conditions:
        is_true = f"coalesce({condition}, false)"
        branches.append(SqlBranch(f"when {condition}", " and ".join([*negated, is_true]), start))
        negated.append(f"not {is_true}")
    branches.append(SqlBranch(f"else of {conditions[0][0]}", " and ".join(negated), otherwise))
    return tuple(branches)


def _first_argument(sql: str, start: int) -> str:
    depth = 0
    for token, position, _ in _tokens(sql[start:]):
        if depth == 0 and token in {",", ")"}:
            return sql[start : start + position].strip() if token == "," else ""  # noqa: S105
        depth += (token == "(") - (token == ")")  # noqa: S105
    return ""
