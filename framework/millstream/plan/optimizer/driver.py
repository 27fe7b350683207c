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
    for was, now in zip(before.plan.outputs, after.plan.outputs, strict=True):
        if was is now:
            continue
        if (was.model, was.materialization) != (now.model, now.materialization):
            raise BrokenRuleError(f"{rule} changed the output {was.model}")
        if was.columns != now.columns:
            if [(c.name, c.type) for c in was.columns] != [(c.name, c.type) for c in now.columns]:
                raise BrokenRuleError(f"{rule} changed the columns of {was.model}: {was.names} → {now.names}")
            if any(n.nullable and not w.nullable for w, n in zip(was.columns, now.columns, strict=True)):
                raise BrokenRuleError(f"{rule} made columns of {was.model} nullable")
        first, second = traits_of(was), traits_of(now)
        if (first.mode, first.keys) != (second.mode, second.keys):
            raise BrokenRuleError(
                f"{rule} made {was.model} {second.mode}({', '.join(second.keys)}), "
                f"which was {first.mode}({', '.join(first.keys)})"
            )
