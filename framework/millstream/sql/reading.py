"""Reads expressions from the SQL: their tokens with normalized spaces, their columns as separate pieces."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct
from sqlglot.tokenizer_core import Token, TokenType

from millstream.core.expressions import Expression, Piece, Read, Ref, join_pieces, quote_name
from millstream.core.types import Type
from millstream.sql.clauses import NotSplitError, SqlTokens, TokenRange
from millstream.sql.query import OUTER
from millstream.sql.scope import Refs, Scope
from millstream.sql.token_roles import ColumnRole, TokenRoles
from millstream.sql.words import NAMES

_MARK = "\x00"
_CALLING = frozenset(("cast", "try_cast", "extract", "trim", "substring", "substr", "position", "overlay"))
"""Functions that the parser must recognize, so that their names are not marked as calls."""
_IMPURE = frozenset(
    ("current_date", "current_timestamp", "current_time", "localtimestamp", "current_user", "session_user")
)
_TIGHT_AFTER = frozenset(("(", "[", ".", "::", ":"))
_TIGHT_BEFORE = frozenset((")", "]", ",", ".", "::", "[", ":"))
_SIGNS = frozenset((TokenType.DASH, TokenType.PLUS, TokenType.TILDE))
_BEFORE_SIGN = _SIGNS | {
    TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.COMMA, TokenType.STAR, TokenType.SLASH, TokenType.MOD,
    TokenType.DIV, TokenType.DPIPE, TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT,
    TokenType.GTE, TokenType.NULLSAFE_EQ, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.WHEN,
    TokenType.THEN, TokenType.ELSE, TokenType.CASE, TokenType.BETWEEN, TokenType.AMP, TokenType.PIPE,
    TokenType.CARET, TokenType.ARROW, TokenType.FARROW, TokenType.INTERVAL, TokenType.DISTINCT,
}  # fmt: skip
"""After these, a sign belongs to the next token."""
_BEFORE_WORDS = frozenset((TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN))
_POSTFIX = frozenset(("within", "ignore", "respect"))
_AS_WRITTEN = frozenset((TokenType.NUMBER, TokenType.STRING, *NAMES))
_ANGLES = frozenset((TokenType.LT, TokenType.GT))
_NESTED = frozenset(("array", "map", "struct"))
_SIZED = frozenset(("decimal", "dec", "numeric", "varchar", "char"))
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)

Special = Callable[[int], "tuple[Expression, int] | None"]
"""Returns a replacement for the tokens from an index on, and the index after them."""


def column_pieces(
    refs: Refs, *, named: bool = False, fixed: bool = False, in_lambda: bool = False
) -> list[Piece]:
    """Return a column of a FROM clause, or the COALESCE of columns that USING merged."""
    columns = [
        Ref(name, relation, named=named and len(refs) == 1, fixed=fixed, in_lambda=in_lambda)
        for relation, name in refs
    ]
    if len(columns) == 1:
        return [*columns]
    pieces: list[Piece] = ["coalesce("]
    for ref in columns:
        pieces += [ref, ", "]
    return [*pieces[:-1], ")"]


class ExpressionReader(Struct):
    """Reads expressions of one SELECT; `special` finds group keys and aggregates in them."""

    source: SqlTokens
    marks: TokenRoles
    scope: Scope
    special: Special | None = None

    def expression(self, token_range: TokenRange, type_: Type, *, nullable: bool = True) -> Expression:
        """Return the expression in a range of tokens."""
        cut = _Cut(self)
        cut.read(token_range)
        start, stop = self.source.span(token_range)
        pieces = join_pieces(cut.pieces)
        bare = len(pieces) == 1 and isinstance(pieces[0], Ref)
        return Expression(
            pieces,
            type_,
            nullable,
            deterministic=not cut.impure,
            raises=not bare and (cut.raising or bool(cut.python) or self.marks.raises_somewhere),
            functions=tuple(cut.python),
            atomic=bare or self.atomic(token_range),
            variables=tuple(sorted(cut.variables)),
            start=start,
            stop=stop,
        )

    def reference(self, index: int) -> ColumnRole | None:
        reference = self.marks.references.get(self.source.tokens[index].start)
        return reference if reference is not None and reference.scope is self.scope else None

    def after(self, index: int, offset: int) -> int:
        """Return the index of the first token at or after an offset."""
        starts = self.source.starts
        while index < len(starts) and starts[index] < offset:
            index += 1
        return index

    def atomic(self, token_range: TokenRange) -> bool:
        """Return whether a range of tokens is one word, a path, a call, or in parentheses."""
        first, last = token_range
        tokens, match = self.source.tokens, self.source.match
        if tokens[first].token_type in {TokenType.DASH, TokenType.NOT, TokenType.CASE}:
            return False
        index = first if match[first] >= 0 else first + 1
        while index < last:
            kind = tokens[index].token_type
            if kind == TokenType.DOT:
                index += 2
            elif match[index] >= 0 and (
                index == first or is_call(tokens[index - 1]) or kind == TokenType.L_BRACKET
            ):
                index = match[index] + 1
            else:
                return False
        return True


class _Cut:
    """One walk over a range of tokens."""

    def __init__(self, reader: ExpressionReader) -> None:
        self.reader = reader
        self.source = reader.source
        self.marks = reader.marks
        self.pieces: list[Piece] = []
        self.impure = self.raising = False
        self.python: list[str] = []
        self.variables: set[str] = set()
        self._last: Token | None = None
        self._last_text = ""
        self._glue = True
        self._angles = 0
        """The number of open brackets of a type, `array<struct<`."""

    def read(self, token_range: TokenRange) -> None:
        index, stop = token_range
        while index < stop:
            index = self._step(index)
        if self._last is not None and self._last.end in self.marks.variant_paths:
            following = self.source.tokens[stop].start if stop < len(self.source.tokens) else None
            self.pieces.append(_path(self.source.sql[self._last.end + 1 : following]))

    def _step(self, index: int) -> int:
        token = self.source.tokens[index]
        start, roles = token.start, self.marks
        if start in roles.raising_around:
            self.raising = True
        if self.reader.special and (special := self.reader.special(index)):
            return self._replaced(index, *special)
        if reference := roles.references.get(start):
            stop = self.reader.after(index, reference.stop)
            is_local = reference.scope is self.reader.scope
            if is_local or reference.by_path:
                pieces = self._column(reference, start) if is_local else without_path(reference)
                return self._put("x", pieces, index, stop)
        elif named := roles.relations.get(start):
            alias = [f" as {quote_name(named.alias)}"] if named.alias else []
            return self._put("x", [Read(named.id), *alias], index, self.reader.after(index, named.stop))
        elif (star := roles.stars.get(start)) and star.scope is self.reader.scope:
            stars: list[Piece] = []
            for refs in star.columns:
                stars += [", "] if stars else []
                stars += column_pieces(refs, named=star.named)
                if star.named and len(refs) > 1:
                    stars.append(f" as {quote_name(refs[0][1])}")
            return self._put("x", stars, index, self.reader.after(index, star.stop))
        elif start in roles.ctes:
            roles.not_split("a subquery that reads a CTE", at_rest=False)
        text = self._text(token, index)
        self._facts(token, text)
        return self._put(text, [text], index, index + 1)

    def _replaced(self, index: int, expression: Expression, stop: int) -> int:
        tokens, pieces = self.source.tokens, list(expression.pieces)
        start = tokens[index].start
        if not is_call(tokens[index]):
            self.raising |= any(token.start in self.marks.raising_around for token in tokens[index:stop])
        self.raising |= expression.raises
        self.impure |= not expression.deterministic
        self.python += expression.functions
        self.variables.update(expression.variables)
        reference = self.reader.reference(index)
        if reference and start in self.marks.named:
            pieces = _labelled(pieces, reference.written)
        elif label := self.marks.unnamed.get(start):
            pieces = self._unnamed(pieces, index, stop, label)
        elif start in self.marks.fixed:
            raise NotSplitError("arrays_zip over a group key or an alias")
        return self._put("x", pieces, index, stop)

    def _unnamed(self, pieces: list[Piece], index: int, stop: int, label: str) -> list[Piece]:
        """Keep the name that Spark gives to a field if a column replaces an expression."""
        tokens = self.source.tokens
        if stop < len(tokens) and tokens[stop].token_type not in {TokenType.COMMA, TokenType.R_PAREN}:
            return pieces
        before = tokens[index - 1].token_type
        if before == TokenType.L_PAREN and not is_call(tokens[index - 2]):
            raise NotSplitError("a group key in parentheses within a struct")
        return [*pieces, f" as {quote_name(label)}"]

    def _column(self, reference: ColumnRole, start: int) -> list[Piece]:
        named, fixed = start in self.marks.named, start in self.marks.fixed
        if fixed and len(reference.refs) > 1:
            raise NotSplitError("arrays_zip over a column of both sides of a join")
        refs = reference.refs
        if reference.outer:
            refs = tuple((f"{OUTER}{relation}", name) for relation, name in refs)
        pieces = column_pieces(refs, named=named, fixed=fixed, in_lambda=reference.in_lambda)
        return _labelled(pieces, reference.written) if named else pieces

    def _facts(self, token: Token, text: str) -> None:
        roles, start = self.marks, token.start
        if start in roles.raising:
            self.raising = True
        if start in roles.impure or (text in _IMPURE and self._last_text != "."):
            self.impure = True
        if roles.changing and token.token_type == TokenType.STRING and token.text in roles.changing:
            self.impure = True
        if start in roles.python:
            self.python.append(roles.python[start])
        if start in roles.variables:
            self.variables.add(roles.variables[start])

    def _text(self, token: Token, index: int) -> str:
        raw = self.source.sql[token.start : token.end + 1]
        if "'" in raw or '"' in raw or "`" in raw:
            return raw
        if token.token_type in _AS_WRITTEN and not is_call(token):
            before = self._last
            if before is None or token.token_type == TokenType.NUMBER:
                return raw
            # Not a name: `interval 5 minutes`, `sum(x) ignore nulls`, `extract(hour from …)`.
            unit = (
                before.token_type in _BEFORE_WORDS
                or self._last_text in _POSTFIX
                or (self._last_text == "(" and self.source.tokens[index - 2].text.lower() == "extract")
            )
            return raw.lower() if unit else raw
        return " ".join(raw.lower().split())

    def _put(self, text: str, pieces: list[Piece], first: int, after: int) -> int:
        """Add pieces, with a space before them if needed."""
        tokens = self.source.tokens
        if self._last is not None:
            self.pieces += self._between(self._last, tokens[first], text)
        self.pieces += pieces
        before, self._last = self._last, tokens[after - 1]
        if label := self.marks.fields.get(self._last.end + 1):
            self.pieces.append(f" as {quote_name(label)}")
        self._glue = tokens[first].token_type in _SIGNS and (
            before is None or before.token_type in _BEFORE_SIGN
        )
        if text == ">" and self._angles:
            self._angles -= 1
        self._last_text = text
        return after

    def _between(self, last: Token, token: Token, text: str) -> list[Piece]:
        gap = self.source.sql[last.end + 1 : token.start]
        if gap and not gap.isspace():
            gap = without_comments(gap)
            if gap.strip():
                # Text hidden from the parser, such as the path of `value:a.b`.
                tight = text in _TIGHT_BEFORE or not gap[-1].isspace()
                return [_path(gap), "" if tight else " "]
        if self._glue and token.token_type in _SIGNS:
            return [" "]  # `- -1`: two dashes begin a comment
        if self._glue or self._last_text in _TIGHT_AFTER or text in _TIGHT_BEFORE:
            return []
        if not gap and token.token_type == last.token_type == TokenType.STRING:
            return []  # `'it''s'` is one text
        if text == "(" and (is_call(last) or last.text.lower() in _SIZED):
            return []
        if self._angles and (text == ">" or self._last_text == "<"):
            return []
        if text == "<" and last.text.lower() in _NESTED:
            self._angles += 1
            return []
        # `>>` is not `> >`.
        together = not gap and token.token_type in _ANGLES and last.token_type in _ANGLES
        return [] if together else [" "]


def _path(gap: str) -> str:
    """Return text hidden from the parser, without spaces around its first sign: `: a.b` is `:a.b`."""
    text = without_comments(gap).strip()
    return f":{text[1:].lstrip()}" if text.startswith(":") else text


def without_comments(gap: str) -> str:
    """Return the text between two tokens, with each comment replaced by a space."""
    return _COMMENTS.sub(" ", gap)


def is_call(token: Token) -> bool:
    """Return whether a word before a parenthesis calls a function."""
    return token.text.endswith(_MARK) or token.text.lower() in _CALLING


def _labelled(pieces: list[Piece], written: str) -> list[Piece]:
    """Name a field as its column was written."""
    match pieces:
        case [Ref() as ref] if ref.column == written:
            return [Ref(ref.column, ref.relation, named=True, in_lambda=ref.in_lambda)]
        case [Ref() as ref]:
            plain = Ref(ref.column, ref.relation, in_lambda=ref.in_lambda)
            return [plain, f" as {quote_name(written)}"]
        case _:
            return [*pieces, f" as {quote_name(written)}"]


def without_path(reference: ColumnRole) -> list[Piece]:
    """Return a column of a subquery with the relation's own name instead of its full path."""
    relation, _ = reference.refs[0]
    return [f"{quote_name(relation)}.{quote_name(reference.written)}"]
