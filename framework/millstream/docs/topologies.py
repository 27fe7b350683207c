"""Plans rule by rule, from as written to as optimized, for the whole project and for each query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten, wrap

from millstream.core.node_id import NodeId
from millstream.docs.index import SiteIndex
from millstream.docs.layout.layout import lay_out
from millstream.docs.layout.values import LayoutItem
from millstream.docs.maps import as_map
from millstream.docs.site_input import PlannedSite
from millstream.docs.values import DrawnOperator, Fact, LineageMap, SiteTopology, Stage, StageDrawing
from millstream.explain.explanation import models_of, of_outputs, same_outputs
from millstream.explain.savings import Costs, cost_table, savings_in_words, subtract_costs
from millstream.explain.topology import Drawing, DrawnNode, draw_plan
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.driver import RuleStep

MOST_OPERATORS = 250
"""Larger plans are not readable, and not drawn."""
MOST_DRAWN = 6_000
"""Operators in all drawings of a site; after that, only first and last plans are drawn."""
_CHARACTER, _SMALL, _LINE, _HEAD, _PADDING = 7.4, 5.9, 15, 26, 28
_MOST_CHARACTERS = 44
_LONGEST_NAME = 48
_SHOWN = ("key", "partitioned by", "watermark", "state")
Queries = Sequence[tuple[str, frozenset[NodeId]]]


def draw_topologies(planned: PlannedSite, index: SiteIndex) -> tuple[SiteTopology, ...]:
    """Return the plan of the project, if it is small enough, and the plan of each query."""
    queries = models_of(planned.about.queries)
    costs = Costs(planned.about.hints)
    drawn: list[SiteTopology] = []
    left = MOST_DRAWN
    parts: list[tuple[str, str, Queries, frozenset[NodeId] | None]] = [
        ("project", "The whole project", queries, None)
    ]
    parts += [(name, name, ((name, models),), models) for name, models in queries if models]
    for name, title, groups, models in parts:
        if left <= -MOST_DRAWN:
            break
        topology = _Stages(planned, index, groups, models, costs).topology(name, title, steps=left > 0)
        if topology:
            left -= sum(len(drawing.operators) for drawing in topology.drawings)
            drawn.append(topology)
    return tuple(drawn)


class _Stages:
    """The stages of some outputs; operators that several drawings share are stored once."""

    def __init__(
        self,
        planned: PlannedSite,
        index: SiteIndex,
        queries: Queries,
        models: frozenset[NodeId] | None,
        costs: Costs,
    ) -> None:
        self._planned, self._index, self._queries, self._models = planned, index, queries, models
        self._costs = costs
        self._drawings: list[StageDrawing] = []
        self._operators: dict[DrawnOperator, int] = {}
        self._down = False

    def topology(self, name: str, title: str, *, steps: bool) -> SiteTopology | None:
        optimized = self._planned.topology.optimized
        written, plan = of_outputs(optimized.written, self._models), of_outputs(optimized.plan, self._models)
        # Checked before drawing, which is slow; a drawing has at least as many operators.
        if (
            not written.outputs
            or max(len(in_order(version.outputs)) for version in (written, plan)) > MOST_OPERATORS
        ):
            return None
        before = draw_plan(written)
        after = draw_plan(plan, self._queries)
        if max(len(before.nodes), len(after.nodes)) > MOST_OPERATORS:
            return None
        self._down = _fits(after, down=True) > _fits(after, down=False)
        stages = [Stage("as written", self._drawn(before))]
        last = before
        for step in optimized.steps if steps else ():
            if drawn_stage := self._stage(step, last):
                stage, last = drawn_stage
                stages.append(stage)
        new, gone = _changed(last, after)
        stages.append(
            Stage("as it runs", self._drawn(after), ("Each query reads its own input.",), "", new, gone)
        )
        costs = self._costs.of(written), self._costs.of(plan)
        return SiteTopology(
            name,
            title,
            tuple(self._operators),
            tuple(self._drawings),
            tuple(stages),
            tuple((what, *numbers) for what, numbers in cost_table(*costs)),  # type: ignore[misc]  # two costs, two numbers
            self._index.numbers.get(NodeId("query", name), -1),
        )

    def _stage(self, step: RuleStep, last: Drawing) -> tuple[Stage, Drawing] | None:
        before, after = of_outputs(step.before, self._models), of_outputs(step.after, self._models)
        if same_outputs(before, after):
            return None
        drawing = draw_plan(after)
        new, gone = _changed(last, drawing)
        if not (new or gone):
            return None
        near = {model for node in (*last.nodes, *drawing.nodes) for model in node.models}
        changes = tuple(
            dict.fromkeys(
                change.what
                for change in step.changes
                if not change.models or near & {model.shown_name for model in change.models}
            )
        )
        saves = savings_in_words(subtract_costs(self._costs.of(before), self._costs.of(after)))
        return Stage(step.rule, self._drawn(drawing), changes, saves, new, gone), drawing

    def _drawn(self, drawing: Drawing) -> int:
        operators = _operators(drawing, self._index.numbers)
        numbers = tuple(self._operators.setdefault(operator, len(self._operators)) for operator in operators)
        self._drawings.append(StageDrawing(numbers, _laid_out(drawing, operators, down=self._down)))
        return len(self._drawings) - 1


def _changed(before: Drawing, after: Drawing) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the operators that are new or changed, and those that were removed."""
    was = {node.id: (node.line, node.details) for node in before.nodes}
    now = {node.id for node in after.nodes}
    new = tuple(node.id for node in after.nodes if was.get(node.id) != (node.line, node.details))
    return new, tuple(id_ for id_ in was if id_ not in now)


def _fits(drawing: Drawing, *, down: bool) -> float:
    """Return the scale of a drawing next to another one, or above it if it is wide; see topology.js."""
    layout = _laid_out(drawing, _operators(drawing, {}), down=down)
    width, height = (layout.height, layout.width) if down else (layout.width, layout.height)
    room = (870, 340) if width > 1.5 * height else (430, 700)
    return min(1.0, room[0] / width, room[1] / height)


def _laid_out(drawing: Drawing, operators: Sequence[DrawnOperator], *, down: bool) -> LineageMap:
    query = _query_of(drawing)
    items = [
        LayoutItem(_width(operator), _HEAD + _LINE * len(operator.lines) + 6, query.get(operator.id, ""))
        for operator in operators
    ]
    position = {node.id: index for index, node in enumerate(drawing.nodes)}
    edges = [(position[edge.source], position[edge.target]) for edge in drawing.edges]
    return as_map("query", lay_out(items, edges, down=down), items, range(len(items)), down=down)


def _query_of(drawing: Drawing) -> dict[str, str]:
    """Return the query of each operator, if the drawing has queries."""
    return {id_: group.name for group in drawing.groups for id_ in group.nodes}


def _operators(drawing: Drawing, numbers: Mapping[NodeId, int]) -> list[DrawnOperator]:
    query = _query_of(drawing)
    return [_operator(node, numbers, query.get(node.id, "")) for node in drawing.nodes]


def _operator(node: DrawnNode, numbers: Mapping[NodeId, int], query: str) -> DrawnOperator:
    return DrawnOperator(
        node.id,
        node.kind,
        node.line,
        tuple(_lines(node)),
        tuple(Fact(name, text) for name, text in node.details),
        numbers.get(node.relation, -1),
        bool(node.state),
        # The box around it shows its query.
        _shortened(node.id.removesuffix(f".in_{query}")),
    )


def _lines(node: DrawnNode) -> Iterator[str]:
    yield from wrap(node.line, _MOST_CHARACTERS, max_lines=2, placeholder=" …")
    for name, text in node.details:
        if name in _SHOWN:
            yield shorten(f"{name}: {text}", _MOST_CHARACTERS, placeholder=" …")


def _shortened(name: str) -> str:
    """Shorten a name to fit its box; its end says more than its middle."""
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - 19]}…{name[-18:]}"


def _width(operator: DrawnOperator) -> int:
    name = len(operator.title) * _CHARACTER
    return round(max([name, *(len(line) * _SMALL for line in operator.lines)])) + _PADDING
