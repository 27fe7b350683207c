"""May a query go on from its checkpoint? Told from what it keeps, not from what Spark checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from millstream.physical.differences import differences
from millstream.physical.values import Operator, Signature, Stored

Kind = Literal["same", "forward", "rebuild"]


class Verdict(Struct, frozen=True):
    """What may happen to a checkpoint.

    same: it goes on. forward: it goes on, and old rows stay counted by the old rule. rebuild: it can't.
    """

    kind: Kind
    reasons: tuple[str, ...] = ()


def is_lost(kind: str, *, accept_forward: bool) -> bool:
    """Tell whether what a query keeps must be made anew before it goes on."""
    return kind == "rebuild" or (kind == "forward" and not accept_forward)


def verdict(old: Signature, new: Signature) -> Verdict:
    """Compare what a checkpoint was made with to what is to run; where it is not proven to fit, rebuild."""
    if old == new:
        return Verdict("same")
    if reasons := tuple(_misfits(old, new)):
        return Verdict("rebuild", reasons)
    reasons = tuple(
        f"{now.name}: what happens to rows before it changed; what it holds was counted by the old rule"
        for was, now in zip(old.operators, new.operators, strict=True)
        if was.below != now.below
    )
    reasons = reasons or tuple(
        f"{name}: what its rows are made of changed; those that are stored stay as they are"
        for name, was, now in _both(old, new)
        if was.rows != now.rows
    )
    return Verdict("forward", reasons) if reasons else Verdict("same")


def _both(old: Signature, new: Signature) -> Iterator[tuple[str, Stored, Stored]]:
    """Give what was stored before and is stored now; models of a query come and go."""
    before = {each.model: each for each in old.stored}
    for now in new.stored:
        if (was := before.get(now.model)) is not None:
            yield now.model.partition(".")[2], was, now


def _misfits(old: Signature, new: Signature) -> Iterator[str]:
    if old.sources != new.sources:
        yield f"it reads {_listed(new.sources)} instead of {_listed(old.sources)}"
    elif old.topics and new.topics:
        for read, reads in zip(old.topics, new.topics, strict=True):
            if read != reads:
                # Spark looks for the offsets of the old topic, and finds it gone.
                yield f"it reads {_read(reads)} instead of {_read(read)}"
    for name, was, now in _both(old, new):
        if was.keys != now.keys:
            yield f"the key of {name} is {', '.join(now.keys)} instead of {', '.join(was.keys)}"
    if not old.stateful and not new.stateful:
        return
    if old.timezone != new.timezone:
        yield f"the time zone is {new.timezone} instead of {old.timezone}"
    if not _same_branches(old, new):
        yield "its models changed, or their order"
    if len(old.operators) != len(new.operators):
        yield f"it keeps {_count(new)} instead of {_count(old)}"
        return
    for before, after in zip(old.operators, new.operators, strict=True):
        yield from _changed(before, after)


def _same_branches(old: Signature, new: Signature) -> bool:
    """Tell whether each state still serves a model that it served: others may come to it, and leave it."""
    if len(old.branches) != len(new.branches):
        return False
    pairs = zip(old.branches, new.branches, strict=True)
    return all(set(was.split(", ")) & set(now.split(", ")) for was, now in pairs)


def _changed(was: Operator, now: Operator) -> Iterator[str]:
    if was.kind != now.kind:
        yield f"{now.name} is a {now.kind} where there was a {was.kind}"
        return
    before, after = _kept(was), _kept(now)
    if before != after:
        # Where a window stands among keys is told by no fact of its own.
        for difference in list(differences(before, after)) or ["its keys are in another order"]:
            yield f"{now.name}: {difference}"


def _kept(operator: Operator) -> tuple[tuple[str, str], ...]:
    """Return the facts with the aggregates in the order that they are kept in, where that is known of all.

    Where they stand in the plan says nothing: `round(sum(x), 2)` comes after what is selected as it is.
    """
    facts = dict(operator.facts)
    measures = [name for name in facts if name.startswith("measure ")]
    asked = [f"measure {number}" for number in facts.get("order", "").split(", ")]
    if "order" not in facts or sorted(asked) != sorted(measures):
        return operator.facts
    kept = dict(zip(measures, (facts[name] for name in asked), strict=True))
    return tuple((name, kept.get(name, fact)) for name, fact in operator.facts if name != "order")


def _read(topic: str) -> str:
    return f"the topic {topic}" if topic else "the changes of a table"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(name.partition(".")[2] for name in names) or "nothing"


def _count(signature: Signature) -> str:
    number = len(signature.operators)
    return f"{number} state{'' if number == 1 else 's'}"
