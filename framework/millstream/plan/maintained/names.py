"""The relations of a query: their columns, types, and the expressions that compute them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field

from millstream.core.expressions import Expression, Ref, quote_name, replace_columns
from millstream.core.node_id import NodeId
from millstream.core.types import Type
from millstream.plan.nodes import Column
from millstream.sql.query import (
    Body,
    Cte,
    DerivedTable,
    From,
    GeneratedRows,
    OpaqueBody,
    Scan,
    Select,
    SqlUnion,
    names_of,
)
from millstream.sql.trees import compared_columns

T = TypeVar("T")


class NotDerivedError(Exception):
    """Touched keys can't be derived from a part of the SQL."""

    def __init__(self, why: str, start: int = 0, stop: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.start = start
        self.stop = stop


class TableInput(Struct, frozen=True):
    """An input of the model."""

    index: int
    columns: tuple[Column, ...]


class RelationNames(Struct, frozen=True):
    """What the relations of a query mean."""

    relations: Mapping[NodeId, TableInput]
    """The inputs, by id."""
    ctes: Mapping[str, Body]
    compares: bool = False
    """Whether what the SQL computes before and after a change may be compared, which reads more rows."""
    results: dict[tuple[str, int, Hashable], tuple[Body, Any]] = field(default_factory=dict)
    """What was computed of a query, by its `id`; it keeps the query, so that no other one gets its `id`."""

    def once(self, what: str, body: Body, arguments: Hashable, compute: Callable[[], T]) -> T:
        """Return what a function computes of a query, which several readers need.

        Each of them would compute it again, and what it reads as often for each of these: with ten CTEs in a
        row, a billion times.
        """
        cache_key = (what, id(body), arguments)
        if cache_key not in self.results:
            result: T | NotDerivedError
            try:
                result = compute()
            except NotDerivedError as error:
                result = error
            self.results[cache_key] = body, result
        _, value = self.results[cache_key]
        if isinstance(value, NotDerivedError):
            raise NotDerivedError(value.why, value.start, value.stop)
        computed: T = value
        return computed

    def body(self, relation: From) -> Body | None:
        """Return the query of a relation; None if it is an input of the model."""
        match relation.input:
            case Cte(name=name):
                return self.ctes[name]
            case DerivedTable(query=query):
                return query
            case Scan():
                return None
            case GeneratedRows():
                raise NotDerivedError(
                    "rows that a function generates have no key of their own", relation.start, relation.stop
                )

    def sources(self, relation: From) -> Sequence[str]:
        """Return the names of a relation's columns where they come from, in the order of its columns."""
        body = self.body(relation)
        if body is not None:
            return output_names(body)
        assert isinstance(relation.input, Scan)
        return [column.name for column in self.relations[relation.input.relation].columns]

    def source(self, relation: From, column: str) -> str:
        """Return the name that a relation's column has where it comes from."""
        pairs = zip(relation.columns, self.sources(relation), strict=False)
        return next(source for name, source in pairs if name.lower() == column.lower())

    def type(self, relation: From, column: str) -> Type:
        body, source = self.body(relation), self.source(relation, column)
        if body is not None:
            return type_of(body, source)
        assert isinstance(relation.input, Scan)
        columns = self.relations[relation.input.relation].columns
        return next(input_column.type for input_column in columns if input_column.name == source)


def output_names(body: Body) -> tuple[str, ...]:
    """Return the names of a query's columns."""
    if isinstance(body, OpaqueBody):
        raise opaque_error(body)
    return names_of(body)


def type_of(body: Body, name: str) -> Type:
    position = [column.lower() for column in output_names(body)].index(name.lower())
    match body:
        case Select():
            return body.items[position].expression.type
        case SqlUnion():
            return body.types[position] if body.types else type_of(body.sides[0], name)
        case OpaqueBody():
            raise opaque_error(body)


def opaque_error(body: OpaqueBody) -> NotDerivedError:
    reason = body.reasons[0].partition(" (line ")[0]
    for of_streams in (": a stream has no end", " on a stream"):
        reason = reason.partition(of_streams)[0]
    return NotDerivedError(f"{reason} is not analyzed", body.start, body.stop)


def resolve_item(query: Select, name: str) -> Expression:
    """Return an item as an expression over columns of the FROM clause."""
    item = next(item for item in query.items if item.name.lower() == name.lower())
    start, stop = item.expression.start, item.expression.stop
    if contains_offset(item.expression, [window.start for window in query.windows]):
        raise NotDerivedError(f"'{name}' is the result of a window function", start, stop)
    if contains_offset(item.expression, [subquery.start for subquery in query.subqueries]):
        raise NotDerivedError(f"'{name}' is the result of a subquery", start, stop)
    return _over_from(query, item.expression, item.name)


def canonical_text(query: Select, expression: Expression) -> str:
    """Return an expression as text over columns of the FROM clause, so that equal ones have the same text.

    What an aggregate computes stays as written.
    """
    try:
        return _over_from(query, expression, "").text
    except NotDerivedError:
        return expression.text


def contains_offset(expression: Expression, starts: Iterable[int]) -> bool:
    """Return whether something that is written at one of these offsets is part of an expression."""
    return any(expression.start <= start < expression.stop for start in starts)


def renamed_columns(relation: From, names: RelationNames) -> str:
    pairs = zip(names.sources(relation), relation.columns, strict=False)
    return ", ".join(
        quote_name(source) if source == name else f"{quote_name(source)} as {quote_name(name)}"
        for source, name in pairs
    )


def scanned_inputs(body: Body, names: RelationNames) -> tuple[NodeId, ...]:
    """Return the inputs of the model that a query reads."""
    return names.once("scanned", body, (), lambda: tuple(_scanned(body, names)))


def _scanned(body: Body, names: RelationNames) -> dict[NodeId, None]:
    relations: dict[NodeId, None] = {}
    match body:
        case Select():
            for relation in body.relations:
                inner = names.body(relation)
                if inner is not None:
                    relations.update(dict.fromkeys(scanned_inputs(inner, names)))
                elif isinstance(relation.input, Scan):
                    relations[relation.input.relation] = None
            for subquery in body.subqueries:
                if subquery.body is not None:
                    relations.update(dict.fromkeys(scanned_inputs(subquery.body, names)))
        case SqlUnion():
            for side in body.sides:
                relations.update(dict.fromkeys(scanned_inputs(side, names)))
        case OpaqueBody():
            raise opaque_error(body)
    return relations


def _over_from(query: Select, expression: Expression, name: str) -> Expression:
    def replacement(ref: Ref) -> Expression | None:
        if ref.relation:
            return None
        for key in query.keys or ():
            if key.name.lower() == ref.column.lower():
                return key.expression
        if any(measure.name.lower() == ref.column.lower() for measure in query.measures):
            start = expression.start or query.start
            why = f"'{name}' is the result of an aggregate, so it is unknown which rows a change touches"
            raise NotDerivedError(why, start, expression.stop or query.start + len("select"))
        if query.keys is None and ref.column.lower() != name.lower():
            return resolve_item(query, ref.column)
        return None

    return replace_columns(expression, replacement)


def compared_relations(condition: Expression) -> tuple[Ref, Ref] | None:
    """Return the columns of two relations that a condition compares by `=`."""
    match compared_columns(condition):
        case (one, other) if one.relation and other.relation != one.relation:
            return one, other
    return None


def relations_of(expression: Expression) -> frozenset[str]:
    """Return the aliases of the relations that an expression reads."""
    return frozenset(ref.relation for ref in expression.refs)


Find = Callable[[str], TableInput]
