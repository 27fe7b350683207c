"""Compares the columns of a relation in two versions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millstream.compile.manifest import ManifestColumn, ManifestNode
from millstream.core.node_id import NodeId
from millstream.queries.differences import simplify_sql
from millstream.review.causes import Comparison
from millstream.review.readers import ColumnReaders
from millstream.review.values import ColumnChange
from millstream.sameness.row_meaning import ModelMeanings

_DIGEST = re.compile(r"\b[0-9a-f]{24}\b")


def column_changes(
    old: ManifestNode,
    new: ManifestNode,
    readers: tuple[ColumnReaders, ColumnReaders],
    comparison: Comparison | None = None,
) -> tuple[ColumnChange, ...]:
    """Return the columns that changed; without `comparison`, changes of meaning are unknown."""
    before = {column.name.lower(): column for column in old.columns}
    after = {column.name.lower(): column for column in new.columns}
    renamed = _renamed(new.id, before, after, comparison) if old.id == new.id else {}
    changes: list[ColumnChange] = []
    for name, column in before.items():
        if name in after:
            continue
        if name in renamed:
            other = after[renamed[name]].name
            changes.append(_with(readers[0], old.id, column.name, "renamed", column.name, other))
        else:
            changes.append(_with(readers[0], old.id, column.name, "removed", column.type))
    for name, column in after.items():
        if name in renamed.values():
            continue
        if (was := before.get(name)) is None:
            changes.append(ColumnChange(name=column.name, kind="added", after=_typed(column)))
        else:
            changes += _in_both(new.id, was, column, readers, comparison)
    return tuple(changes)


def _in_both(
    id_: NodeId,
    old: ManifestColumn,
    new: ManifestColumn,
    readers: tuple[ColumnReaders, ColumnReaders],
    comparison: Comparison | None,
) -> list[ColumnChange]:
    changes: list[ColumnChange] = []
    if old.name != new.name:
        changes.append(_with(readers[0], id_, new.name, "renamed", old.name, new.name))
    if old.type != new.type:
        changes.append(_with(readers[1], id_, new.name, "retyped", old.type, new.type))
    elif old.nullable != new.nullable:
        changes.append(_with(readers[1], id_, new.name, "nullability", _null(old), _null(new)))
    change = comparison.changes.get(id_) if comparison else None
    if comparison and change and (causes := change.columns.get(new.name.lower())):
        name = new.name.lower()
        texts = [_expression(meanings, id_, name) for meanings in (comparison.before, comparison.after)]
        before, after = map(readable_expression, texts) if texts[0] != texts[1] else ("", "")
        because = tuple(sorted(causes - {id_}))
        changes.append(_with(readers[1], id_, new.name, "meaning", before, after, because=because))
    return changes


def _expression(meanings: ModelMeanings, id_: NodeId, name: str) -> str:
    """Return the expression of a column of an edited model; empty for other models."""
    return meanings.by_inputs[id_].columns.get(name, "") if id_ in meanings.by_inputs else ""


def _with(
    readers: ColumnReaders,
    id_: NodeId,
    name: str,
    kind: str,
    before: str = "",
    after: str = "",
    *,
    because: tuple[NodeId, ...] = (),
) -> ColumnChange:
    downstream = readers.downstream(id_, name)
    return ColumnChange(
        name=name,
        kind=kind,  # type: ignore[arg-type]  # literals above
        before=before,
        after=after,
        because=because,
        readers=readers.of(id_, name),
        downstream=downstream,
        exposures=readers.exposures(id_, name, downstream),
        tests=readers.tests(id_, name),
    )


def _renamed(
    id_: NodeId,
    before: Mapping[str, ManifestColumn],
    after: Mapping[str, ManifestColumn],
    comparison: Comparison | None,
) -> dict[str, str]:
    """Pair removed columns with new ones of the same meaning."""
    if (
        comparison is None
        or id_ not in comparison.before.by_sources
        or id_ not in comparison.after.by_sources
    ):
        return {}
    was, now = comparison.before.by_sources[id_].columns, comparison.after.by_sources[id_].columns
    left = [name for name in after if name not in before]
    renamed: dict[str, str] = {}
    for name, column in before.items():
        if name in after:
            continue
        same = (n for n in left if now.get(n) == was.get(name) and after[n].type == column.type)
        if (other := next(same, None)) is not None:
            left.remove(other)
            renamed[name] = other
    return renamed


def readable_expression(text: str) -> str:
    """Return the expression of a column for people; empty if it is too long and thus only a digest."""
    return "" if _DIGEST.search(text) else simplify_sql(text)


def _typed(column: ManifestColumn) -> str:
    return f"{column.type}{'' if column.nullable else ', never NULL'}"


def _null(column: ManifestColumn) -> str:
    return "may be NULL" if column.nullable else "never NULL"
