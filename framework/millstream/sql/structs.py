"""`struct`, `named_struct` and `(a, b)`: their values and the names of their fields."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import STRING, UNKNOWN, Field, Row
from millstream.sql.constants import is_constant
from millstream.sql.expressions import Evaluator
from millstream.sql.value import Value, computed_value


def struct_of(evaluator: Evaluator, nodes: list[exp.Expr]) -> Value:
    """Return a struct of values; a field has the name of its column, or else `col1`, `col2` by position."""
    fields: list[Field] = []
    values: list[Value] = []
    for node in nodes:
        if (star := star_columns(evaluator, node, named=True)) is not None:
            fields += [Field(name, value.type) for name, value in star]
            values += [value for _, value in star]
            continue
        value = evaluator.value(node)
        name, default = field_name(node), f"col{len(fields) + 1}"
        evaluator.findings.marks.field(node, name, default)
        fields.append(Field(name or default, value.type))
        values.append(value)
    return computed_value(Row(tuple(fields)), values, nullable=False)


def named_struct(evaluator: Evaluator, nodes: list[exp.Expr]) -> Value:
    fields: list[Field] = []
    values: list[Value] = []
    if len(nodes) % 2 or any(node.is_star for node in nodes):
        message = "named_struct() takes pairs of a name and a value"
        evaluator.findings.report(nodes[-1], "MS406", message, "write named_struct('name', value, …)")
    for label, node in zip(nodes[::2], nodes[1::2], strict=False):
        values.append(evaluator.value(node))
        named = evaluator.value(label)
        name = named.literal
        if named.type not in {STRING, UNKNOWN} or not is_constant(label):
            message = "the name of a field must be a text literal"
            evaluator.findings.report(label, "MS407", message, "write named_struct('name', value, …)")
        fields.append(Field(str(name) if name is not None else f"col{len(fields) + 1}", values[-1].type))
    return computed_value(Row(tuple(fields)), values, nullable=False)


def star_columns(evaluator: Evaluator, node: exp.Expr, *, named: bool) -> list[tuple[str, Value]] | None:
    """Return the columns of `*` or `t.*` among the arguments of a call; None for anything else.

    With `named`, the call makes fields with their names.
    """
    if isinstance(node, exp.Star):
        pairs = list(evaluator.scope.star())
    elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        relation = evaluator.scope.relation(node.table)
        pairs = [(relation, column) for column in relation.columns if not column.hidden] if relation else []
    else:
        return None
    refs = tuple(evaluator.scope.refs(*pair) for pair in pairs)
    evaluator.findings.marks.star(evaluator.scope, node, refs, named=named)
    columns = [column for _, column in pairs]
    return [(column.name, Value(column.type, column.nullable, column.sources)) for column in columns]


def field_name(node: exp.Expr) -> str:
    match node:
        case exp.Alias():
            return str(node.alias)
        case exp.PropertyEQ():
            return str(node.this.name)
        case exp.Column() | exp.Identifier():
            return str(node.name)
        case exp.Dot() if isinstance(node.expression, exp.Identifier):
            return str(node.expression.name)
        case exp.Bracket() if isinstance(node.expressions[0], exp.Literal) and node.expressions[0].is_string:
            return str(node.expressions[0].this)
        case _:
            return ""
