"""Whether a query can continue from its checkpoint, decided by its state, not by what Spark checks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.plan.durations import is_longer
from millstream.plan.nodes.leaves import history_summary, topics_text
from millstream.queries.dependency_changes import describe_changes
from millstream.queries.differences import describe_differences
from millstream.queries.values import QuerySignature, StatefulOperator, StoredOutput

_KINDS = {
    "aggregate": "an aggregate",
    "dedupe": "a deduplication",
    "first_sent": "a search for repeated records",
    "join": "a join",
    "stateful": "a function with keyed state",
    "temporal_join": "a join with versions",
}

_Facts = tuple[tuple[str, str], ...]
Kind = Literal["same", "stored", "mixed", "rebuild"]


class Verdict(Struct, frozen=True):
    """Whether a query can continue from its checkpoint.

    same: it continues. stored: it continues with right state, but stored rows stay as the old version
    computed them. mixed: it continues with state in which both versions count. rebuild: it can't.
    """

    kind: Kind
    reasons: tuple[str, ...] = ()
    mixed: tuple[NodeId, ...] = ()
    """Ids of the models that would be computed from state in which both versions count."""
    stored: tuple[NodeId, ...] = ()
    """Ids of the other models whose stored rows would stay as they are."""


class AcceptedModels(Struct, frozen=True):
    """What users accept so that queries continue, as ids of models."""

    stored: frozenset[NodeId] = frozenset()
    mixed: frozenset[NodeId] = frozenset()
    everything: bool = False

    def covers(self, verdict: Verdict) -> bool:
        """Return whether a query may continue; mixed state comes with rows of the old version."""
        if verdict.kind in {"same", "rebuild"} or self.everything:
            return verdict.kind != "rebuild"
        return self.mixed.issuperset(verdict.mixed) and (self.stored | self.mixed).issuperset(verdict.stored)


def compare_signatures(old: QuerySignature, new: QuerySignature) -> Verdict:
    """Compare a checkpoint's signature with the new one; unless they are proven to fit, rebuild."""
    if old == new:
        return Verdict("same")
    if reasons := tuple(_rebuild_reasons(old, new)):
        return Verdict("rebuild", reasons)
    states = list(_mixed(old, new))
    mixed = tuple(dict.fromkeys(model for _, models in states for model in models))
    rows = [outdated for outdated in _outdated(old, new) if outdated[0] not in mixed]
    changes = {*old.changes, *new.changes}
    if causes := [cause for model, cause, _ in rows if model in changes]:
        needed = "the row before a change must be the one that was sent"
        return Verdict("rebuild", tuple(f"{cause}; {needed}" for cause in causes))
    kind: Kind = "mixed" if states else "stored" if rows else "same"
    reasons = (*(why for why, _ in states), *(f"{cause}; {effect}" for _, cause, effect in rows))
    return Verdict(kind, reasons, mixed, tuple(model for model, _, _ in rows))


def _mixed(old: QuerySignature, new: QuerySignature) -> Iterator[tuple[str, tuple[NodeId, ...]]]:
    """Yield why states keep what the old version counted and count new rows differently, and their models."""
    for was, now in zip(old.operators, new.operators, strict=True):
        changed = [] if was.depends is None else list(describe_changes(was.below_depends, now.below_depends))
        if was.below != now.below:
            upstream = "the SQL upstream of its state changed"
            yield f"{now.name}: {upstream}; existing state was computed by the old SQL", now.models
        elif changed:
            yield f"{now.name}: {', '.join(changed)}; existing state was computed before", now.models


def _outdated(old: QuerySignature, new: QuerySignature) -> Iterator[tuple[NodeId, str, str]]:
    """Yield the models of which stored rows differ from those of a new build, the cause and the effect."""
    stay = "stored rows would stay unchanged"
    session = [] if old.stateful else list(_session(old, new))
    for name, was, now in _both(old, new):
        model = now.model
        if not now.rows:
            continue  # a maintained table: all of its rows are computed again
        changed = [
            *session,
            *([] if was.depends is None else describe_changes(was.depends, now.depends or ())),
        ]
        if was.rows != now.rows:
            yield model, f"{name}: the SQL that computes its rows changed", stay
        elif changed:
            yield model, f"{name}: {', '.join(changed)}", stay
        elif was.encoding and now.encoding and was.encoding != now.encoding:
            effect = "those of keys without new rows would stay as they are"
            yield model, f"{name}: its records have another format", effect
        elif is_longer(was.retention, now.retention):
            yield model, f"{name}: {_retention_change(was, now)}", "rows that were removed would stay removed"
        elif is_longer(now.retention, was.retention):
            effect = "older rows would stay until the next records, whose batch removes them"
            yield model, f"{name}: {_retention_change(was, now)}", effect


def _retention_change(was: StoredOutput, now: StoredOutput) -> str:
    new, old = (f"for {stored.retention}" if stored.retention else "forever" for stored in (now, was))
    return f"rows are kept {new} instead of {old.removeprefix('for ')}"


def _session(old: QuerySignature, new: QuerySignature) -> Iterator[str]:
    """Yield differences of the settings under which all SQL runs."""
    if old.timezone != new.timezone:
        yield f"the time zone is {new.timezone} instead of {old.timezone}"
    if old.settings is None or new.settings is None:
        return
    for name in sorted(old.settings.keys() | new.settings.keys()):
        was, now = (settings.get(name, "not set") for settings in (old.settings, new.settings))
        if was != now:
            yield f"{name} is {now} instead of {was}"


def _both(old: QuerySignature, new: QuerySignature) -> Iterator[tuple[str, StoredOutput, StoredOutput]]:
    """Yield the models that are stored in both versions; models of a query can be added or removed."""
    before = {stored.model: stored for stored in old.stored}
    for now in new.stored:
        if (was := before.get(now.model)) is not None:
            yield now.model.name, was, now


def _rebuild_reasons(old: QuerySignature, new: QuerySignature) -> Iterator[str]:
    if old.sources != new.sources:
        yield f"it reads {_names(new.sources)} instead of {_names(old.sources)}"
    elif old.topics and new.topics:
        for read, reads in zip(old.topics, new.topics, strict=True):
            # Spark reads a topic that is added to others from its start, but would look for the offsets
            # of one that is missing, and fail.
            if not set(read.split(", ")) <= set(reads.split(", ")) or (read == "") != (reads == ""):
                yield f"it reads {_read(reads)} instead of {_read(read)}"
    if old.histories != new.histories:
        yield from _other_histories(old.histories, new.histories)
    for stream in old.settings_of.keys() & new.settings_of.keys():
        yield from _other_settings(stream, old.settings_of[stream], new.settings_of[stream])
    for table in old.tables.keys() & new.tables.keys():
        # The swap of such a table is no change of rows that Spark's readers could follow.
        yield from _other_types(table, old.tables[table], new.tables[table], "whose changes it reads, ")
    for name, was, now in _both(old, new):
        if was.keys != now.keys:
            yield f"the key of {name} is {', '.join(now.keys)} instead of {', '.join(was.keys)}"
        if was.partitions != now.partitions:
            by, before = (", ".join(stored.partitions) or "nothing" for stored in (now, was))
            yield f"the table {name} is partitioned by {by} instead of {before}"
        yield from _other_types(now.model, was.types, now.types)
        if was.location and now.location and was.location != now.location:
            yield f"the table {name} is in another place, which has none of its rows"
    if not old.stateful and not new.stateful:
        return
    yield from _session(old, new)
    if not _same_branches(old, new):
        yield "its models changed, or their order"
    if len(old.operators) != len(new.operators):
        yield f"it keeps {_count(new)} instead of {_count(old)}"
        return
    reasons = [why for pair in zip(old.operators, new.operators, strict=True) for why in _changed(*pair)]
    yield from reasons
    if not reasons and match_copies(old, new) is None:
        yield "its state has copies of aggregates by a condition that it no longer has"
    if not reasons and _shapes(old.former) != _shapes(new.former):
        yield "its checkpoint has the state of a model that left it, which can't be planned any more"


def match_copies(old: QuerySignature, new: QuerySignature) -> tuple[bool, ...] | None:
    """Return which copies of aggregates in new SQL a state has; None if it also has others.

    An older state has none. Spark compares the columns of a state by their order.
    """
    left = list(old.copies)
    present = tuple(bool(left) and left[0] == copy and bool(left.pop(0)) for copy in new.copies)
    return None if left else present


def _other_types(model: NodeId, old: dict[str, str], new: dict[str, str], which: str = "") -> Iterator[str]:
    for column, type_ in new.items():
        if (before := old.get(column, type_)) != type_:
            table = f"{model.name}, {which}" if which else f"{model.name} "
            yield f"the column {column} of {table}is {type_} instead of {before}"


def _other_histories(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    for topic in sorted(old.keys() | new.keys()):
        was, now = ((history_summary(h[topic]) if topic in h else "nothing") for h in (old, new))
        if was != now:
            yield f"{topic} is read after {now} instead of {was}"


def _other_settings(stream: str, old: str, new: str) -> Iterator[str]:
    """Yield what another source is read by: what Spark has noted of the old one does not apply to it."""
    was, now = json.loads(old), json.loads(new)
    for key in sorted(was.keys() | now.keys()):
        if was.get(key) != now.get(key):
            values = (settings.get(key, "not set") for settings in (now, was))
            yield f"{key} of {stream.partition(':')[2]} is {' instead of '.join(map(str, values))}"


def _shapes(former: Iterable[StatefulOperator]) -> list[tuple[str, list[str]]]:
    """Return what must be there of states that no model reads: they are computed by the SQL that they had.

    Their rows don't matter, nor what a function does with them. The group's record has their order.
    """
    return sorted((operator.kind, [name for name, _ in operator.facts]) for operator in former)


def _same_branches(old: QuerySignature, new: QuerySignature) -> bool:
    """Whether each state still serves at least one of its models; models may join or leave it."""
    if len(old.branches) != len(new.branches):
        return False
    pairs = zip(old.branches, new.branches, strict=True)
    return all(set(was.split(", ")) & set(now.split(", ")) for was, now in pairs)


def _changed(old: StatefulOperator, new: StatefulOperator) -> Iterator[str]:
    if old.kind != new.kind:
        yield f"{new.name} is {_KINDS[new.kind]} instead of {_KINDS[old.kind]}"
        return
    before, after = map(_stored_order, _comparable(old, new))
    if before != after:
        # The position of a window among the keys is not a separate fact.
        for difference in list(describe_differences(before, after)) or ["its keys are in a different order"]:
            yield f"{new.name}: {difference}"
    elif old.depends is not None and (changed := list(describe_changes(old.depends, new.depends or ()))):
        yield f"{new.name}: {', '.join(changed)}"
    elif old.emitted is not None and old.emitted != new.emitted:
        held = "groups" if new.kind == "aggregate" else "rows"
        let_out = f"{held} that the old ones let in would still be emitted"
        yield f"{new.name}: the conditions upstream of it changed; {let_out}"


def _comparable(old: StatefulOperator, new: StatefulOperator) -> tuple[_Facts, _Facts]:
    """Return what both keep; an older record does not say what Spark leaves out of a state."""
    if old.stored_facts is None or new.stored_facts is None:
        return _last_times(old.facts, new.facts), new.facts
    return old.stored_facts, new.stored_facts


def _last_times(was: _Facts, now: _Facts) -> _Facts:
    """Leave out the event times that a later watermark replaced, which older records also have."""
    last = {name: fact for name, fact in was if name.endswith("watermark")}
    return tuple((name, fact) for name, fact in was if last.get(name, fact) == fact or (name, fact) in now)


def _stored_order(operator_facts: _Facts) -> _Facts:
    """Return the facts with the aggregates in the order in which Spark stores them, if that is known.

    Their order in the plan says nothing: `round(sum(x), 2)` comes after directly selected aggregates.
    """
    facts = dict(operator_facts)
    measures = [name for name in facts if name.startswith("measure ")]
    order = [f"measure {number}" for number in facts.get("order", "").split(", ")]
    if "order" not in facts or sorted(order) != sorted(measures):
        return operator_facts
    stored = dict(zip(measures, (facts[name] for name in order), strict=True))
    return tuple((name, stored.get(name, fact)) for name, fact in operator_facts if name != "order")


def _read(topics: str) -> str:
    return f"the {topics_text(topics.split(', '))}" if topics else "the changes of a table"


def _names(names: tuple[NodeId, ...]) -> str:
    return ", ".join(name.name for name in names) or "nothing"


def _count(signature: QuerySignature) -> str:
    number = len(signature.operators)
    return f"{number} state{'' if number == 1 else 's'}"
