"""Plans written by hand, short enough to stand in a test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import cleandoc

from millstream.core.expressions import Expression, Piece, Ref, join_pieces
from millstream.core.node_id import NodeId
from millstream.core.types import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP, Type
from millstream.formats.registry import Encoding
from millstream.outputs.kinds import Sink
from millstream.plan.nodes import (
    METADATA,
    RAW,
    Aggregate,
    Column,
    Decode,
    Dedupe,
    Emit,
    Expand,
    Filter,
    Item,
    Join,
    JoinColumn,
    JoinKind,
    Lookup,
    Measure,
    Node,
    Opaque,
    Output,
    Plan,
    Project,
    Repartition,
    SeedScan,
    TableScan,
    TemporalJoin,
    TopicScan,
    Union,
    Watermark,
)
from millstream.plan.optimizer.context import PlanHints, Rule, RuleContext
from millstream.plan.optimizer.driver import check_outputs
from support.plan_text import plan_text

_WORDS = frozenset(
    [
        "and",
        "or",
        "not",
        "in",
        "is",
        "null",
        "like",
        "between",
        "true",
        "false",
        "case",
        "when",
        "then",
        "else",
        "end",
        "as",
        "interval",
        "minutes",
        "rlike",
    ]
)
_TOKEN = re.compile(r"'[^']*'|[A-Za-z_]\w*(?:\.\w+)*\(?|.", re.DOTALL)

TYPES: dict[str, Type] = {"type": STRING, "ts": TIMESTAMP, "at": TIMESTAMP}
"""Columns of other types than INT."""


def sql(text: str, type_: Type = BOOLEAN, *, nullable: bool = True) -> Expression:
    """Read an expression: `py_…(` calls Python, `rand(` is not deterministic, `cast(` and `/` can fail."""
    pieces: list[Piece] = []
    functions: list[str] = []
    for token in _TOKEN.findall(text):
        if token.startswith("py_") and token.endswith("("):
            functions.append(token[:-1])
        if re.fullmatch(r"[A-Za-z_][\w.]*", token) and token.lower() not in _WORDS:
            name, dot, rest = token.partition(".")
            pieces += [Ref(name), dot + rest]
        else:
            pieces.append(token)
    return Expression(
        join_pieces(pieces),
        type_,
        nullable,
        deterministic="rand(" not in text,
        raises="cast(" in text or "/" in text or "py_" in text,
        functions=tuple(functions),
        atomic=len(join_pieces(pieces)) == 1 and isinstance(join_pieces(pieces)[0], Ref),
    )


def topic(
    *names: str, name: str = "events", unique_by: tuple[str, ...] = (), meta: tuple[str, ...] = ()
) -> Node:
    scan = TopicScan(
        relation=NodeId("source", name),
        topics=(name,),
        dead_letters=f"{name}.dead_letter",
        columns=RAW,
        label=f"{name}_records",
    )
    return Decode(
        input=scan,
        relation=NodeId("source", name),
        format=Encoding(),
        fields=tuple(Column(n, TYPES.get(n, INT)) for n in names),
        metadata=tuple(m for m in METADATA if m in meta),
        unique_by=unique_by,
        label=name,
    )


def seed(*names: str, name: str = "products") -> Node:
    return SeedScan(
        relation=NodeId("seed", name), columns=tuple(Column(n, TYPES.get(n, INT)) for n in names), label=name
    )


def table(*names: str, name: str = "users") -> Node:
    return TableScan(
        relation=NodeId("model", name), columns=tuple(Column(n, TYPES.get(n, INT)) for n in names), label=name
    )


def where(node: Node, *conditions: str, label: str = "", model: str = "m") -> Filter:
    return Filter(input=node, conditions=tuple(map(sql, conditions)), label=label, models=(id_of(model),))


def select(node: Node, *items: str, label: str = "", model: str = "m", keys: tuple[str, ...] = ()) -> Project:
    """Write an item as `a` or `a = b + 1`."""
    built = []
    for item in items:
        name, equals, text = item.partition(" = ")
        expression = sql(text if equals else name, INT)
        if (only := expression.column) is not None:
            column = node.column(only)
            expression = sql(only, column.type, nullable=column.nullable)
        built.append(Item(name, expression))
    return Project(input=node, items=tuple(built), label=label, models=(id_of(model),), keys=keys)


def by(node: Node, *keys: str) -> Repartition:
    return Repartition(input=node, keys=keys, models=(NodeId("model", "m"),))


def group(
    node: Node, keys: tuple[str, ...], *measures: str, emit: Emit = "on_change", label: str = ""
) -> Aggregate:
    key_items = []
    for key in keys:
        name, equals, text = key.partition(" = ")
        key_items.append(
            Item(name, sql(text if equals else name, node.column(name).type if not equals else INT))
        )
    calls = []
    for measure in measures:
        name, _, text = measure.partition(" = ")
        calls.append(Measure(name, sql(text, BIGINT), text.partition("(")[0]))
    return Aggregate(
        input=node,
        keys=tuple(key_items),
        measures=tuple(calls),
        emit=emit,
        label=label,
        models=(NodeId("model", "m"),),
    )


def dedupe(node: Node, *keys: str, within: str | None = None) -> Dedupe:
    return Dedupe(input=node, keys=keys, within=within, models=(NodeId("model", "m"),))


def watermark(node: Node, time: str = "ts") -> Watermark:
    return Watermark(input=node, time=time, delay="10 seconds", models=(NodeId("model", "m"),))


def explode(node: Node, call: str, generated: str, *, outer: bool = False) -> Expand:
    return Expand(
        input=node,
        call=sql(call),
        function="explode",
        generated=(Column(generated, INT),),
        outer=outer,
        models=(NodeId("model", "m"),),
    )


def join(left: Node, right: Node, on: str, kind: JoinKind = "inner") -> Join:
    return Join(
        left=left,
        right=right,
        kind=kind,
        on=_on(on),
        joined=_joined(left, right),
        models=(NodeId("model", "m"),),
    )


def lookup(left: Node, right: Node, on: str, kind: JoinKind = "inner") -> Lookup:
    return Lookup(
        left=left,
        right=right,
        kind=kind,
        on=_on(on),
        joined=_joined(left, right),
        models=(NodeId("model", "m"),),
    )


def as_of(left: Node, right: Node, on: str, kind: JoinKind = "inner") -> TemporalJoin:
    """Return a join of events with versions by `a`, as of `ts`."""
    return TemporalJoin(
        left=left,
        right=right,
        kind=kind,
        on=_on(on),
        joined=_joined(left, right),
        pairs=(("a", "a"),),
        time="ts",
        begins="ts",
        models=(NodeId("model", "m"),),
    )


def _on(text: str) -> tuple[Expression, ...]:
    return tuple(map(sql, text.split(" and "))) if text else ()


def _joined(left: Node, right: Node) -> tuple[JoinColumn, ...]:
    columns = [JoinColumn(n, "left", n) for n in left.names]
    columns += [JoinColumn(f"r_{n}" if n in left.names else n, "right", n) for n in right.names]
    return tuple(columns)


def union(*sides: Node, types: tuple[Type, ...] = ()) -> Union:
    return Union(sides=sides, types=types, models=(NodeId("model", "m"),))


def id_of(model: str) -> NodeId:
    """Return the id of a model by its name, or by the id's text."""
    return NodeId.parse(model) if "." in model else NodeId("model", model)


def opaque(*reads: Node) -> Opaque:
    names = tuple(NodeId("model", f"r{i}") for i, _ in enumerate(reads))
    columns = reads[0].columns
    return Opaque(
        reads=reads,
        pieces=(),
        relations=names,
        reasons=("odd",),
        columns=columns,
        models=(NodeId("model", "m"),),
    )


def output(node: Node, model: str = "m", *keys: str) -> Output:
    return Output(
        input=node,
        model=NodeId("model", model),
        materialization=Sink(model, keys),
        models=(id_of(model),),
    )


def plan(*nodes: Node) -> Plan:
    """Store each node, in models m, m2, m3."""
    return Plan(
        tuple(
            n if isinstance(n, Output) else output(n, f"m{i}" if i > 1 else "m")
            for i, n in enumerate(nodes, start=1)
        )
    )


def applied(
    rule: Rule,
    before: Plan,
    hints: PlanHints | None = None,
    switched_off: Mapping[NodeId, frozenset[str]] | None = None,
) -> Plan:
    """Apply a rule once and check what the driver checks, and that it then has nothing more to do."""
    context = RuleContext(before, hints or PlanHints(), switched_off or {})
    after, changes = rule(before, context)
    assert (after is before) == (not changes)
    again = RuleContext(after, context.hints, context.switched_off)
    check_outputs(rule.__name__, context, again)
    same, _ = rule(after, again)
    assert same is after, f"not at once:\n{plan_text(after)}\n{plan_text(same)}"
    return after


def becomes(rule: Rule, before: Plan, expected: str, hints: PlanHints | None = None) -> None:
    assert plan_text(applied(rule, before, hints)) == cleandoc(expected) + "\n"


def stays(
    rule: Rule,
    before: Plan,
    hints: PlanHints | None = None,
    switched_off: Mapping[NodeId, frozenset[str]] | None = None,
) -> None:
    after = applied(rule, before, hints, switched_off)
    assert after is before, plan_text(after)
