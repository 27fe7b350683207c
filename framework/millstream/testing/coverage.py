"""Which models, branches and filters the rows of unit tests reach.

The plan as written is asked, node by node: of the rows that a filter or a CASE gets, how many take which way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.expressions import Expression, quoted, render
from millstream.manifest import ManifestNode
from millstream.physical.emit.steps import in_steps
from millstream.physical.emit.walk import How
from millstream.physical.naming import Views, sources, static_reads
from millstream.physical.values import Query
from millstream.plan.nodes import Aggregate, Filter, Node, Output, Project
from millstream.plan.walk import in_order
from millstream.testing.branches import branches_of

_LONGEST = 90


class Way(Struct, frozen=True):
    """A way that a row can take."""

    model: str
    kind: Literal["branch", "filter"]
    said: str
    condition: str


class Covered(Struct, frozen=True):
    models: frozenset[str]
    """Those whose SQL has been run."""
    ways: Mapping[Way, int]
    """By way: how many rows took it."""


class Model(Struct, frozen=True):
    """What unit tests reach of a model."""

    id: str
    path: str
    tests: int
    ways: int
    reached: int
    missed: tuple[str, ...]


def ways_of(output: Output) -> list[tuple[Node, list[Way]]]:
    """Return the nodes of a plan as written that let rows go several ways, and these."""
    found: list[tuple[Node, list[Way]]] = []
    for node in in_order((output,)):
        model = node.models[0] if node.models else ""
        match node:
            case Filter(conditions=conditions):
                ways = [way for each in conditions for way in _filter(model, each)]
            case Project(items=items):
                ways = [way for item in items for way in _branches(model, item.expression)]
            case Aggregate(measures=measures):
                ways = [way for each in measures for way in _branches(model, each.call)]
            case _:
                continue
        if ways:
            found.append((node.inputs[0], ways))
    return found


def _filter(model: str, condition: Expression) -> Iterable[Way]:
    if condition.reads or condition.functions or not condition.deterministic:
        return
    sql, said = _sql(condition), _short(render(condition))
    yield Way(model, "filter", f"no row passes: {said}", f"coalesce({sql}, false)")
    yield Way(model, "filter", f"no row is dropped: {said}", f"not coalesce({sql}, false)")


def _branches(model: str, expression: Expression) -> Iterable[Way]:
    # What a lambda's variable or an aggregate decides can't be asked outside of it.
    if expression.variables or expression.reads or expression.functions:
        return
    for branches in branches_of(_sql(expression)):
        for each in branches:
            yield Way(model, "branch", f"no row: {_short(each.said.replace('`', ''))}", each.condition)


def _sql(expression: Expression) -> str:
    return render(expression, ref=lambda ref: quoted(ref.column))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def asking(query: Query, output: Output) -> list[tuple[Query, list[Way]]]:
    """Return a query for each node, whose one row has a count for each of its ways."""
    found: list[tuple[Query, list[Way]]] = []
    for node, ways in ways_of(output):
        views = Views()
        stepped = in_steps((node,), views.leaf, reads=views.of, how=How())
        order = in_order((node,))
        counts = ", ".join(f"count_if({way.condition}) as way_{i}" for i, way in enumerate(ways))
        sql = f"select {counts} from (\n{stepped.emitted.statement()}\n)"  # noqa: S608 - of the project
        asked = replace(
            query,
            sources=sources(order, views),
            reads=static_reads(order, views),
            steps=stepped.steps,
            sql=sql,
        )
        found.append((asked, ways))
    return found


def summed(
    runs: Sequence[Covered], nodes: Mapping[str, ManifestNode], tested: Sequence[str]
) -> tuple[Model, ...]:
    """Return what all tests reach together, model by model."""
    ways: dict[Way, int] = {}
    for run in runs:
        for way, rows in run.ways.items():
            ways[way] = ways.get(way, 0) + rows
    found: list[Model] = []
    for node in nodes.values():
        if node.kind != "model":
            continue
        own = {way: rows for way, rows in ways.items() if way.model == node.id}
        missed = tuple(way.said for way, rows in own.items() if not rows)
        covered = any(node.id in run.models for run in runs)
        found.append(
            Model(
                node.id,
                node.path,
                sum(each == node.id for each in tested),
                len(own),
                len(own) - len(missed),
                missed if covered else ("no unit test runs it",),
            )
        )
    return tuple(found)
