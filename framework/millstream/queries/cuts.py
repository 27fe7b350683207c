"""Why a model reads the topic of a stateful model instead of sharing its query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.plan.nodes import Output, TopicScan
from millstream.plan.nodes.order import in_order
from millstream.plan.streaming import STATES, Kind, find_conflicts
from millstream.plan.traits import traits_of
from millstream.queries.values import Separation

_ALWAYS = "steps with state that a topic connects never share a query"


def find_cuts(outputs: Sequence[Output]) -> Iterable[Separation]:
    sinks = (output for output in outputs if output.materialization.sends_records)
    below = {output.model: output_states for output in sinks if (output_states := _states(output))}
    for output in outputs if below else ():
        if not _states(output):
            continue
        for node in in_order((output,)):
            if isinstance(node, TopicScan) and (states := below.get(node.relation)):
                yield Separation(output.model, _why(output, states), (node.relation,))


def _states(output: Output) -> set[Kind]:
    return {*traits_of(output).below} & {*STATES}


def _why(output: Output, states: set[Kind]) -> str:
    for kind in traits_of(output).below:
        for rule in find_conflicts(kind, {*states, "watermark"}).values():
            return rule.message
    return _ALWAYS
