"""A SELECT with groups: its keys, its aggregates, and the expressions over both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millstream.core.expressions import Expression, Piece, Ref, column_expression, join_pieces
from millstream.core.types import BOOLEAN
from millstream.sql.clauses import (
    NotSplitError,
    SqlTokens,
    TokenRange,
    by_commas,
    call_range,
    strip_parentheses,
)
from millstream.sql.precedence import stands_alone
from millstream.sql.query import AggregateCall, SelectItem
from millstream.sql.reading import ExpressionReader
from millstream.sql.scope import Refs, Scope, SelectOutput, unused_name
from millstream.sql.token_roles import AggregateRole, TokenRoles
from millstream.sql.value import Value

_KINDS = frozenset((TokenType.ROLLUP, TokenType.CUBE, TokenType.GROUPING_SETS))
Positions = list[int]


class GroupingSets(Struct):
    token_ranges: list[TokenRange]
    """The keys, first those that all sets have."""
    sets: list[Positions]
    """The keys of each set, by their position in `token_ranges`."""


_WINDOWS = frozenset(("window", "session_window"))


class GroupKey(Struct):
    """A group key, and how it is recognized within another expression."""

    item: SelectItem
    forms: tuple[str, ...]
    """Its words, with resolved columns."""
    token_range: TokenRange
    refs: Refs = ()
    """The column, if the key is just a column."""

    @property
    def column(self) -> Expression:
        expression = self.item.expression
        return column_expression(self.item.name, expression.type, nullable=expression.nullable)


class GroupKeys:
    """The keys and aggregates of one SELECT; aggregates are found as its expressions are read."""

    def __init__(self, source: SqlTokens, roles: TokenRoles, scope: Scope) -> None:
        self.source = source
        self.marks = roles
        self.scope = scope
        self.rows = ExpressionReader(source, roles, scope)
        """Reads expressions over rows."""
        self.reader = ExpressionReader(source, roles, scope, self._key_or_aggregate)
        """Reads expressions over groups."""
        self.keys: list[GroupKey] = []
        self.measures: dict[tuple[str, ...], AggregateCall] = {}
        self.used: set[str] = set()
        self.outputs: Mapping[str, Expression] = {}
        """The items by name, for HAVING."""
        self.item_name = "having"
        """The name of the current item."""
        self.sets: tuple[tuple[str, ...], ...] = ()
        """The names of the keys in each grouping set, if there are several."""
        self._forms: dict[int, tuple[str, int]] = {}
        self._by_first: dict[str, list[GroupKey]] = {}

    # -- keys

    def add_keys(
        self,
        node: exp.Select,
        keys: list[tuple[exp.Expr, Value]],
        group: TokenRange | None,
        parts: list[TokenRange],
        items: list[tuple[str, TokenRange]],
    ) -> None:
        """Add the keys; `parts` is the SELECT list, `items` are its expressions."""
        self.used = {name.lower() for name, _ in items}
        exact: dict[tuple[str, ...], str] = {}
        for name, token_range in items:
            exact.setdefault(self._words(token_range), name)
        sets = grouping_sets(self.source, group)
        if sets is not None and len(sets.token_ranges) != len(keys):
            raise NotSplitError("a GROUP BY that could not be split")
        names: dict[int, str] = {}
        for index, (key, value) in enumerate(keys):
            if isinstance(key, exp.Tuple):
                raise NotSplitError("GROUP BY with a tuple of columns")
            within = sets.token_ranges[index] if sets else None
            token_range = strip_parentheses(self.source, self._key_range(key, node, group, parts, within))
            forms = self._words(token_range)
            if same := next((group_key for group_key in self.keys if group_key.forms == forms), None):
                names[index] = same.item.name
                continue
            expression = self.rows.expression(token_range, value.type, nullable=value.nullable)
            if _of_window(expression):
                continue  # `group by window(…), window.start`: the same groups
            if any(not ref.relation for ref in expression.refs):
                raise NotSplitError("a group key that uses a column of the same SELECT")
            reference = self.rows.reference(token_range[0])
            bare = reference is not None and len(forms) == 1
            name = self._key_name(expression, token_range)
            name = exact.get(forms) or self._of_item(name, exact) or unused_name(name, self.used)
            self.used.add(name.lower())
            names[index] = name
            item = SelectItem(name, expression)
            self.keys.append(GroupKey(item, forms, token_range, reference.refs if reference and bare else ()))
        if sets is not None:
            self.sets = tuple(
                tuple(dict.fromkeys(names[index] for index in positions if index in names))
                for positions in sets.sets
            )
        for group_key in sorted(self.keys, key=lambda group_key: -len(group_key.forms)):
            if _is_constant(group_key.item.expression):
                continue  # a constant: `group by 'x'` says nothing about another 'x'
            self._by_first.setdefault(group_key.forms[0], []).append(group_key)

    def _key_range(
        self,
        key: exp.Expr,
        node: exp.Select,
        group: TokenRange | None,
        parts: list[TokenRange],
        within: TokenRange | None,
    ) -> TokenRange:
        """Return where a key is written; `within` is its place in a grouping set."""
        for index, item in enumerate(node.expressions):
            if (item.this if isinstance(item, exp.Alias) else item) is key:
                return parts[index]
        if within is not None:
            return within
        token_ranges = by_commas(self.source, group) if group else []
        written = node.args["group"].expressions
        for index, part in enumerate(written):
            if part is key and len(token_ranges) == len(written):
                return token_ranges[index]
        raise NotSplitError("a GROUP BY that could not be split")

    def _key_name(self, expression: Expression, token_range: TokenRange) -> str:
        word = self.source.tokens[token_range[0]].text.removesuffix("\x00").lower()
        if word in _WINDOWS and token_range[1] > token_range[0] + 1:
            return word
        match expression.pieces:
            case (Ref(column=name),):
                return name
            case (Ref(), str() as path) if path.startswith(".") and path[1:].isidentifier():
                return path[1:]
        return f"key_{len(self.keys) + 1}"

    def _of_item(self, window: str, exact: Mapping[tuple[str, ...], str]) -> str:
        """Return the item's name in `select window as w … group by window(…)`."""
        return exact.get((f"\x01\x02{window}",), "") if window in _WINDOWS else ""

    def constant_of(self, name: str, token_range: TokenRange) -> Expression | None:
        """Return the key that an item is, if it is a constant: `select 'x' as label … group by 'x'`."""
        for key in self.keys:
            if (
                key.item.name == name
                and _is_constant(key.item.expression)
                and key.forms == self._words(token_range)
            ):
                return key.column
        return None

    # -- keys and aggregates within expressions

    def _key_or_aggregate(self, index: int) -> tuple[Expression, int] | None:
        """Return the key or aggregate that begins at a token."""
        aggregated = self.marks.aggregates.get(self.source.tokens[index].start)
        if aggregated is not None and aggregated.scope is self.scope:
            token_range = call_range(self.source, self.source.tokens[index].start)
            return self._measure(token_range, aggregated), token_range[1]
        form, after = self._form(index)
        reference = self.rows.reference(index)
        if reference is not None and not reference.refs[0][0]:
            name = reference.refs[0][1].lower()
            output = self._output(name)
            return (output, after) if output is not None else None
        for key in self._by_first.get(form, ()):
            stop = self._matched(index, key)
            if stop and (
                key.refs or stands_alone(self.source, (index, stop), atomic=self.rows.atomic(key.token_range))
            ):
                return key.column, stop
        return None

    def _output(self, name: str) -> Expression | None:
        """Return the expression behind the name of a window or, in HAVING, of an item."""
        if expression := self.outputs.get(name):
            return expression if expression.atomic else _in_parentheses(expression)
        if name in _WINDOWS:
            for key in self.keys:
                first = key.item.expression.pieces[0]
                if isinstance(first, str) and first.startswith(f"{name}("):
                    return key.column
        return None

    def _matched(self, index: int, key: GroupKey) -> int:
        """Return the index after a key's words; 0 if they don't match."""
        for form in key.forms:
            if index >= len(self.source.tokens):
                return 0
            token_form, index = self._form(index)
            if token_form != form:
                return 0
        return index

    def column_of(self, output: SelectOutput) -> list[Piece]:
        """Return a column of a star, which must be a group key."""
        for key in self.keys:
            if key.refs == output.refs:
                return [Ref(key.item.name), output.path] if output.path else [Ref(key.item.name)]
        raise NotSplitError("a star over more than the group keys")

    # -- aggregates

    def add_whole(self, token_range: TokenRange, name: str) -> None:
        """Name an aggregate after the item, if the item is just the aggregate."""
        start = self.source.tokens[token_range[0]].start
        aggregated = self.marks.aggregates.get(start)
        if aggregated is None or aggregated.scope is not self.scope:
            return
        if call_range(self.source, start) == token_range:
            self._measure(token_range, aggregated, name)

    def _measure(self, token_range: TokenRange, aggregated: AggregateRole, name: str = "") -> Expression:
        forms = self._words(token_range)
        measure = self.measures.get(forms)
        if measure is None:
            name = name or unused_name(f"{self.item_name}_{aggregated.function}", self.used)
            self.used.add(name.lower())
            call, condition = self._filtered(token_range)
            value = aggregated.value
            expression = self.rows.expression(call, value.type, nullable=value.nullable)
            filter_ = self.rows.expression(condition, BOOLEAN) if condition else None
            if any(not ref.relation for ref in (*expression.refs, *(filter_.refs if filter_ else ()))):
                raise NotSplitError(f"{aggregated.function}() over a column of the same SELECT")
            measure = self.measures[forms] = AggregateCall(name, expression, aggregated.function, filter_)
        return column_expression(measure.name, measure.call.type, nullable=measure.call.nullable)

    def _filtered(self, token_range: TokenRange) -> tuple[TokenRange, TokenRange | None]:
        """Split a call from its FILTER."""
        first, last = token_range
        tokens, match = self.source.tokens, self.source.match
        index = match[first + 1] + 1
        while index < last:
            if tokens[index].token_type == TokenType.FILTER:
                return (first, index), strip_parentheses(self.source, (index + 3, match[index + 1]))
            index = match[index] + 1 if match[index] >= 0 else index + 1
        return token_range, None

    # -- words, by what they mean

    def _words(self, token_range: TokenRange) -> tuple[str, ...]:
        index, stop = strip_parentheses(self.source, token_range)
        forms: list[str] = []
        while index < stop:
            form, index = self._form(index)
            forms.append(form)
        return tuple(forms)

    def _form(self, index: int) -> tuple[str, int]:
        if (form := self._forms.get(index)) is None:
            reference = self.rows.reference(index)
            if reference is not None:
                text = "\x01".join(f"\x01{relation}\x02{name}" for relation, name in reference.refs).lower()
                form = text, self.rows.after(index, reference.stop)
            else:
                token = self.source.tokens[index]
                raw = self.source.sql[token.start : token.end + 1]
                quoted = "'" in raw or '"' in raw
                form = raw if quoted else raw.strip("`").lower(), index + 1
            self._forms[index] = form
        return form


def _is_constant(key: Expression) -> bool:
    return key.deterministic and not (key.refs or key.reads or key.functions)


def _of_window(key: Expression) -> bool:
    """Return whether a key follows from the window that rows are grouped by."""
    return (
        bool(key.refs)
        and key.movable
        and all(not ref.relation and ref.column in _WINDOWS for ref in key.refs)
    )


def _in_parentheses(expression: Expression) -> Expression:
    return replace(
        expression, pieces=join_pieces(["(", *expression.pieces, ")"]), atomic=True, start=0, stop=0
    )


def check_grouped(expression: Expression) -> None:
    """Check that an expression over groups only uses keys and aggregates."""
    for ref in expression.refs:
        if ref.relation:
            raise NotSplitError(f"a group key that is written differently, near '{ref.column}'")


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
        yield strip_parentheses(source, key)
