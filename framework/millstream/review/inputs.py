"""Compares all nodes that are not models: sources, seeds, functions, settings, tests, exposures, metrics."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from millstream.compile.manifest import ManifestNode
from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import RowSpec, TopicSpec
from millstream.review.columns import column_changes
from millstream.review.edited_lines import edited_lines
from millstream.review.readers import ColumnReaders
from millstream.review.values import NodeChange, Part, Status
from millstream.review.version import ReviewedVersion
from millstream.review.wording import left_out_sentences, options_sentences, topic_sentences
from millstream.sameness.leaves import columns_of_topic

Pair = tuple[ColumnReaders, ColumnReaders]
"""The readers of the older and the newer version."""


def input_changes(old: ReviewedVersion, new: ReviewedVersion, readers: Pair) -> Iterator[NodeChange]:
    yield from _settings(old, new)
    yield from _sources(old, new, readers)
    yield from _seeds(old, new, readers)
    yield from _functions(old, new)


def row_retention(node: ManifestNode) -> tuple[object, ...]:
    """Return what decides how long a table keeps rows, so that a rebuilt one can have others."""
    return node.config.get("versions"), node.config.get("retention")


def _sources(old: ReviewedVersion, new: ReviewedVersion, readers: Pair) -> Iterator[NodeChange]:
    before, after = old.nodes_of("source"), new.nodes_of("source")
    yield from _added_or_removed(before, after)
    for id_ in before.keys() & after.keys():
        was, now = before[id_], after[id_]
        columns = column_changes(was, now, readers)
        what = options_sentences(was.config, now.config)
        if old.topology and new.topology:
            match old.topology.catalog.sources[id_], new.topology.catalog.sources[id_]:
                case TopicSpec() as one, TopicSpec() as other:
                    what = topic_sentences(one, other)
                    what += _derived(one, other)
                    if elsewhere := _found_elsewhere(one, other):
                        names = ", ".join(elsewhere)
                        what.append(f"finds {names} elsewhere in records, or reads it differently")
                case one, other:
                    what += _derived(one, other)
                    what += left_out_sentences(was.config, now.config)
        if columns or what:
            parts: tuple[Part, ...] = ("body",) if what else ()
            parts += ("contract",) if columns else ()
            yield NodeChange(
                id=id_, kind="source", status="changed", path=now.path, parts=parts,
                what=tuple(what), rows=row_retention(was) != row_retention(now), columns=columns,
                edited_lines=edited_lines(old.root, new.root, was.path, now.path),
            )  # fmt: skip


def _seeds(old: ReviewedVersion, new: ReviewedVersion, readers: Pair) -> Iterator[NodeChange]:
    before, after = old.nodes_of("seed"), new.nodes_of("seed")
    yield from _added_or_removed(before, after)
    for id_ in before.keys() & after.keys():
        was, now = before[id_], after[id_]
        columns = column_changes(was, now, readers)
        if columns or was.checksum != now.checksum:
            parts: tuple[Part, ...] = ("body", "contract") if columns else ("body",)
            yield NodeChange(
                id=id_, kind="seed", status="changed", path=now.path, parts=parts,
                what=("has different rows",), rows=True, columns=columns,
                edited_lines=edited_lines(old.root, new.root, was.path, now.path),
            )  # fmt: skip


def _functions(old: ReviewedVersion, new: ReviewedVersion) -> Iterator[NodeChange]:
    before, after = old.manifest.functions, new.manifest.functions
    digests = [
        {name: function.digest for name, function in version.topology.catalog.functions.items()}
        if version.topology
        else {}
        for version in (old, new)
    ]
    for name in sorted(before.keys() ^ after.keys()):
        status: Status = "added" if name in after else "removed"
        path = (before | after)[name].path
        yield NodeChange(id=NodeId("function", name), kind="function", status=status, path=path)
    for name in sorted(before.keys() & after.keys()):
        was, now = before[name], after[name]
        what = [f"is `{now.signature}`, was `{was.signature}`"] if was.signature != now.signature else []
        if digests[0].get(name) != digests[1].get(name):
            what.append("has a different body, so it may return different values")
        if digests[0] and digests[1]:
            what += _libraries(old, new, name)
        if what and digests[0] and digests[1]:
            yield NodeChange(
                id=NodeId("function", name), kind="function", status="changed", path=now.path,
                parts=("body",), what=tuple(what),
                edited_lines=edited_lines(old.root, new.root, was.path, now.path),
            )  # fmt: skip


def _libraries(old: ReviewedVersion, new: ReviewedVersion, function: str) -> list[str]:
    """Describe the libraries of a function whose versions changed."""
    assert old.topology
    assert new.topology
    was, now = (
        version.topology.catalog.functions[function].libraries for version in (old, new) if version.topology
    )
    return [
        f"uses {name} {now[name]} instead of {was[name]}"
        for name in sorted(was.keys() & now.keys())
        if was[name] != now[name]
    ]


def _settings(old: ReviewedVersion, new: ReviewedVersion) -> Iterator[NodeChange]:
    if not (old.topology and new.topology):
        return
    before, after = (dict(version.topology.catalog.target) for version in (old, new) if version.topology)
    locations = before.pop("places", {}), after.pop("places", {})
    before |= before.pop("spark", {})
    after |= after.pop("spark", {})
    moved = ["tables are in another place"] if locations[0] != locations[1] else []
    for sentence in [*options_sentences(before, after), *moved]:
        name = sentence.partition(" ")[0]
        yield NodeChange(
            id=NodeId("setting", name),
            kind="setting",
            status="changed",
            path="profiles.yml",
            what=(sentence,),
        )


def other_changes(old: ReviewedVersion, new: ReviewedVersion) -> Iterator[NodeChange]:
    """Compare tests, exposures and metrics by their content, not by their location."""
    for kind in ("test", "unit_test", "exposure", "metric"):
        before, after = old.nodes_of(kind), new.nodes_of(kind)
        yield from _added_or_removed(before, after)
        for id_ in before.keys() & after.keys():
            if _content(before[id_]) != _content(after[id_]):
                yield NodeChange(id=id_, kind=kind, status="changed", path=after[id_].path, parts=("body",))


def _added_or_removed(
    before: dict[NodeId, ManifestNode], after: dict[NodeId, ManifestNode]
) -> Iterator[NodeChange]:
    for id_, node in before.items():
        if id_ not in after:
            yield NodeChange(id=id_, kind=node.kind, status="removed", path=node.path)
    for id_, node in after.items():
        if id_ not in before:
            yield NodeChange(id=id_, kind=node.kind, status="added", path=node.path)


def _content(node: ManifestNode) -> ManifestNode:
    """Return a node without its location."""
    meta = {name: value for name, value in node.meta.items() if name != "line"}
    return replace(node, path="", fqn=(), compiled_path=None, tags=(), meta=meta)


def _found_elsewhere(old: TopicSpec, new: TopicSpec) -> list[str]:
    """Return the columns of the same type of which records are read differently."""
    if old.format.identity != new.format.identity:
        return []  # all of them: the format is reported
    was, now = (columns_of_topic(replace(topic, derived=()), {}) for topic in (old, new))
    types = {field.name.lower(): field for field in old.fields}
    same = [field for field in new.fields if types.get(field.name.lower()) == field]
    names = [field.name for field in same]
    return [f"`{name}`" for name in names if was[name.lower()] != now[name.lower()]]


def _derived(old: TopicSpec | RowSpec, new: TopicSpec | RowSpec) -> list[str]:
    """Return a sentence with the derived columns whose expression changed, if there are any."""
    was = {name: str(expression) for name, expression in old.derived}
    changed = [
        f"`{name}`" for name, expression in new.derived if was.get(name, str(expression)) != str(expression)
    ]
    return [f"computes {', '.join(changed)} differently"] if changed else []
