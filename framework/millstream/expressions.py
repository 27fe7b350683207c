"""Expressions of SQL as values: the text that the user wrote, cut where it reads a column or a relation.

An expression is moved, joined and put into another one by its pieces alone. Nothing parses it again, and what
no rule touched is executed as it was written (spaces and comments aside).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.once import once
from millstream.types import Type


class Ref(Struct, frozen=True, tag="ref", array_like=True):
    """A column that an expression reads."""

    column: str
    relation: str = ""
    """The alias it has in its SELECT; empty within a plan, where a node's columns have names of their own."""
    named: bool = False
    """The name becomes part of the value, as that of a field does in `struct(x)`."""
    fixed: bool = False
    """Only a column can stand here, under this very name: `arrays_zip(a, b)`."""
    in_lambda: bool = False
    """Within a lambda, where Spark takes no subquery."""


class Read(Struct, frozen=True, tag="read", array_like=True):
    """A relation that a subquery of an expression, or opaque SQL, reads: a node id."""

    relation: str


Piece = str | Ref | Read


class Expression(Struct, frozen=True, array_like=True, dict=True):
    """One expression; its facts hold for the whole of it."""

    pieces: tuple[Piece, ...]
    type: Type
    nullable: bool = True
    deterministic: bool = True
    raises: bool = False
    """It can fail on a row, as a cast or a division does; so it must not see rows that it did not see."""
    functions: tuple[str, ...] = ()
    """The Python functions that it calls, one entry a call."""
    atomic: bool = False
    """It needs no parentheses inside another one."""
    variables: frozenset[str] = frozenset()
    """Names of lambda variables in it: a column of such a name must be written with its relation."""
    start: int = 0
    stop: int = 0
    """Where it stands in the compiled SQL of its model."""

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
    def reads(self) -> tuple[str, ...]:
        """The relations that its subqueries read."""
        found = [piece.relation for piece in self.pieces if isinstance(piece, Read)]
        return tuple(dict.fromkeys(found)) if found else ()

    @property
    def column(self) -> str | None:
        """The column that it is, when it is one and nothing more."""
        pieces = self.pieces
        return pieces[0].column if len(pieces) == 1 and isinstance(pieces[0], Ref) else None

    @once
    def content(self) -> str:
        """What it calculates, in one text: not where it stands."""
        return msgspec.json.encode((self.pieces, str(self.type))).decode()

    @property
    def movable(self) -> bool:
        """Tell whether it gives the same wherever it is evaluated, and never fails."""
        return self.deterministic and not self.raises

    @once
    def text(self) -> str:
        """The expression for people to read, and what tells it from others."""
        return render(self)

    def __str__(self) -> str:
        return self.text


def called(expression: Expression) -> str:
    """Return the name of a function, in lower case, when an expression is one call of it and nothing more."""
    first = expression.pieces[0] if expression.pieces else ""
    name = first.partition("(")[0] if isinstance(first, str) else ""
    if not name.isidentifier() or not isinstance(first, str) or not first.startswith(f"{name}("):
        return ""
    # What stands for a column closes nothing.
    text = _QUOTED.sub("", "".join(piece if isinstance(piece, str) else "x" for piece in expression.pieces))
    depth = 0
    for index, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == ")" and not depth:
            return name.lower() if index == len(text) - 1 else ""
    return ""


def windows(expression: Expression) -> frozenset[str]:
    """Return the calls of `window` and `session_window` within an expression: Spark takes one in a SELECT."""
    if not any(isinstance(piece, str) and "window(" in piece for piece in expression.pieces):
        return frozenset()
    text = "".join(piece if isinstance(piece, str) else str(piece) for piece in expression.pieces)
    found: list[str] = []
    for start in _WINDOW.finditer(text):
        depth, index = 1, start.end()
        while index < len(text) and depth:
            depth += (text[index] == "(") - (text[index] == ")")
            index += 1
        found.append(text[start.start() : index])
    return frozenset(found)


def column(name: str, found: Type, *, nullable: bool = True) -> Expression:
    """Return the expression that is a column."""
    return Expression((Ref(name),), found, nullable, atomic=True)


def render(
    expression: Expression,
    ref: Callable[[Ref], str] | None = None,
    read: Callable[[Read], str] | None = None,
) -> str:
    """Return an expression as SQL; `ref` writes its columns, `read` its relations."""
    parts: list[str] = []
    for piece in expression.pieces:
        if isinstance(piece, str):
            parts.append(piece)
        elif isinstance(piece, Ref):
            parts.append(ref(piece) if ref else _plain(piece))
        else:
            parts.append(read(piece) if read else quoted(piece.relation))
    return "".join(parts)


def _plain(ref: Ref) -> str:
    return f"{quoted(ref.relation)}.{quoted(ref.column)}" if ref.relation else quoted(ref.column)


@lru_cache(1 << 14)
def quoted(name: str) -> str:
    """Return a name as SQL takes it anywhere."""
    return (
        name
        if name.isidentifier() and name.isascii() and name.lower() not in RESERVED
        else f"`{name.replace('`', '``')}`"
    )


def literal(text: str) -> str:
    """Return a text as SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def can_substitute(expression: Expression, by: Mapping[str, Expression]) -> bool:
    """Tell whether the columns of an expression can be replaced by what they are made of."""
    for ref in expression.refs:
        found = by.get(ref.column)
        if found is None:
            continue
        if ref.fixed and (found.column is None or found.column != ref.column):
            return False
        if windows(found):
            return False
        if ref.in_lambda and (found.reads or found.functions):
            return False  # Spark runs neither subqueries nor Python within a lambda
        if expression.variables and (
            found.variables or any(r.column in expression.variables for r in found.refs)
        ):
            # A column of the name of a lambda's variable would be taken for it.
            return False
    return True


def substitute(expression: Expression, by: Mapping[str, Expression]) -> Expression:
    """Replace the columns that `by` knows; ask `can_substitute` first."""
    return rebound(expression, lambda ref: by.get(ref.column))


def rebound(expression: Expression, of: Callable[[Ref], Expression | None]) -> Expression:
    """Replace each column by what `of` gives for it."""
    given = expression.pieces
    alone = len(given) == 1
    if alone and not isinstance(given[0], Ref):
        return expression
    pieces: list[Piece] = []
    used: list[Expression] = []
    for piece in given:
        found = of(piece) if isinstance(piece, Ref) else None
        if not isinstance(piece, Ref) or found is None or _is_same(piece, found, expression, alone=alone):
            pieces.append(piece)
            continue
        used.append(found)
        pieces += _placed(piece, found, alone=alone)
    if not used:
        return expression
    first, functions, variables = used[0], expression.functions, expression.variables
    for each in used:
        functions += each.functions
        variables |= each.variables
    return Expression(
        joined(pieces) if len(pieces) > 1 else tuple(pieces),
        expression.type,
        expression.nullable,
        expression.deterministic and all(each.deterministic for each in used),
        expression.raises or any(each.raises for each in used),
        functions,
        first.atomic if alone else expression.atomic,
        variables,
        expression.start,
        expression.stop,
    )


def _is_same(ref: Ref, found: Expression, within: Expression, *, alone: bool) -> bool:
    """Tell whether a column stays as it is."""
    only = found.pieces[0] if len(found.pieces) == 1 else None
    return (
        isinstance(only, Ref)
        and (only.column, only.relation) == (ref.column, ref.relation)
        and found.movable
        and not (found.functions or found.variables)
        and (not alone or found.atomic == within.atomic)
    )


def _placed(ref: Ref, found: Expression, *, alone: bool) -> list[Piece]:
    """Return what stands in place of a column: in parentheses where it needs them, named where it was."""
    only = found.pieces[0] if len(found.pieces) == 1 else None
    if isinstance(only, Ref):
        renamed = ref.named and only.column != ref.column
        placed = Ref(only.column, only.relation, ref.named and not renamed, ref.fixed, ref.in_lambda)
        return [placed, f" as {quoted(ref.column)}"] if renamed else [placed]
    inner: list[Piece] = [
        replace(p, in_lambda=True) if ref.in_lambda and isinstance(p, Ref) else p for p in found.pieces
    ]
    if ref.named:
        return [*inner, f" as {quoted(ref.column)}"]
    return inner if alone or found.atomic else ["(", *inner, ")"]


def joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Join texts that stand side by side, so that equal expressions have equal pieces."""
    found: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and found and isinstance(before := found[-1], str):
            found[-1] = before + piece
        elif piece:
            found.append(piece)
    return tuple(found)


def any_of(alternatives: Iterable[Iterable[Expression]], found: Type) -> Expression:
    """Return the condition that holds where all of one alternative hold, or all of another."""
    pieces: list[Piece] = []
    parts: list[Expression] = []
    for conditions in alternatives:
        listed = list(conditions)
        parts += listed
        pieces.append(" or " if pieces else "")
        pieces += (
            all_of(listed, found).pieces
            if len(listed) == 1 and listed[0].atomic
            else ["(", *all_of(listed, found).pieces, ")"]
        )
    return _combined(pieces, parts, found)


def all_of(conditions: Iterable[Expression], found: Type) -> Expression:
    """Return the conditions as one."""
    listed = list(conditions)
    if len(listed) == 1:
        return listed[0]
    pieces: list[Piece] = []
    for condition in listed:
        pieces.append(" and " if pieces else "")
        pieces += condition.pieces if condition.atomic else ["(", *condition.pieces, ")"]
    return _combined(pieces, listed, found)


def _combined(pieces: list[Piece], parts: list[Expression], found: Type) -> Expression:
    return Expression(
        joined(pieces),
        found,
        any(part.nullable for part in parts),
        all(part.deterministic for part in parts),
        any(part.raises for part in parts),
        tuple(name for part in parts for name in part.functions),
        variables=frozenset().union(*(part.variables for part in parts)),
    )


_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`""")
_WINDOW = re.compile(r"\b(?:session_)?window\(")
_WORDS = """
all and anti any as authorization between both by case cast check collate column constraint create cross
current_date current_time current_timestamp current_user distinct else end escape except exists false fetch
filter for foreign from full grant group having in inner intersect interval into is join lateral leading left
like natural not null offset on only or order outer overlaps primary references right rlike select semi
session_user some table then time to trailing true union unique unknown user using values when where window
with within
"""
RESERVED = frozenset(_WORDS.split())
"""Words that are not names without backquotes."""
