"""Applies the rules until none changes the plan, and checks after each that no result has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.plan.nodes import GOOD_TEXT, Plan, with_good
from millstream.plan.optimizer.changes import ChangeHistory
from millstream.plan.optimizer.context import PlanChange, PlanHints, Rule, RuleContext
from millstream.plan.traits import traits_of

_ROUNDS = 25


class RuleStep(Struct, frozen=True):
    """One rule that changed the plan."""

    rule: str
    changes: tuple[PlanChange, ...]
    before: Plan
    after: Plan


class OptimizedPlan(Struct, frozen=True):
    written: Plan
    plan: Plan
    steps: tuple[RuleStep, ...] = ()


class BrokenRuleError(Exception):
    """A rule is wrong: it changed the result of an output, or never ends."""


def optimize_plan(
    plan: Plan,
    rules: Sequence[Rule],
    hints: PlanHints | None = None,
    switched_off: Mapping[NodeId, frozenset[str]] | None = None,
) -> OptimizedPlan:
    """Apply the rules in order, repeatedly, up to a fixed point."""
    steps: list[RuleStep] = []
    current = plan
    changes = ChangeHistory()
    context = RuleContext(plan, hints or PlanHints(), switched_off or {}, changes)
    changes.note(context.order, context.consumers)
    seen: dict[str, Plan] = {}
    for _ in range(_ROUNDS):
        before = current
        for rule in rules:
            name = rule.__name__
            if seen.get(name) is current:
                continue  # it found nothing to do in this plan
            rewritten, done = rule(current, context)
            changes.ran(name)
            if rewritten is not current:
                after = RuleContext(rewritten, context.hints, context.switched_off, changes)
                check_outputs(name, context, after)
                changes.note(after.order, after.consumers)
                context = after
                steps.append(RuleStep(name, tuple(_shown(done)), current, rewritten))
                current = rewritten
            else:
                seen[name] = current
        if current is before:
            return OptimizedPlan(plan, current, tuple(steps))
    names = ", ".join(dict.fromkeys(step.rule for step in steps[-2 * len(rules) :]))
    raise BrokenRuleError(f"no fixed point after {_ROUNDS} rounds: {names} undo each other")


def _shown(changes: Iterable[PlanChange]) -> Iterator[PlanChange]:
    """Leave out what only happens to conditions that keep good records; say which conditions these are."""
    for change in changes:
        what = with_good(change.what)
        if not what.startswith(GOOD_TEXT):
            yield change if what == change.what else PlanChange(what, change.models)


def check_outputs(rule: str, before: RuleContext, after: RuleContext) -> None:
    """Raise an error if the columns, types, mode or key of an output have changed."""
    if len(before.plan.outputs) != len(after.plan.outputs):
        raise BrokenRuleError(f"{rule} lost an output")
    for old, new in zip(before.plan.outputs, after.plan.outputs, strict=True):
        if old is new:
            continue
        if (old.model, old.materialization) != (new.model, new.materialization):
            raise BrokenRuleError(f"{rule} changed the output {old.model}")
        if old.columns != new.columns:
            if [(column.name, column.type) for column in old.columns] != [
                (column.name, column.type) for column in new.columns
            ]:
                raise BrokenRuleError(f"{rule} changed the columns of {old.model}: {old.names} → {new.names}")
            if any(
                n.nullable and not column.nullable for column, n in zip(old.columns, new.columns, strict=True)
            ):
                raise BrokenRuleError(f"{rule} made columns of {old.model} nullable")
        first, second = traits_of(old), traits_of(new)
        if (first.mode, first.keys) != (second.mode, second.keys):
            raise BrokenRuleError(
                f"{rule} made {old.model} {second.mode}({', '.join(second.keys)}), "
                f"which was {first.mode}({', '.join(first.keys)})"
            )
