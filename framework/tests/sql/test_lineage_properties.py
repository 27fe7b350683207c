"""Lineage of random queries equals what is computed from their shape, without any SQL."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.core.node_id import NodeId
from millstream.core.types import BIGINT
from millstream.sql.analyze import analyze_sql
from millstream.sql.values import InputRelation, RelationColumn

Sources = frozenset[tuple[str, str, str]]
BASES = {"a": ("k", "x", "y"), "b": ("k", "x", "z"), "c": ("k", "w")}


@dataclass(frozen=True)
class Column:
    alias: str
    name: str

    @property
    def sql(self) -> str:
        return f"{self.alias}.{self.name}"


@dataclass(frozen=True)
class Calculated:
    template: str
    parts: tuple[Expression, ...]

    @property
    def sql(self) -> str:
        return self.template.format(*(part.sql for part in self.parts))


Expression = Column | Calculated


@dataclass(frozen=True)
class Base:
    name: str


@dataclass(frozen=True)
class Select:
    inputs: tuple[tuple[str, Relation], ...]
    on: tuple[Column, Column] | None
    join: str
    where: Expression | None
    keys: tuple[Column, ...] | None
    columns: tuple[tuple[str, Expression], ...]
    distinct: bool
    as_cte: bool


@dataclass(frozen=True)
class Union:
    left: Select
    right: Select
    every: bool
    as_cte: bool


Relation = Base | Select | Union


# -- what the lineage must be


def changed(sources: Sources, kind: str) -> Sources:
    if kind == "computed":
        return frozenset((n, c, "computed" if k == "direct" else k) for n, c, k in sources)
    return frozenset((n, c, kind) for n, c, _ in sources)


def of_expression(expression: Expression, scope: dict[str, dict[str, Sources]]) -> Sources:
    if isinstance(expression, Column):
        return scope[expression.alias][expression.name]
    return frozenset().union(*(changed(of_expression(part, scope), "computed") for part in expression.parts))


def lineage(relation: Relation) -> tuple[dict[str, Sources], Sources]:
    """Return each column's sources, and those of the rows."""
    match relation:
        case Base(name):
            return {c: frozenset({(f"model.{name}", c, "direct")}) for c in BASES[name]}, frozenset()
        case Union(left, right, every):
            (first, rows), (second, more) = lineage(left), lineage(right)
            merged = {n: s | t for (n, s), t in zip(first.items(), second.values(), strict=True)}
            rows |= more
            return merged, rows if every else rows | all_as(merged, "group")
    lineages = {alias: lineage(inner) for alias, inner in relation.inputs}
    scope = {alias: columns for alias, (columns, _) in lineages.items()}
    rows = frozenset().union(*(inner for _, inner in lineages.values()))
    for expression, kind in [(relation.where, "filter"), *((c, "join") for c in relation.on or ())]:
        if expression is not None:
            rows |= changed(of_expression(expression, scope), kind)
    for key in relation.keys or ():
        rows |= changed(of_expression(key, scope), "group")
    columns = {name: of_expression(expression, scope) for name, expression in relation.columns}
    return columns, rows | all_as(columns, "group") if relation.distinct else rows


def all_as(columns: dict[str, Sources], kind: str) -> Sources:
    return frozenset().union(*(changed(sources, kind) for sources in columns.values()))


# -- as SQL


def written(relation: Relation, ctes: list[str]) -> str:
    """Write a query; what is `as_cte` goes to the WITH clause."""
    if isinstance(relation, Union):
        word = "union all" if relation.every else "union"
        return f"{written(relation.left, ctes)} {word} {written(relation.right, ctes)}"
    assert isinstance(relation, Select)
    first, *others = [f"{named(inner, ctes)} as {alias}" for alias, inner in relation.inputs]
    parts = [
        "select distinct" if relation.distinct else "select",
        ", ".join(f"{expression.sql} as {name}" for name, expression in relation.columns),
        f"from {first}",
    ]
    for other in others:
        parts.append(f"{relation.join} join {other}")
        if relation.on:
            parts.append(f"on {relation.on[0].sql} = {relation.on[1].sql}")
    if relation.where:
        parts.append(f"where {relation.where.sql} > 1")
    if relation.keys is not None:
        parts.append("group by " + ", ".join(key.sql for key in relation.keys))
    return " ".join(parts)


def named(relation: Relation, ctes: list[str]) -> str:
    if isinstance(relation, Base):
        return f"models.{relation.name}"
    if not relation.as_cte:
        return f"({written(relation, ctes)})"
    body = written(relation, ctes)
    ctes.append(f"step_{len(ctes)} as ({body})")
    return f"step_{len(ctes) - 1}"


def as_sql(relation: Relation) -> str:
    ctes: list[str] = []
    body = written(relation, ctes)
    return f"with {', '.join(ctes)} {body}" if ctes else body


# -- random ones

SHAPES = [
    "{} + {}",
    "coalesce({}, {})",
    "case when {} > 0 then {} else 1 end",
    "abs({})",
    "{} * 2",
    "greatest({}, {})",
]
AGGREGATES = ["sum({})", "max({})", "count({})", "sum({}) + count({})", "min({}) filter (where true)"]


def expressions(columns: list[Column]) -> st.SearchStrategy[Expression]:
    column = st.sampled_from(columns)

    def calculated(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        return st.sampled_from(SHAPES).flatmap(
            lambda shape: st.tuples(*[parts] * shape.count("{}")).map(lambda p: Calculated(f"({shape})", p))
        )

    return st.recursive(column, calculated, max_leaves=4)


@st.composite
def relations(draw: st.DrawFn, depth: int) -> Relation:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return Base(draw(st.sampled_from(sorted(BASES))))
    left = draw(selects(depth))
    if draw(st.integers(0, 3)):
        return left
    right = draw(selects(depth, width=len(left.columns)))
    return Union(left, right, draw(st.booleans()), draw(st.booleans()))


@st.composite
def selects(draw: st.DrawFn, depth: int, width: int | None = None) -> Select:
    inner = [draw(relations(depth=depth - 1)) for _ in range(draw(st.integers(1, 2)))]
    inputs = tuple((f"t{index}", relation) for index, relation in enumerate(inner))
    by_input = [[Column(alias, name) for name in lineage(relation)[0]] for alias, relation in inputs]
    columns = [column for input_columns in by_input for column in input_columns]
    on = (
        (draw(st.sampled_from(by_input[0])), draw(st.sampled_from(by_input[1]))) if len(inputs) == 2 else None
    )
    where = draw(st.none() | expressions(columns))
    width = width or draw(st.integers(1, 4))
    keys = None
    if draw(st.integers(0, 2)) == 0:
        keys = tuple(draw(st.lists(st.sampled_from(columns), min_size=1, max_size=2, unique=True)))
        picked: list[Expression] = []
        for _ in range(width):
            shape = draw(st.sampled_from(AGGREGATES))
            parts = tuple(draw(expressions(columns)) for _ in range(shape.count("{}")))
            picked.append(draw(st.sampled_from([draw(st.sampled_from(keys)), Calculated(shape, parts)])))
    else:
        picked = [draw(expressions(columns)) for _ in range(width)]
    return Select(
        inputs,
        on,
        draw(st.sampled_from(["inner", "left", "full"])),
        where,
        keys,
        tuple((f"c{index}", expression) for index, expression in enumerate(picked)),
        draw(st.integers(0, 5)) == 0,
        draw(st.booleans()),
    )


RELATIONS = {
    ("models", name): InputRelation(NodeId("model", name), tuple(RelationColumn(c, BIGINT) for c in columns))
    for name, columns in BASES.items()
}


@settings(max_examples=60)
@given(relations(depth=3).filter(lambda relation: not isinstance(relation, Base)))
def test_lineage_is_that_of_the_shape(relation: Relation) -> None:
    analysis = analyze_sql(as_sql(relation), RELATIONS.get, list, {})
    columns, rows = lineage(relation)
    assert analysis.diagnostics == ()
    assert {column.name: column.sources for column in analysis.columns} == columns
    assert analysis.rows == rows
