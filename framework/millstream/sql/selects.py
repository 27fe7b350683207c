"""Builds one SELECT as a value from its text, once its names and types are known."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millstream.core.expressions import Expression, Piece, join_pieces
from millstream.core.types import BOOLEAN
from millstream.sql.clauses import (
    NotSplitError,
    SqlTokens,
    TokenRange,
    by_commas,
    split_clauses,
    split_conjuncts,
)
from millstream.sql.froms import ClauseText, from_clause
from millstream.sql.keys import GroupKeys, check_grouped
from millstream.sql.nested import subqueries_of, windows_of
from millstream.sql.parse import select_token
from millstream.sql.query import From, GeneratedRows, Select, SelectItem
from millstream.sql.reading import ExpressionReader, column_pieces
from millstream.sql.scope import BoundColumn, Scope, SelectOutput, names_within
from millstream.sql.value import Value

_NOT_SPLIT = {
    "order": "an order, a limit or a distribution of rows",
    "window": "a WINDOW clause",
}

Keys = list[tuple[exp.Expr, Value]]


def read_select(
    text: ClauseText, node: exp.Select, scope: Scope, columns: list[BoundColumn], keys: Keys | None
) -> Select:
    """Return a SELECT; raise `NotSplitError` if its parts can't be determined reliably."""
    source, roles = text.source, text.findings.marks
    token_ranges = split_clauses(source, select_token(node))
    for name, reason in _NOT_SPLIT.items():
        if name in token_ranges:
            raise NotSplitError(reason)
    if ("from" in token_ranges) != (node.args.get("from_") is not None):
        raise NotSplitError("FROM before SELECT")
    written = by_commas(source, token_ranges["items"])
    if len(written) != len(node.expressions) or len(columns) != len(scope.outputs):
        raise NotSplitError("a SELECT list that could not be split")
    parts = [_unaliased(source, part, item) for part, item in zip(written, node.expressions, strict=True)]
    if "qualify" in token_ranges and not _has_windows(text, scope):
        raise NotSplitError("QUALIFY without a window function")
    relations = from_clause(text, token_ranges.get("from"), scope)
    reader = ExpressionReader(source, roles, scope)
    where = _conditions(reader, token_ranges.get("where"))
    names = names_within(columns)
    groups = _groups(text, node, scope, keys, parts, names, token_ranges)
    items = _items(groups or reader, names, columns, scope.outputs, parts)
    having: tuple[Expression, ...] = ()
    if groups is not None:
        groups.item_name = "having"
        groups.outputs = {item.name.lower(): item.expression for item in items}
        having = _conditions(groups.reader, token_ranges.get("having"))
        for expression in having:
            check_grouped(expression)
    elif where:
        generators = sum(joined.in_select_list for joined in scope.joined)
        _check_generators(relations[len(relations) - generators :])
    start, stop = source.span(token_ranges["all"])
    windows = tuple(windows_of(source, roles, scope, groups.reader if groups else reader))
    if groups is not None:
        for window in windows:
            for expression in window.partition:
                check_grouped(expression)
    return Select(
        items,
        relations,
        where,
        None if groups is None else tuple(key.item for key in groups.keys),
        () if groups is None else tuple(groups.measures.values()),
        having,
        distinct=node.args.get("distinct") is not None,
        hints=_hints(source, token_ranges["all"]),
        start=start,
        stop=stop,
        sets=() if groups is None else groups.sets,
        windows=windows,
        subqueries=tuple(subqueries_of(source, scope, reader)),
    )


def _has_windows(text: ClauseText, scope: Scope) -> bool:
    return any(window.scope is scope for window in text.findings.marks.windows.values())


def _unaliased(source: SqlTokens, token_range: TokenRange, node: exp.Expr) -> TokenRange:
    if not isinstance(node, exp.Alias):
        return token_range
    first, last = token_range[0], token_range[1] - 1
    return (first, last - 1 if source.tokens[last - 1].token_type == TokenType.ALIAS else last)


def _groups(
    text: ClauseText,
    node: exp.Select,
    scope: Scope,
    keys: Keys | None,
    parts: list[TokenRange],
    names: Sequence[str],
    token_ranges: dict[str, TokenRange],
) -> GroupKeys | None:
    if keys is None:
        return None
    if any(joined.in_select_list for joined in scope.joined):
        raise NotSplitError("a generator over groups in the SELECT list")
    groups = GroupKeys(text.source, text.findings.marks, scope)
    plain = [
        (name, parts[output.item])
        for name, output in zip(names, scope.outputs, strict=True)
        if not output.refs
    ]
    groups.add_keys(node, keys, token_ranges.get("group"), parts, plain)
    for name, token_range in plain:
        groups.add_whole(token_range, name)
    return groups


def _items(
    by: GroupKeys | ExpressionReader,
    names: Sequence[str],
    columns: list[BoundColumn],
    outputs: list[SelectOutput],
    parts: list[TokenRange],
) -> tuple[SelectItem, ...]:
    items: list[SelectItem] = []
    for name, column, output in zip(names, columns, outputs, strict=True):
        if isinstance(by, GroupKeys):
            by.item_name = name
        if output.refs:
            pieces = by.column_of(output) if isinstance(by, GroupKeys) else _column_of(output)
            expression = Expression(join_pieces(pieces), column.type, column.nullable, atomic=True)
        else:
            reader = by.reader if isinstance(by, GroupKeys) else by
            part = parts[output.item]
            constant = by.constant_of(name, part) if isinstance(by, GroupKeys) else None
            expression = constant or reader.expression(part, column.type, nullable=column.nullable)
        if isinstance(by, GroupKeys):
            check_grouped(expression)
        items.append(SelectItem(name, expression))
    return tuple(items)


def _column_of(output: SelectOutput) -> list[Piece]:
    return [*column_pieces(output.refs), output.path]


def _conditions(reader: ExpressionReader, token_range: TokenRange | None) -> tuple[Expression, ...]:
    if token_range is None:
        return ()
    return tuple(reader.expression(part, BOOLEAN) for part in split_conjuncts(reader.source, token_range))


def _check_generators(relations: tuple[From, ...]) -> None:
    """Reject generators of a SELECT list that can fail: they run before WHERE here, but after it in Spark."""
    for relation in relations:
        if isinstance(relation.input, GeneratedRows) and relation.input.call.raises:
            raise NotSplitError("a generator that can fail on rows that WHERE removes")


def _hints(source: SqlTokens, token_range: TokenRange) -> tuple[str, ...]:
    first, last = token_range
    if first + 1 < last and source.tokens[first + 1].token_type == TokenType.HINT:
        start, stop = source.span((first + 1, first + 2))
        return (" ".join(source.sql[start + 3 : stop - 2].split()),)
    return ()
