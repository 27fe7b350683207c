"""Calls with keywords between their arguments, for which sqlglot has nodes: `extract(year from ts)`."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import STRING, UNKNOWN
from millstream.sql.arguments import Argument, check_arguments
from millstream.sql.can_fail import call_raises
from millstream.sql.constant_texts import check_call
from millstream.sql.expressions import Evaluator, Handler
from millstream.sql.nullability import argument_types, call_nullable
from millstream.sql.result_types import result_type
from millstream.sql.signatures import load_signatures
from millstream.sql.value import Value, computed_value

_NAMES: dict[type[exp.Expr], str] = {
    exp.Extract: "extract",
    exp.Trim: "trim",
    exp.Substring: "substring",
    exp.StrPosition: "position",
    exp.Overlay: "overlay",
    exp.Chr: "chr",
    exp.BitwiseLeftShift: "shiftleft",
    exp.BitwiseRightShift: "shiftright",
}


def keyword_call(evaluator: Evaluator, node: exp.Expr) -> Value:
    """Evaluate a call as if it were written with commas."""
    signature = load_signatures()[_NAMES[type(node)]]
    arguments = _arguments(evaluator, node)
    values = [value for _, value in arguments]
    if not check_arguments(evaluator, node, signature, arguments):
        return computed_value(UNKNOWN, values, nullable=True)
    types = argument_types(signature, values)
    type_ = result_type(signature.result, signature.name, types, [value.literal for value in values])
    check_call(evaluator.findings, signature, values, type_)
    if call_raises(signature, values, type_):
        evaluator.findings.marks.raises(node)
    return computed_value(type_, values, nullable=call_nullable(signature, values, type_))


def _arguments(evaluator: Evaluator, node: exp.Expr) -> list[Argument]:
    match node:
        case exp.Extract():
            part = Value(STRING, False, literal=node.name)
            return [(node.this, part), (node.expression, evaluator.value(node.expression))]
        case exp.StrPosition():
            parts = [node.args["substr"], node.this, node.args.get("position")]
        case exp.Trim():
            parts = [node.this, node.args.get("expression")]
        case exp.Substring():
            parts = [node.this, node.args.get("start"), node.args.get("length")]
        case exp.Overlay():
            parts = [node.this, *(node.args.get(name) for name in ("expression", "from_", "for_"))]
        case exp.Binary():
            parts = [node.left, node.right]
        case _:
            parts = node.expressions
    return [(part, evaluator.value(part)) for part in parts if part is not None]


HANDLERS: dict[type[exp.Expr], Handler] = {
    kind: keyword_call for kind in _NAMES if not issubclass(kind, exp.Binary)
}
