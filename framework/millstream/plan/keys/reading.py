"""Parses the expressions that keys usually have: calls, casts, fields, sums, literals."""

from __future__ import annotations

import re

from msgspec import Struct

from millstream.core.expressions import Expression, Ref
from millstream.core.types import Type, TypeSyntaxError, parse_type


class ColumnTree(Struct, frozen=True):
    name: str


class LiteralTree(Struct, frozen=True):
    value: str | int


class FieldOf(Struct, frozen=True):
    base: ExpressionTree
    name: str


class CastTree(Struct, frozen=True):
    of: ExpressionTree
    type: Type


class CallTree(Struct, frozen=True):
    """A function, or an operator by its sign."""

    name: str
    arguments: tuple[ExpressionTree, ...]


ExpressionTree = ColumnTree | LiteralTree | FieldOf | CastTree | CallTree


class UnreadableError(Exception):
    """SQL that keys usually don't have."""


_WORDS = re.compile(r"'[^'\\]*'|`(?:[^`]|``)*`|\d\w*|[A-Za-z_]\w*|\|\||::|\S")
_NUMBER = re.compile(r"(\d+)[lL]?")
_NAME = re.compile(r"[A-Za-z_]\w*")


def read_expression(expression: Expression) -> ExpressionTree:
    """Return the structure of an expression; raise `UnreadableError` for anything else."""
    reader = TreeReader(words_of(expression))
    tree = reader.sum()
    if reader.peek() is not None:
        raise UnreadableError
    return tree


def words_of(expression: Expression) -> list[str | Ref]:
    words: list[str | Ref] = []
    for piece in expression.pieces:
        if isinstance(piece, str):
            words += _WORDS.findall(piece)
        elif isinstance(piece, Ref):
            words.append(piece)
        else:
            raise UnreadableError
    return words


class TreeReader:
    def __init__(self, words: list[str | Ref]) -> None:
        self.words = words
        self.position = 0

    def peek(self) -> str | Ref | None:
        return self.words[self.position] if self.position < len(self.words) else None

    def next(self) -> str | Ref:
        word = self.peek()
        if word is None:
            raise UnreadableError
        self.position += 1
        return word

    def take(self, word: str) -> bool:
        next_word = self.peek()
        if isinstance(next_word, str) and next_word.lower() == word:
            self.position += 1
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise UnreadableError

    def sum(self) -> ExpressionTree:
        tree = self.signed()
        while (sign := self.peek()) in {"+", "-", "||"}:
            assert isinstance(sign, str)
            self.position += 1
            tree = CallTree(sign, (tree, self.signed()))
        return tree

    def signed(self) -> ExpressionTree:
        if self.take("-"):
            return CallTree("negative", (self.signed(),))
        return self.path(self.primary())

    def path(self, tree: ExpressionTree) -> ExpressionTree:
        while True:
            if self.take("."):
                tree = FieldOf(tree, self.name())
            elif self.take("::"):
                tree = CastTree(tree, self.type_of([str(self.next())]))
            else:
                return tree

    def name(self) -> str:
        word = self.next()
        if not isinstance(word, str) or not (word.startswith("`") or _NAME.fullmatch(word)):
            raise UnreadableError
        return word[1:-1].replace("``", "`") if word.startswith("`") else word

    def primary(self) -> ExpressionTree:
        word = self.next()
        if isinstance(word, Ref):
            return ColumnTree(word.column)
        if word.startswith("'") and len(word) > 1:
            return LiteralTree(word[1:-1])
        if number := _NUMBER.fullmatch(word):
            return LiteralTree(int(number[1]))
        if word == "(":
            tree = self.sum()
            self.expect(")")
            return tree
        if _NAME.fullmatch(word) and self.take("("):
            return self.call(word.lower())
        raise UnreadableError

    def call(self, name: str) -> ExpressionTree:
        if name == "cast":
            tree = self.sum()
            self.expect("as")
            return CastTree(tree, self.cast_type())
        arguments: list[ExpressionTree] = []
        while not self.take(")"):
            if arguments:
                self.expect(",")
            arguments.append(self.sum())
            if self.take("as"):  # a name of a struct's field
                self.name()
        return CallTree(name, tuple(arguments))

    def cast_type(self) -> Type:
        words: list[str] = []
        depth = 0
        while True:
            word = self.next()
            if not isinstance(word, str):
                raise UnreadableError
            if word == ")" and not depth:
                return self.type_of(words)
            depth += {"(": 1, ")": -1}.get(word, 0)
            words.append(word)

    def type_of(self, words: list[str]) -> Type:
        if words[0].lower() in {"char", "varchar"}:
            raise UnreadableError
        try:
            return parse_type(" ".join(words))
        except TypeSyntaxError:
            raise UnreadableError from None
