"""All expressions of Python that are translated."""

from __future__ import annotations

import ast

from millstream.native.calls import call
from millstream.native.expressions import Expressions
from millstream.native.texts import joined_text
from millstream.native.values import Value


class Walk(Expressions):
    def call(self, node: ast.Call) -> Value:
        return call(self, node)

    def joined_text(self, parts: list[ast.expr]) -> Value:
        return joined_text(self, parts)
