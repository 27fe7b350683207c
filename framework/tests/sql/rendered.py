"""A query as SQL again, to see that nothing was lost or changed."""

from millstream.core.expressions import Expression, Ref, quote_name, render_sql, replace_columns
from millstream.sql.query import (
    AggregateCall,
    Body,
    Cte,
    DerivedTable,
    From,
    GeneratedRows,
    Scan,
    Select,
    SqlQuery,
    SqlUnion,
)


def rendered(query: SqlQuery) -> str:
    ctes = ", ".join(f"{quote_name(name)} as ({_body(body)})" for name, body in query.ctes.items())
    return f"{f'with {ctes} ' if ctes else ''}{_body(query.body)}"


def _body(body: Body) -> str:
    match body:
        case Select():
            return _select(body)
        case SqlUnion():
            return (" union " if body.distinct else " union all ").join(
                f"({_body(side)})" for side in body.sides
            )
        case _:
            raise AssertionError(body)


def _select(select: Select) -> str:
    """Put keys and aggregates back to where they are read."""
    by: dict[str, Expression] = {key.name: key.expression for key in select.keys or ()}
    by |= {measure.name: _call(measure) for measure in select.measures}
    items = ", ".join(f"{_text(item.expression, by)} as {quote_name(item.name)}" for item in select.items)
    parts = [f"select{' distinct' if select.distinct else ''} {items}"]
    parts += [
        f"{'' if index else 'from '}{_from(input_, index)}" for index, input_ in enumerate(select.relations)
    ]
    if select.where:
        parts.append(f"where {_all(select.where, {})}")
    if select.keys:
        parts.append(f"group by {', '.join(_text(key.expression, {}) for key in select.keys)}")
    if select.having:
        parts.append(f"having {_all(select.having, by)}")
    return " ".join(parts)


def _call(measure: AggregateCall) -> Expression:
    if measure.condition is None:
        return measure.call
    pieces = (*measure.call.pieces, " filter (where ", *measure.condition.pieces, ")")
    return Expression(pieces, measure.call.type, measure.call.nullable)


def _text(expression: Expression, by: dict[str, Expression]) -> str:
    return render_sql(
        replace_columns(expression, lambda ref: None if ref.relation else by.get(ref.column)), _ref, _read
    )


def _all(conditions: tuple[Expression, ...], by: dict[str, Expression]) -> str:
    return " and ".join(f"({_text(condition, by)})" for condition in conditions)


def _ref(ref: Ref) -> str:
    return f"{quote_name(ref.relation)}.{quote_name(ref.column)}" if ref.relation else quote_name(ref.column)


def _read(read) -> str:
    kind, _, name = read.relation.partition(".")
    return f"{kind}s.{name}"


def _from(input_: From, index: int) -> str:
    late = (
        f" watermark {_text(input_.watermark[0], {})} delay of {input_.watermark[1]}"
        if input_.watermark
        else ""
    )
    match input_.input:
        case GeneratedRows():
            names = ", ".join(quote_name(name) for name, _, _ in input_.input.columns)
            call = f"{_text(input_.input.call, {})} as {quote_name(input_.alias)}({names})"
            return call if not index else f"{'left join' if input_.input.outer else ', '} lateral {call}"
        case Scan(relation=relation):
            kind, _, name = relation.partition(".")
            text = f"{kind}s.{name}"
        case Cte(name=name):
            text = quote_name(name)
        case DerivedTable(query=body):
            text = f"({_body(body)})"
    on = f" on {_all(input_.on, {})}" if input_.on else ""
    return f"{f'{input_.join} join ' if input_.join else ', ' if index else ''}{text}{late} as {quote_name(input_.alias)}{on}"
