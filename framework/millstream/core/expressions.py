"""SQL expressions as values: the user's text, split where it reads a column or a relation.

Expressions are moved, joined and substituted by their pieces, and never parsed again. What no rule touches
is executed as written, except for spaces and comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.cached_property import once
from millstream.core.encoding import to_json
from millstream.core.node_id import NodeId
from millstream.core.types import Type


class Ref(Struct, frozen=True, tag="ref", array_like=True):
    """A column that an expression reads."""

    column: str
    relation: str = ""
    """The alias in its SELECT; empty within a plan, where a node's columns have unique names."""
    named: bool = False
    """The name becomes part of the value, such as a field's name in `struct(x)`."""
    fixed: bool = False
    """Must be a column with exactly this name: `arrays_zip(a, b)`."""
    in_lambda: bool = False
    """Within a lambda, where Spark supports no subqueries."""


class Read(Struct, frozen=True, tag="read", array_like=True):
    """A relation that a subquery of an expression, or opaque SQL, reads: a node id."""

    relation: NodeId


Piece = str | Ref | Read


class Expression(Struct, frozen=True, array_like=True, dict=True):
    """One expression; its properties hold for all of it."""

    pieces: tuple[Piece, ...]
    type: Type
    nullable: bool = True
    deterministic: bool = True
    raises: bool = False
    """It can fail on a row, like a cast or a division, so it must not be evaluated for further rows."""
    functions: tuple[str, ...] = ()
    """The Python functions that it calls, one entry for each call."""
    atomic: bool = False
    """It needs no parentheses inside another expression."""
    variables: tuple[str, ...] = ()
    """Names of its lambda variables, in order; a column of such a name must be qualified by its relation."""
    start: int = 0
    stop: int = 0
    """Its span in the compiled SQL of its model."""

    @once
    def refs(self) -> tuple[Ref, ...]:
        return tuple([piece for piece in self.pieces if isinstance(piece, Ref)])

    @once
    def columns(self) -> frozenset[str]:
        """The names of the columns that it reads."""
        return frozenset([ref.column for ref in self.refs])

    @once
    def folded(self) -> frozenset[str]:
        """The names of the columns that it reads, in lower case."""
        return frozenset([ref.column.lower() for ref in self.refs])

    @once
    def reads(self) -> tuple[NodeId, ...]:
        """The relations that its subqueries read."""
        relations = [piece.relation for piece in self.pieces if isinstance(piece, Read)]
        return tuple(dict.fromkeys(relations)) if relations else ()

    @property
    def column(self) -> str | None:
        """The name of the column, if the expression is just a column."""
        pieces = self.pieces
        return pieces[0].column if len(pieces) == 1 and isinstance(pieces[0], Ref) else None

    @once
    def content(self) -> str:
        """What it computes, as one text without its span."""
        return to_json((self.pieces, str(self.type))).decode()

    @property
    def movable(self) -> bool:
        """Whether it gives the same value wherever it is evaluated, and never fails."""
        return self.deterministic and not self.raises

    @once
    def text(self) -> str:
        """The expression as readable SQL, which also identifies it."""
        return render_sql(self)

    def __str__(self) -> str:
        return self.text


def column_expression(name: str, type_: Type, *, nullable: bool = True) -> Expression:
    """Return an expression that is just a column."""
    return Expression((Ref(name),), type_, nullable, atomic=True)


def render_sql(
    expression: Expression, ref: Callable[[Ref], str] | None = None, read: Callable[[Read], str] | None = None
) -> str:
    """Return an expression as SQL; `ref` writes its columns, `read` its relations."""
    parts: list[str] = []
    for piece in expression.pieces:
        if isinstance(piece, str):
            parts.append(piece)
        elif isinstance(piece, Ref):
            parts.append(ref(piece) if ref else _plain(piece))
        else:
            parts.append(read(piece) if read else quote_name(piece.relation))
    return "".join(parts)


def _plain(ref: Ref) -> str:
    return f"{quote_name(ref.relation)}.{quote_name(ref.column)}" if ref.relation else quote_name(ref.column)


@lru_cache(1 << 14)
def quote_name(name: str) -> str:
    """Return a name, in backquotes if SQL needs them."""
    return (
        name
        if name.isidentifier() and name.isascii() and name.lower() not in RESERVED
        else f"`{name.replace('`', '``')}`"
    )


def sql_literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def replace_columns(expression: Expression, replacement: Callable[[Ref], Expression | None]) -> Expression:
    """Replace each column by its `replacement`, if there is one."""
    original = expression.pieces
    alone = len(original) == 1
    if alone and not isinstance(original[0], Ref):
        return expression
    pieces: list[Piece] = []
    used: list[Expression] = []
    for piece in original:
        new = replacement(piece) if isinstance(piece, Ref) else None
        if not isinstance(piece, Ref) or new is None or _is_same(piece, new, expression, alone=alone):
            pieces.append(piece)
            continue
        used.append(new)
        pieces += _replacement_pieces(piece, new, alone=alone)
    if not used:
        return expression
    first, functions = used[0], expression.functions
    for part in used:
        functions += part.functions
    return replace(
        expression,
        pieces=join_pieces(pieces) if len(pieces) > 1 else tuple(pieces),
        deterministic=expression.deterministic and all(part.deterministic for part in used),
        raises=expression.raises or any(part.raises for part in used),
        functions=functions,
        atomic=first.atomic if alone else expression.atomic,
        variables=variables_of((expression, *used)),
    )


def variables_of(parts: Iterable[Expression]) -> tuple[str, ...]:
    """Return the lambda variables of expressions, in the same order however the parts are."""
    names = {name for part in parts for name in part.variables}
    return tuple(sorted(names)) if names else ()


def _is_same(ref: Ref, replacement: Expression, within: Expression, *, alone: bool) -> bool:
    """Return whether a column stays as it is."""
    single = replacement.pieces[0] if len(replacement.pieces) == 1 else None
    return (
        isinstance(single, Ref)
        and (single.column, single.relation) == (ref.column, ref.relation)
        and replacement.movable
        and not (replacement.functions or replacement.variables)
        and (not alone or replacement.atomic == within.atomic)
    )


def _replacement_pieces(ref: Ref, replacement: Expression, *, alone: bool) -> list[Piece]:
    """Return the pieces that replace a column, in parentheses or with a name where needed."""
    single = replacement.pieces[0] if len(replacement.pieces) == 1 else None
    if isinstance(single, Ref):
        renamed = ref.named and single.column != ref.column
        new = Ref(single.column, single.relation, ref.named and not renamed, ref.fixed, ref.in_lambda)
        return [new, f" as {quote_name(ref.column)}"] if renamed else [new]
    inner: list[Piece] = [
        replace(p, in_lambda=True) if ref.in_lambda and isinstance(p, Ref) else p for p in replacement.pieces
    ]
    if ref.named:
        return [*inner, f" as {quote_name(ref.column)}"]
    return inner if alone or replacement.atomic else ["(", *inner, ")"]


def join_pieces(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Join adjacent texts, so that equal expressions have equal pieces."""
    merged: list[Piece] = []
    for are_texts, group in groupby(pieces, key=lambda piece: isinstance(piece, str)):
        if not are_texts:
            merged += group
        elif text := "".join(map(str, group)):
            merged.append(text)
    return tuple(merged)


def any_of(alternatives: Iterable[Iterable[Expression]], type_: Type) -> Expression:
    """Return a condition that is true if all conditions of any alternative are true."""
    pieces: list[Piece] = []
    parts: list[Expression] = []
    for conditions in alternatives:
        alternative = list(conditions)
        parts += alternative
        pieces.append(" or " if pieces else "")
        pieces += (
            all_of(alternative, type_).pieces
            if len(alternative) == 1 and alternative[0].atomic
            else ["(", *all_of(alternative, type_).pieces, ")"]
        )
    return _combined(pieces, parts, type_)


def all_of(conditions: Iterable[Expression], type_: Type) -> Expression:
    """Return a condition that is true if all conditions are true."""
    conjuncts = list(conditions)
    if len(conjuncts) == 1:
        return conjuncts[0]
    pieces: list[Piece] = []
    for condition in conjuncts:
        pieces.append(" and " if pieces else "")
        pieces += condition.pieces if condition.atomic else ["(", *condition.pieces, ")"]
    return _combined(pieces, conjuncts, type_)


def _combined(pieces: list[Piece], parts: list[Expression], type_: Type) -> Expression:
    return Expression(
        join_pieces(pieces),
        type_,
        any(part.nullable for part in parts),
        all(part.deterministic for part in parts),
        any(part.raises for part in parts),
        tuple(name for part in parts for name in part.functions),
        variables=variables_of(parts),
    )


_WORDS = """
all alter and anti any as authorization between both by case cast check collate column constraint create
cross current_date current_time current_timestamp current_user distinct drop else end escape except exists
false fetch filter for foreign from full glob grant group having ilike in inner insert intersect interval
into is join lateral leading left like minus natural not notnull null offset on only or order outer
overlaps partitioned_by primary qualify references regexp returning revoke right rlike rollback select
semi serdeproperties session_user some table tablesample then time to trailing true uncache union unique
unknown user using values when where window with within xor
"""
RESERVED = frozenset(_WORDS.split())
"""Words that Spark or sqlglot does not read as names without backquotes."""
