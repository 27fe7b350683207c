"""Models that leave a query, so that an edit of some rebuilds no others.

A query is split: a copy of its checkpoint becomes that of a new query, which stores the leaving models. In
each of the two, the models of the other one are former models. From then on, both are queries like any other,
and the deployment continues as if they had never shared one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.deploy.planning.records import Deployed, QueryRecord
from millstream.deploy.planning.removed_models import RemovedModels, former_in, with_models
from millstream.plan.from_sql.catalog import Catalog
from millstream.queries.lock import GroupMember, Lock, LockedGroup
from millstream.queries.removed_models import former_id, is_former, of_models


class QuerySplit(Struct, frozen=True):
    """Models that leave a query for a new one."""

    query: str
    name: str
    """The new query."""
    models: tuple[NodeId, ...]


def stored_models(catalog: Catalog) -> frozenset[NodeId]:
    """Return the models that queries store, and the topics of sources."""
    models = catalog.models.items()
    return frozenset(id_ for id_, spec in models if spec.materialization.stored_as).union(catalog.topics)


def without_removed(deployed: Deployed, old: Catalog, stored: Collection[NodeId]) -> Deployed:
    """Return what is deployed after models that no longer exist have left the queries with their state."""
    after = deployed
    for name, record in deployed.records.items():
        gone = [model for model in record.stored if model not in stored]
        if gone and len(gone) < len(record.stored) and record.signature.stateful:
            former = _former(record, old, gone)
            if former is not None:
                after = _with_record(after, name, _remaining(record, former, gone))
                after = replace(
                    after, lock=_renamed(after.lock, name, {model: former_id(name, model) for model in gone})
                )
    return after


def after_splits(deployed: Deployed, old: Catalog, splits: Iterable[QuerySplit]) -> Deployed | None:
    """Return what is deployed after splits; None if the models' SQL is unknown."""
    after = deployed
    for split in splits:
        record = after.records[split.query]
        left = set(split.models)
        others = [model for model in record.stored if model not in left]
        theirs, remaining_former = _former(record, old, split.models), _former(record, old, others)
        if theirs is None or remaining_former is None:
            return None
        new = _leaving(record, remaining_former, split)
        remaining = _remaining(record, theirs, split.models)
        remaining = replace(remaining, tables=_without(remaining.tables, left))
        never = {split.name} if split.query in after.never_started else set()
        lock = _split(after.lock or Lock(), split, stateful=record.signature.stateful)
        after = replace(after, lock=lock, never_started=after.never_started | never)
        after = _with_record(_with_record(after, split.query, remaining), split.name, new)
    return after


def _with_record(deployed: Deployed, name: str, record: QueryRecord) -> Deployed:
    return replace(deployed, records={**deployed.records, name: record})


def _former(record: QueryRecord, old: Catalog, models: Iterable[NodeId]) -> RemovedModels | None:
    before, left = former_in(record), tuple(models)
    if before is None or record.outputs is None or not all(model in old.models for model in left):
        return None
    return with_models(before, old, left)


def _remaining(record: QueryRecord, former: RemovedModels, left: Collection[NodeId]) -> QueryRecord:
    staying = [model for model in record.stored if model not in left]
    return _reduced(record, former, staying)


def _leaving(record: QueryRecord, former: RemovedModels, split: QuerySplit) -> QueryRecord:
    reduced = _reduced(record, former, split.models)
    models = set(split.models)
    digest = blake2b(f"{record.id} {split.name}".encode(), digest_size=6).hexdigest()
    tables = {model: columns for model, columns in record.tables.items() if model in models}
    copied = f"{record.query}/{record.id}"
    return replace(
        reduced,
        query=split.name,
        id=digest,
        tables=tables,
        gone=(),
        split_from=copied,
        sent_as=record.sender,
    )


def _reduced(record: QueryRecord, former: RemovedModels, models: Collection[NodeId]) -> QueryRecord:
    """Return the record of a query that stores only some of its models."""
    outputs = {model: topic for model, topic in (record.outputs or {}).items() if model in models}
    left = [model for model in record.stored if model not in models]
    topics = {*outputs.values()}
    return replace(
        record,
        signature=of_models(record.signature, frozenset(models)),
        models=tuple(model for model in record.models if model not in left),
        outputs=outputs,
        left_out={model: offsets for model, offsets in record.left_out.items() if model in models},
        began={topic: offsets for topic, offsets in record.began.items() if topic in topics},
        former=former.packed() if record.signature.stateful else b"",
    )


def _without(tables: Mapping[NodeId, object], models: Collection[NodeId]) -> dict:  # type: ignore[type-arg]
    return {model: columns for model, columns in tables.items() if model not in models}


def _split(lock: Lock, split: QuerySplit, *, stateful: bool) -> Lock:
    if not stateful:
        return Lock((*lock.groups, LockedGroup(split.name, (GroupMember(split.models),))))
    before = lock.group(split.query) or LockedGroup(split.query, ())
    left = set(split.models)
    new: dict[NodeId, NodeId] = {}
    for model in (model for member in before.members for model in member.models):
        if is_former(model):
            new[model] = former_id(split.name, NodeId("model", model.name.partition(":")[2]))
        elif model not in left:
            new[model] = former_id(split.name, model)
    group = LockedGroup(split.name, tuple(_members(before, new)))
    renamed = _renamed(lock, split.query, {model: former_id(split.query, model) for model in split.models})
    assert renamed is not None
    return Lock((*renamed.groups, group))


def _renamed(lock: Lock | None, query: str, names: Mapping[NodeId, NodeId]) -> Lock | None:
    if lock is None:
        return None
    return Lock(
        tuple(
            LockedGroup(group.name, tuple(_members(group, names))) if group.name == query else group
            for group in lock.groups
        )
    )


def _members(group: LockedGroup, names: Mapping[NodeId, NodeId]) -> Iterator[GroupMember]:
    for member in group.members:
        yield replace(member, models=tuple(names.get(model, model) for model in member.models))
