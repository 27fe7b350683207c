"""Names expressions so that equal names mean equal values, however the SQL is written."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from sqlglot import exp

from millstream.sql.canonical_form import can_fail, canonical_form, text_of_tree
from millstream.sql.counts import count_of_group, filtered_call
from millstream.sql.tokens import tokenize_sql
from millstream.sql.trees import parse_expression
from millstream.sql.values import SqlDiagnostic

_PREFIX = "meaning_"
_LARGEST = 300
"""Nodes of an expression up to which others contain it; beyond, they only contain its name."""


class Equivalence:
    """Gives names to expressions; a name is a column in the expressions that are made of it."""

    def __init__(self) -> None:
        self._trees: dict[str, exp.Expr] = {}
        """Named expressions, to be read as a part of others."""
        self._names: dict[tuple[str, bool], str] = {}
        """By text, and by whether it may fail: most texts are the same in both versions of a project."""

    def name(self, text: str, *, raises: bool = False) -> str:
        """Return the name of an expression; `raises` if one of its parts may fail, so that order matters."""
        name = self._names.get((text, raises))
        if name is None:
            name = self._names[text, raises] = self._named_text(text, raises=raises)
        return name

    def _named_text(self, text: str, *, raises: bool) -> str:
        tree = _parsed(text)
        if tree is None:
            return leaf_name(text)
        tree = tree.transform(self._inlined, copy=False)
        return self._named(canonical_form(tree, ordered=raises and can_fail(tree)))

    def filtered(self, call: str, condition: str) -> str:
        """Return the name of an aggregate over the rows for which a condition holds, both by their names."""
        return self._named(filtered_call(self._tree(call), self._tree(condition)))

    def of_group(self, call: str) -> str:
        """Return the name of an aggregate, by its name, whose groups all have a row."""
        count = count_of_group(self._tree(call))
        return call if count is None else self._named(count)

    def can_fail(self, name: str) -> bool:
        """Return whether a part of an expression may fail, by its name; all that is not known may."""
        return name not in self._trees or can_fail(self._trees[name])

    def all_of(self, conditions: Iterable[str], *, raises: bool = False) -> str:
        """Return the name of several conditions, by their names."""
        first, *others = map(self._tree, conditions)
        for condition in others:
            first = exp.And(this=first, expression=condition)
        return self._named(canonical_form(first, ordered=raises and can_fail(first)))

    def _tree(self, name: str) -> exp.Expr:
        tree = self._trees.get(name)
        return exp.Column(this=exp.Identifier(this=name)) if tree is None else tree.copy()

    def _named(self, tree: exp.Expr) -> str:
        if isinstance(tree, exp.Column) and tree.name.startswith(_PREFIX):
            return tree.name
        name = leaf_name(text_of_tree(tree))
        if sum(1 for _ in tree.walk()) <= _LARGEST:
            self._trees[name] = tree
        return name

    def _inlined(self, node: exp.Expr) -> exp.Expr:
        return self._tree(node.name) if isinstance(node, exp.Column) and node.name in self._trees else node


def leaf_name(text: str) -> str:
    """Return the name of something that is only equal to itself; a name stays as it is."""
    if text.startswith(_PREFIX) and text.isidentifier():
        return text
    return _PREFIX + blake2b(text.encode(), digest_size=12).hexdigest()


def _parsed(text: str) -> exp.Expr | None:
    tokens = tokenize_sql(f"select {text}")
    if isinstance(tokens, SqlDiagnostic) or tokens.variant_paths:
        return None
    return parse_expression(text, tokens)
