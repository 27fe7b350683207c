"""A query as a text that is short enough to be compared.

`o.id` is a column, `.id` one of the same SELECT, `{model.x}` a relation. After an expression: `~` it is not
deterministic, `!` it can fail. After a column: `:named`, `:fixed`, `:lambda`.
"""

from millstream.core.expressions import Expression, Read, Ref, render
from millstream.sql.query import (
    Body,
    Cte,
    Derived,
    From,
    Generated,
    Input,
    Item,
    OpaqueBody,
    Query,
    Scan,
    Select,
    Union,
)


def told(query: Query | None) -> str:
    assert query is not None
    ctes = [f"with {name} = {body(each)}\n" for name, each in query.ctes.items()]
    return "".join(ctes) + body(query.body)


def body(given: Body) -> str:
    match given:
        case Select():
            return "\n".join(_select(given))
        case Union():
            return f"union{' distinct' if given.distinct else ''}({' | '.join(map(body, given.sides))})"
        case OpaqueBody():
            return f"whole: {'; '.join(given.reasons)}"


def _select(given: Select):
    yield f"select{' distinct' if given.distinct else ''} {_items(given.items)}"
    for each in given.relations:
        yield _from(each)
    if given.where:
        yield f"where {_all(given.where)}"
    if given.keys is not None:
        yield f"keys {_items(given.keys)}".rstrip()
    for measure in given.measures:
        condition = f" if {expression(measure.condition)}" if measure.condition else ""
        yield f"{measure.function} {measure.name} = {expression(measure.call)}{condition}"
    if given.having:
        yield f"having {_all(given.having)}"


def _items(items: tuple[Item, ...]) -> str:
    return ", ".join(f"{item.name} = {expression(item.expression)}" for item in items)


def _all(conditions: tuple[Expression, ...]) -> str:
    return " & ".join(map(expression, conditions))


def _from(each: From) -> str:
    on = f" on {_all(each.on)}" if each.on else ""
    late = f" watermark {expression(each.watermark[0])} {each.watermark[1]}" if each.watermark else ""
    return f"{each.join or 'from'} {each.alias} = {_input(each.input)}{on}{late}"


def _input(given: Input) -> str:
    match given:
        case Scan():
            return f"{{{given.relation}}}"
        case Cte():
            return given.name
        case Derived():
            return f"({body(given.query)})".replace("\n", " / ")
        case Generated():
            kind = f"{'outer ' if given.outer else ''}{'python ' if given.python else ''}rows of"
            return f"{kind} {expression(given.call)}: {', '.join(name for name, _, _ in given.columns)}"


def expression(given: Expression) -> str:
    text = render(given, _ref, _read)
    return f"{text}{'' if given.deterministic else '~'}{'!' if given.raises else ''}"


def _ref(ref: Ref) -> str:
    flags = ":named" * ref.named + ":fixed" * ref.fixed + ":lambda" * ref.in_lambda
    return f"{ref.relation}.{ref.column}{flags}"


def _read(read: Read) -> str:
    return f"{{{read.relation}}}"
