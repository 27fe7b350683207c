"""More plans by hand: topics that models write and read, with rules switched off for a model."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc
from typing import Any

from msgspec.structs import replace

from millstream.materialization import Sink
from millstream.optimizer.context import Rule
from millstream.plan.nodes import RAW, Decode, Node, Output, Plan, TopicScan
from millstream.plan.text import plan_text
from support.plans import applied

_OWN = set(Sink.__struct_fields__)


def sink(node: Node, model: str, *keys: str, **options: Any) -> Output:
    """Store a node in a topic of the model's name."""
    own = {name: value for name, value in options.items() if name in _OWN}
    said = {name: value for name, value in options.items() if name not in _OWN}
    return Output(
        input=node,
        model=f"model.{model}",
        materialization=Sink(**{"topic": model, "key": keys} | own),
        options=said,
        label=model,
        models=(f"model.{model}",),
    )


def read(output: Output, *names: str, **changed: Any) -> Decode:
    """Read back some columns, or all, of what a sink holds."""
    columns = {c.name: c for c in output.columns}
    scan = TopicScan(relation=output.model, topic=output.topic, columns=RAW, label=f"{output.label}_records")
    fields = tuple(columns[name] for name in names or columns)
    return replace(
        Decode(input=scan, relation=output.model, format="json", fields=fields, label=output.label), **changed
    )


def of(node: Any, *models: str) -> Any:
    """Say in whose SQL a node stands."""
    return replace(node, models=models)


def after(rule: Rule, *outputs: Output) -> str:
    """Return the plan after a rule as text."""
    return plan_text(applied(rule, Plan(outputs)))


def text(lines: str) -> str:
    return cleandoc(lines) + "\n"


def kept(rule: Rule, outputs: Sequence[Output], **off: frozenset[str]) -> bool:
    """Tell whether a rule leaves a plan as it is."""
    before = Plan(tuple(outputs))
    return applied(rule, before, switched_off=off) is before
