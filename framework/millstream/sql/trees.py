"""The structure of expressions as values, for rules that ask which calls, casts and columns they have.

An expression is text with columns, which rules move and join. What such a text says is read here alone, by
the parser of the models, and once for equal texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import Struct
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from millstream.core.expressions import Expression, Piece, Ref
from millstream.core.types import STRING, Type, TypeSyntaxError, parse_type
from millstream.sql.tokens import MARK, SPARK, Tokens, tokenize_sql
from millstream.sql.values import SqlDiagnostic


class ColumnTree(Struct, frozen=True):
    ref: Ref

    @property
    def name(self) -> str:
        return self.ref.column


class LiteralTree(Struct, frozen=True):
    value: str | int | None
    """None for a constant that is neither a plain text nor an integer: `2.5`, `date '2026-01-31'`, `null`."""


class IntervalTree(Struct, frozen=True):
    fixed: bool
    """Whether it always has the same length: months and years vary."""


class FieldOf(Struct, frozen=True):
    base: ExpressionTree
    name: str


class CastTree(Struct, frozen=True):
    """A CAST, which fails on a wrong value; TRY_CAST is an `OtherTree`."""

    of: ExpressionTree
    type: Type


class CallTree(Struct, frozen=True):
    name: str
    """In lower case."""
    arguments: tuple[ExpressionTree, ...]
    distinct: bool = False


class OperatorTree(Struct, frozen=True):
    sign: str
    """As in `_OPERATORS`, besides `in` and `between`, whose first operand is the value."""
    operands: tuple[ExpressionTree, ...]


class OtherTree(Struct, frozen=True):
    """SQL that no rule asks about: a CASE, a subquery, a lambda."""

    kind: str
    parts: tuple[ExpressionTree, ...] = ()


ExpressionTree = (
    ColumnTree | LiteralTree | IntervalTree | FieldOf | CastTree | CallTree | OperatorTree | OtherTree
)

_OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.And: "and",
    exp.DPipe: "||",
    exp.EQ: "=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Like: "like",
    exp.NEQ: "<>",
    exp.Neg: "negative",
    exp.Not: "not",
    exp.NullSafeEQ: "<=>",
    exp.Or: "or",
    exp.Sub: "-",
}
_WINDOWS = frozenset(("window", "session_window"))
_SHORTENING = frozenset((TokenType.CHAR, TokenType.NCHAR, TokenType.NVARCHAR, TokenType.VARCHAR))
"""Types that sqlglot reads as `string`, though they fill or refuse texts."""
UNREAD = ""
"""The kind of SQL that can't be read, such as `a >>> b`; only its columns are known."""
_STAND_IN = "\x01"
"""Begins the name that stands for a column while the text is parsed."""


def tree_of(expression: Expression) -> ExpressionTree:
    """Return the structure of an expression."""
    return _tree(expression.pieces)


def called_function(expression: Expression) -> str:
    """Return the function's name, in lower case, if an expression is just one call."""
    tree = tree_of(expression)
    return tree.name if isinstance(tree, CallTree) else ""


def is_distinct(call: Expression) -> bool:
    """Return whether a call of an aggregate has DISTINCT."""
    tree = tree_of(call)
    return isinstance(tree, CallTree) and tree.distinct


def is_window_call(expression: Expression) -> bool:
    """Return whether an expression is a call of `window` or `session_window`."""
    return called_function(expression) in _WINDOWS


def window_calls(expression: Expression) -> frozenset[CallTree]:
    """Return the calls of `window` and `session_window` in an expression; Spark allows one per SELECT."""
    # Nearly all expressions have none, and each replacement of a column asks.
    if not any(isinstance(piece, str) and "window" in piece.lower() for piece in expression.pieces):
        return frozenset()
    trees = walk_tree(tree_of(expression))
    return frozenset(tree for tree in trees if isinstance(tree, CallTree) and tree.name in _WINDOWS)


def compared_columns(condition: Expression, *signs: str) -> tuple[Ref, Ref] | None:
    """Return the columns of a condition `x = y`, or with another of the signs, if it is nothing else."""
    match tree_of(condition):
        case OperatorTree(sign, (ColumnTree(one), ColumnTree(other))) if sign in (signs or ("=",)):
            return one, other
    return None


def column_that_is_null(condition: Expression) -> str | None:
    """Return the column of a condition `x is null`, if it is nothing else."""
    match tree_of(condition):
        case OperatorTree("is null", (ColumnTree() as column,)):
            return column.name
    return None


def column_that_is_known(condition: Expression) -> str | None:
    """Return the column of a condition `x is not null`, if it is nothing else."""
    match tree_of(condition):
        case OperatorTree("not", (OperatorTree("is null", (ColumnTree() as column,)),)):
            return column.name
    return None


def window_lengths(window: Expression) -> tuple[str, ...]:
    """Return the length and the slide of `window(…)`, or the gap of `session_window(…)`, as written."""
    match tree_of(window):
        case CallTree(name="window" | "session_window", arguments=(_, *lengths)):
            texts = (length.value for length in lengths[:2] if isinstance(length, LiteralTree))
            return tuple(text for text in texts if isinstance(text, str))
    return ()


def walk_tree(tree: ExpressionTree) -> Iterator[ExpressionTree]:
    """Yield a tree and all of its parts, from the outside."""
    yield tree
    for part in parts_of(tree):
        yield from walk_tree(part)


def called_functions(expression: Expression) -> frozenset[str]:
    """Return the names, in lower case, of the functions that an expression calls."""
    return frozenset(part.name for part in walk_tree(tree_of(expression)) if isinstance(part, CallTree))


def calls_window_function(expression: Expression) -> bool:
    """Return whether an expression has a call with OVER, or is SQL that can't be read."""
    kinds = (part.kind for part in walk_tree(tree_of(expression)) if isinstance(part, OtherTree))
    return any(kind in {"window", UNREAD} for kind in kinds)


def columns_of(tree: ExpressionTree) -> frozenset[str]:
    """Return the names of the columns that a tree reads."""
    return frozenset(part.name for part in walk_tree(tree) if isinstance(part, ColumnTree))


def parts_of(tree: ExpressionTree) -> tuple[ExpressionTree, ...]:
    """Return the parts that a tree consists of."""
    match tree:
        case ColumnTree() | LiteralTree() | IntervalTree():
            return ()
        case FieldOf(base=inner) | CastTree(of=inner):
            return (inner,)
        case CallTree(arguments=parts) | OperatorTree(operands=parts) | OtherTree(parts=parts):
            return parts


# -- the tree


def parse_expression(text: str, tokens: Tokens) -> exp.Expr | None:
    """Return sqlglot's tree of an expression, from the tokens of `select …`; None if it is not just one."""
    if tokens.watermarks or ">>>" in text:
        return None
    try:
        (tree,) = SPARK.parser().parse(tokens.tokens, text)
    except (SqlglotError, RecursionError, ValueError):
        return None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        return None
    expression: exp.Expr = tree.expressions[0]
    return None if isinstance(expression, exp.Alias) else expression


@lru_cache(1 << 14)
def _tree(pieces: tuple[Piece, ...]) -> ExpressionTree:
    match pieces:
        case (Ref() as ref,):
            return ColumnTree(ref)
    refs: list[Ref] = []
    text = ""
    for piece in pieces:
        if isinstance(piece, Ref):
            text += f"`{_STAND_IN}{len(refs)}`"
            refs.append(piece)
        else:
            text += piece if isinstance(piece, str) else f"`{piece.relation}`"
    tokens = tokenize_sql(f"select {text}")
    tree = None if isinstance(tokens, SqlDiagnostic) else parse_expression(text, tokens)
    unread = OtherTree(UNREAD, tuple(map(ColumnTree, refs)))
    if isinstance(tokens, SqlDiagnostic) or tree is None:
        return unread
    reader = _Reader(refs, tokens, escapes="\\" in text)
    try:
        read = reader.read(tree)
    except RecursionError:
        return unread
    # A path after anything but a column, such as `(v):a.b`, leaves no trace in sqlglot's tree.
    return read if reader.paths == len(tokens.variant_paths) else unread


class _Reader:
    """Reads one tree of sqlglot."""

    def __init__(self, refs: list[Ref], tokens: Tokens, *, escapes: bool) -> None:
        self._refs = refs
        self._paths = tokens.variant_paths
        self._escapes = escapes
        self.paths = 0
        """The paths into variants that were read: `v:a.b`."""
        self._shortens = any(token.token_type in _SHORTENING for token in tokens.tokens)

    def read(self, node: exp.Expr) -> ExpressionTree:
        if (sign := _OPERATORS.get(type(node))) is not None and not node.args.get("negate"):
            return OperatorTree(sign, self._all(node))
        match node:
            case exp.Paren() | exp.Alias():
                return self.read(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Dot(this=base, expression=exp.Identifier() as name):
                return FieldOf(self.read(base), name.name)
            case exp.Literal() | exp.Boolean() | exp.Null() | exp.RawString() | exp.HexString():
                return LiteralTree(self._value(node))
            case exp.Interval() if node.find(exp.Column) is None:
                return IntervalTree(not any(word in node.sql(SPARK).lower() for word in _VARYING))
            case exp.TryCast() | exp.Cast():
                return self._cast(node)
            case exp.Anonymous():
                return self._call(node)
            case exp.Is(this=value, expression=exp.Null()):
                return OperatorTree("is null", (self.read(value),))
            case exp.In(this=value, expressions=[_, *_] as members):
                return OperatorTree("in", (self.read(value), *map(self.read, members)))
            case exp.Between(this=value, args={"low": low, "high": high}) if not node.args.get("symmetric"):
                return OperatorTree("between", (self.read(value), self.read(low), self.read(high)))
            case exp.In():
                return OtherTree("in subquery", self._columns_within(node))
            case exp.Query() | exp.Subquery() | exp.Exists():
                return OtherTree("subquery", self._columns_within(node))
        return OtherTree(node.key, self._all(node))

    def _all(self, node: exp.Expr) -> tuple[ExpressionTree, ...]:
        return tuple(self.read(child) for child in node.iter_expressions())

    def _columns_within(self, node: exp.Expr) -> tuple[ExpressionTree, ...]:
        """Return the columns of the outer query that a subquery reads, and those before IN."""
        names = (column.parts[0].name for column in node.find_all(exp.Column))
        return tuple(self._read_column(name) for name in names if name.startswith(_STAND_IN))

    def _read_column(self, name: str) -> ColumnTree:
        return ColumnTree(self._refs[int(name.removeprefix(_STAND_IN))])

    def _column(self, node: exp.Column) -> ExpressionTree:
        first, *fields = node.parts
        if not first.name.startswith(_STAND_IN):
            return OtherTree("variable")
        tree: ExpressionTree = self._read_column(first.name)
        for part in fields:
            tree = FieldOf(tree, part.name)
        if node.parts[-1].meta.get("end") not in self._paths:
            return tree
        self.paths += 1
        return OtherTree("path", (tree,))

    def _value(self, node: exp.Expr) -> str | int | None:
        if not isinstance(node, exp.Literal):
            return None
        if node.is_string:
            return None if self._escapes else node.name
        digits = node.name.removesuffix("l").removesuffix("L")
        return int(digits) if digits.isdecimal() else None

    def _cast(self, node: exp.Cast | exp.TryCast) -> ExpressionTree:
        """Return a CAST, which sqlglot reads as TRY_CAST; its own Cast is a literal, `date '2026-01-31'`."""
        if not isinstance(node, exp.TryCast):
            return LiteralTree(None)
        of = self.read(node.this)
        try:
            type_ = parse_type(node.to.sql(SPARK))
        except TypeSyntaxError:
            return OtherTree("cast", (of,))
        if node.args.get("safe") or (self._shortens and type_ == STRING):
            return OtherTree("try_cast" if node.args.get("safe") else "cast", (of,))
        return CastTree(of, type_)

    def _call(self, node: exp.Anonymous) -> ExpressionTree:
        name = str(node.this).removesuffix(MARK).lower()
        match node.expressions:
            case [exp.Distinct(expressions=arguments)]:
                return CallTree(name, tuple(map(self.read, arguments)), distinct=True)
            case arguments:
                return CallTree(name, tuple(map(self.read, arguments)))


_VARYING = ("year", "month", "quarter")
