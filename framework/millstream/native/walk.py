"""All expressions of Python that are translated."""

from __future__ import annotations

import ast

from millstream.native.calls import call
from millstream.native.expressions import Expressions
from millstream.native.iterations import list_comprehension
from millstream.native.texts import joined_text
from millstream.native.times import time_part
from millstream.native.values import Value


class Walk(Expressions):
    def call(self, node: ast.Call) -> Value:
        return call(self, node)

    def time_part(self, node: ast.Attribute, base: Value, name: str) -> Value:
        return time_part(self, node, base, name)

    def list_comprehension(self, node: ast.ListComp) -> Value:
        return list_comprehension(self, node)

    def joined_text(self, parts: list[ast.expr]) -> Value:
        return joined_text(self, parts)
