"""All expressions of Python that are translated."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from millstream.native.calls import translate_call
from millstream.native.expressions import ExpressionTranslator
from millstream.native.iterations import list_comprehension
from millstream.native.parts import dict_display, list_display, translate_field, translate_subscript
from millstream.native.texts import joined_text
from millstream.native.times import time_part
from millstream.native.values import JavaValue, ObstacleError


class FunctionTranslator(ExpressionTranslator):
    def other(self, node: ast.expr) -> JavaValue:
        match node:
            case ast.Attribute(value=base, attr=name):
                value = self.any_value(base)
                return (time_part if value.is_time else translate_field)(self, node, value, name)
            case ast.Subscript(value=container, slice=index, ctx=ast.Load()):
                return translate_subscript(self, node, container, index)
            case ast.List(elts=parts):
                return list_display(self, [self.any_value(part) for part in parts])
            case ast.Dict(keys=keys, values=values):
                return dict_display(self, node, keys, values)
            case ast.ListComp():
                return list_comprehension(self, node)
            case ast.Call():
                return translate_call(self, node)
            case ast.JoinedStr(values=parts):
                return joined_text(self, parts)
        raise ObstacleError(node, _described(node))


def _described(node: ast.expr) -> str:
    names: Mapping[type[ast.expr], str] = {
        ast.Lambda: "a lambda", ast.SetComp: "a comprehension",
        ast.DictComp: "a comprehension", ast.GeneratorExp: "a generator", ast.NamedExpr: "`:=`",
        ast.Await: "`await`", ast.Starred: "`*`",
    }  # fmt: skip
    return names.get(type(node), f"`{ast.unparse(node)[:40]}`")
