"""More plans by hand: topics that models write and read, with rules switched off for a model."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc
from typing import Any

from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.core.types import STRING
from millstream.formats.registry import Encoding
from millstream.outputs.kinds import Sink, Table
from millstream.plan.nodes import RAW, Decode, Item, Node, Output, Plan, TopicScan
from millstream.plan.optimizer.context import Rule
from support.plan_text import plan_text
from support.plans import applied, id_of, sql


def sink(
    node: Node, name: str, *keys: str, headers: dict[str, str] | None = None, **options: object
) -> Output:
    """Store a node in a topic of the model's name."""
    extras = tuple(Item(f"headers.{key}", sql(text, STRING)) for key, text in (headers or {}).items())
    return _output(node, name, Sink, {"topic": name, "key": keys}, options, extras)


def stored(node: Node, name: str, *keys: str, delete_when: str = "", **options: object) -> Output:
    """Store a node as a table."""
    extras = (Item("delete_when", sql(delete_when)),) if delete_when else ()
    return _output(node, name, Table, {"unique_key": keys}, options, extras)


def _output(
    node: Node,
    name: str,
    kind: type[Sink | Table],
    settings: dict[str, object],
    options: dict[str, object],
    extras: tuple[Item, ...],
) -> Output:
    fields = {key: options.pop(key) for key in kind.__struct_fields__ if key in options}
    return Output(
        input=node,
        model=NodeId("model", name),
        materialization=kind(**settings | fields),
        label=name,
        models=(NodeId("model", name),),
        options=options,
        extras=extras,
    )


def read(output: Output, *names: str, **changed: Any) -> Decode:
    """Read back some columns, or all, of what a sink holds."""
    columns = {c.name: c for c in output.columns}
    scan = TopicScan(
        relation=output.model,
        topics=(output.topic,),
        dead_letters=f"{output.topic}.dead_letter",
        columns=RAW,
        label=f"{output.label}_records",
    )
    fields = tuple(columns[name] for name in names or columns)
    return replace(
        Decode(input=scan, relation=output.model, format=Encoding(), fields=fields, label=output.label),
        **changed,
    )


def of(node: Any, *models: str) -> Any:
    """Say in whose SQL a node stands."""
    return replace(node, models=tuple(map(id_of, models)))


def after(rule: Rule, *outputs: Output) -> str:
    """Return the plan after a rule as text."""
    return plan_text(applied(rule, Plan(outputs)))


def text(lines: str) -> str:
    return cleandoc(lines) + "\n"


def leaves_unchanged(rule: Rule, outputs: Sequence[Output], **off: frozenset[str]) -> bool:
    """Tell whether a rule leaves a plan as it is."""
    before = Plan(tuple(outputs))
    return applied(rule, before, switched_off={id_of(model): rules for model, rules in off.items()}) is before
