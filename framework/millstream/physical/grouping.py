"""Which outputs share a query, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from millstream.materialization import Sink
from millstream.physical.branches import Branch
from millstream.physical.common_rows import trunk
from millstream.physical.emit.names import called
from millstream.physical.values import Grouping, Kind, Separation
from millstream.plan.nodes import Decode, Node
from millstream.plan.nodes.order import in_order


class Group(Struct, frozen=True, eq=False):
    """Branches of one query."""

    kind: Kind
    branches: tuple[Branch, ...]

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(branch.model for branch in self.branches)


class Grouped(Struct, frozen=True, eq=False):
    groups: tuple[Group, ...]
    separations: tuple[Separation, ...]


Key = tuple[object, ...]


def group(listed: list[Branch], grouping: Grouping) -> Grouped:
    """Put branches together as far as it pays and goes."""
    found: dict[Key, list[Branch]] = {}
    kinds: dict[Key, Kind] = {}
    told: list[Separation] = []
    roots = _related([b for b in listed if b.states])
    for branch in listed:
        kind: Kind = "stateful" if branch.states else "stateless"
        key: Key
        alone = grouping == "off" or (kind == "stateful" and grouping == "stateless")
        if alone or not branch.scans:
            key, kind = ("alone", branch.model), "single"
        elif kind == "stateless":
            key = ("stateless", _trunk(branch.base), branch.stored_as, _own(branch), _writer(branch))
        else:
            key = (
                "stateful",
                roots[id(branch)],
                branch.mode,
                branch.watermarks,
                branch.chained,
                _own(branch),
                _writer(branch),
                _store(branch),
            )
        found.setdefault(key, []).append(branch)
        kinds[key] = kind
    groups = [
        Group(kinds[key] if len(members) > 1 or kinds[key] != "stateful" else "single", tuple(members))
        for key, members in found.items()
    ]
    if grouping != "off":
        told += _separations(groups, roots)
    return Grouped(tuple(_split(groups, told)), tuple(told))


def _own(branch: Branch) -> str:
    return str(branch.output.options.get("group") or "")


def _writer(branch: Branch) -> tuple[str, ...]:
    """Return what a model asks of the Kafka producer, of which a query has one."""
    stored = branch.output.materialization
    given = stored.producer if isinstance(stored, Sink) else {}
    return tuple(f"{name}={given[name]}" for name in sorted(given))


def _store(branch: Branch) -> str:
    """Return where a model keeps its state: a query has one store."""
    return str((branch.output.options.get("state") or {}).get("store") or "rocksdb")


def _trunk(node: Node) -> Key:
    """Return what stateless branches share: a source that is decoded in one way, or the very same node."""
    if isinstance(node, Decode):
        return (node.input.fingerprint, node.format, node.on_bad_record, node.unique_by, node.key_type)
    return (id(node),)


def _related(listed: Iterable[Branch]) -> dict[int, int]:
    """Give one number to those branches that share a repartition or a state."""
    leader: dict[int, int] = {}
    branches = list(listed)

    def find(one: int) -> int:
        while leader.setdefault(one, one) != one:
            leader[one] = one = leader[leader[one]]
        return one

    for branch in branches:
        mine = find(id(branch))
        for node in (*branch.states, *branch.moves):
            leader[find(id(node))] = mine
    return {id(branch): find(id(branch)) for branch in branches}


def _split(groups: list[Group], told: list[Separation]) -> Iterable[Group]:
    """Take out of stateful groups what Spark would keep state of twice within one query."""
    for each in groups:
        if each.kind != "stateful":
            yield each
            continue
        tops: dict[tuple[int, ...], list[Branch]] = {}
        for branch in each.branches:
            tops.setdefault(tuple(sorted(map(id, branch.states))), []).append(branch)
        kept: list[Branch] = []
        seen: set[int] = set()
        apart: list[list[Branch]] = []
        for states, members in sorted(tops.items(), key=lambda item: (len(item[0]), 0)):
            if seen & set(states):
                apart.append(members)
                shared = next(n for n in members[0].states if id(n) in seen)
                why = f"it keeps more state above {called(shared)}, which one query would keep twice"
                told += [Separation(b.model, why, tuple(k.model for k in kept)) for b in members]
            else:
                kept += members
                seen |= set(states)
            if len(members) > 1 and not _one_trunk(members):
                kept = [b for b in kept if b not in members[1:]]
                apart += [[b] for b in members[1:]]
                why = "it reads several states that no step brings together for all"
                told += [Separation(b.model, why, (members[0].model,)) for b in members[1:]]
        order = {id(branch): place for place, branch in enumerate(each.branches)}
        for members in [kept, *apart]:
            members.sort(key=lambda branch: order[id(branch)])
            yield Group("stateful" if len(members) > 1 else "single", tuple(members))


def _one_trunk(members: list[Branch]) -> bool:
    """Tell whether all rows of all branches come through one node, and all that keeps state is below it.

    What is above it reads each batch on its own: a state there would forget what came before.
    """
    found = trunk([branch.output for branch in members])
    if found is None:
        return False
    below = {id(node) for node in in_order([found])}
    return all(id(state) in below for branch in members for state in branch.states)


def _separations(groups: list[Group], roots: Mapping[int, int]) -> list[Separation]:
    """Say why groups over one source, or with one repartition, are not one."""
    told: list[Separation] = []
    by_source: dict[str, list[Group]] = {}
    by_root: dict[int, list[Group]] = {}
    for each in groups:
        first = each.branches[0]
        if first.states and id(first) in roots:
            by_root.setdefault(roots[id(first)], []).append(each)
        elif len(first.scans) == 1:
            by_source.setdefault(first.scans[0].fingerprint, []).append(each)
    for near in by_source.values():
        main = max(near, key=lambda g: len(g.branches))
        for each in near:
            if each is not main:
                why = _stateless_reason(each.branches[0], main.branches[0])
                told += [Separation(b.model, why, main.models) for b in each.branches]
    for near in by_root.values():
        main = max(near, key=lambda g: len(g.branches))
        for each in near:
            if each is not main:
                why = _stateful_reason(each.branches[0], main.branches[0])
                told += [Separation(b.model, why, main.models) for b in each.branches]
    return told


def _stateless_reason(one: Branch, other: Branch) -> str:
    if _own(one) != _own(other):
        return f"its option group is '{_own(one) or 'none'}'"
    if _writer(one) != _writer(other):
        return "its producer options differ, and a query has one producer"
    if one.stored_as != other.stored_as:
        return "a table is written batch by batch, records as they come"
    node = one.base
    if isinstance(node, Decode):
        return "its source is decoded in another way"
    functions = [name for each in node.expressions for name in each.functions]
    if functions:
        return f"in a fan-out {functions[0]}() would be called for the rows of the others, too"
    return f"a fan-out only filters and projects; it reads {called(node)}"


def _stateful_reason(one: Branch, other: Branch) -> str:
    if _own(one) != _own(other):
        return f"its option group is '{_own(one) or 'none'}'"
    if _writer(one) != _writer(other):
        return "its producer options differ, and a query has one producer"
    if _store(one) != _store(other):
        return f"its state is kept in {_store(one)}, that of the others in {_store(other)}"
    if one.mode != other.mode:
        words = {"append": "when windows close", "update": "on every change"}
        return f"it emits {words[one.mode]}, the others {words[other.mode]}: a query has one output mode"
    return "its watermark differs, and a query has one for all"
