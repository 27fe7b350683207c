"""Evaluates types, nullability and lineage of expressions in one walk, which also resolves names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from sqlglot import exp

from millstream.core.types import UNKNOWN
from millstream.sql.findings import Findings
from millstream.sql.scope import BoundColumn, Scope
from millstream.sql.value import Value, computed_value


class Evaluator:
    """Evaluates expressions of one SELECT in its scope, each kind with its handler."""

    def __init__(self, findings: Findings, scope: Scope, handlers: Handlers) -> None:
        self.findings = findings
        self.scope = scope
        self._handlers = handlers
        self.aliases: dict[str, Value] = {}
        """Earlier columns of the same SELECT, which later ones can use."""
        self.spellings: dict[str, str] = {}
        """Their names, and those of `outputs`, as written."""
        self.outputs: dict[str, Value] = {}
        """The columns of the SELECT, once it has been evaluated."""
        self.clause: Literal["", "having", "qualify", "order"] = ""
        """The current clause, if it can read `outputs`."""
        self.lambdas: list[dict[str, Value]] = []
        self.keys: list[tuple[exp.Expr, Value]] | None = None
        """Group keys, while only grouped or aggregated expressions are allowed."""
        self.shapes: dict[str, Value] = {}
        """The same keys by shape, to recognize an expression that is written differently."""
        self._key_types: frozenset[type[exp.Expr]] = frozenset()
        self._shape: Shape | None = None
        self.no_aggregates = ""
        """The current clause, if it can't contain aggregates."""
        self.inside_aggregate = False
        self.aliases_end_at = ""
        """What can't use `aliases`: OVER, an aggregate or a generator; '' if they are visible."""
        self._bounds: dict[int, tuple[Value, BoundColumn]] = {}
        self.window_calls: set[int] = set()
        """Calls with OVER, which don't group the SELECT."""

    def group_by(self, keys: list[tuple[exp.Expr, Value]], shape: Shape) -> None:
        """From now on, only allow group keys and aggregates; expressions with equal shapes are equal."""
        self._shape = shape
        self.shapes = {shape(self, key): value for key, value in keys}
        self._key_types = frozenset(type(key) for key, _ in keys)
        self.keys = keys

    @contextmanager
    def without_aliases(self, where: str) -> Iterator[None]:
        """Evaluate expressions that can't use earlier columns of the same SELECT."""
        before, self.aliases_end_at = self.aliases_end_at, where
        yield
        self.aliases_end_at = before

    def value(self, node: exp.Expr) -> Value:
        """Evaluate an expression."""
        if self.keys is not None and type(node) in self._key_types and (key := self._key(node)):
            return key
        handler = self._handlers.get(type(node))
        if handler is None:
            return self.unknown(node)
        return handler(self, node)

    def values(self, nodes: list[exp.Expr]) -> list[Value]:
        return [self.value(node) for node in nodes]

    def unknown(self, node: exp.Expr) -> Value:
        """Report an unsupported expression, and evaluate its children for their errors."""
        children = [
            self.value(child) for child in node.iter_expressions() if isinstance(child, exp.Condition)
        ]
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()
        message = f"unsupported expression: {words}"
        remedy = "use a function of Spark SQL"
        if isinstance(node, exp.AtTimeZone):
            remedy += f": from_utc_timestamp({node.this.sql('spark')}, {node.args['zone'].sql('spark')})"
        self.findings.report(node, "MS437", message, remedy)
        return computed_value(UNKNOWN, children, nullable=True)

    def variable(self, folded: str) -> Value | None:
        """Return a variable of the enclosing lambdas."""
        return next((names[folded] for names in reversed(self.lambdas) if folded in names), None)

    def bound(self, name: str, value: Value) -> BoundColumn:
        """Return a value as a column, always the same object for the same value."""
        return self._bounds.setdefault(
            id(value),
            (value, BoundColumn(name, value.type, value.nullable, value.sources, texts=value.texts)),
        )[1]

    def _key(self, node: exp.Expr) -> Value | None:
        for key, value in self.keys or ():
            if key is node:
                return value
        return self.shapes.get(self._shape(self, node)) if self._shape else None


Handler = Callable[[Evaluator, Any], Value]
Handlers = Mapping[type[exp.Expr], Handler]
Shape = Callable[[Evaluator, exp.Expr], str]
