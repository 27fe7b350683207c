"""A query as a text that is short enough to be compared.

`o.id` is a column, `.id` one of the same SELECT, `{model.x}` a relation. After an expression: `~` it is not
deterministic, `!` it can fail. After a column: `:named`, `:fixed`, `:lambda`.
"""

from millstream.core.expressions import Expression, Read, Ref, render_sql
from millstream.sql.query import (
    Body,
    Cte,
    DerivedTable,
    From,
    GeneratedRows,
    Input,
    OpaqueBody,
    Scan,
    Select,
    SelectItem,
    SqlQuery,
    SqlUnion,
)


def as_text(query: SqlQuery | None) -> str:
    assert query is not None
    ctes = [f"with {name} = {body(cte)}\n" for name, cte in query.ctes.items()]
    return "".join(ctes) + body(query.body)


def body(query_body: Body) -> str:
    match query_body:
        case Select():
            return "\n".join(_select(query_body))
        case SqlUnion():
            return f"union{' distinct' if query_body.distinct else ''}({' | '.join(map(body, query_body.sides))})"
        case OpaqueBody():
            return f"whole: {'; '.join(query_body.reasons)}"


def _select(select: Select):
    yield f"select{' distinct' if select.distinct else ''} {_items(select.items)}"
    for input_ in select.relations:
        yield _from(input_)
    if select.where:
        yield f"where {_all(select.where)}"
    if select.keys is not None:
        yield f"keys {_items(select.keys)}".rstrip()
    for measure in select.measures:
        condition = f" if {expression(measure.condition)}" if measure.condition else ""
        yield f"{measure.function} {measure.name} = {expression(measure.call)}{condition}"
    if select.having:
        yield f"having {_all(select.having)}"


def _items(items: tuple[SelectItem, ...]) -> str:
    return ", ".join(f"{item.name} = {expression(item.expression)}" for item in items)


def _all(conditions: tuple[Expression, ...]) -> str:
    return " & ".join(map(expression, conditions))


def _from(input_: From) -> str:
    on = f" on {_all(input_.on)}" if input_.on else ""
    late = f" watermark {expression(input_.watermark[0])} {input_.watermark[1]}" if input_.watermark else ""
    return f"{input_.join or 'from'} {input_.alias} = {_input(input_.input)}{on}{late}"


def _input(input_: Input) -> str:
    match input_:
        case Scan():
            return f"{{{input_.relation}}}"
        case Cte():
            return input_.name
        case DerivedTable():
            return f"({body(input_.query)})".replace("\n", " / ")
        case GeneratedRows():
            kind = f"{'outer ' if input_.outer else ''}{'python ' if input_.python else ''}rows of"
            return f"{kind} {expression(input_.call)}: {', '.join(name for name, _, _ in input_.columns)}"


def expression(expression_: Expression) -> str:
    text = render_sql(expression_, _ref, _read)
    return f"{text}{'' if expression_.deterministic else '~'}{'!' if expression_.raises else ''}"


def _ref(ref: Ref) -> str:
    flags = ":named" * ref.named + ":fixed" * ref.fixed + ":lambda" * ref.in_lambda
    return f"{ref.relation}.{ref.column}{flags}"


def _read(read: Read) -> str:
    return f"{{{read.relation}}}"
