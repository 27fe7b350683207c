"""Columns of views that no reader uses: none names them, and no column of a reader comes from them."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.core.node_id import NodeId
from millstream.lint.project import LintModel, LintProject
from millstream.lint.rule import rule
from millstream.lint.values import Finding

_TIMES = ("timestamp", "timestamp_ntz", "date", "struct")
"""Readers may use an event time or a window without naming it."""


@rule("unused-column")
def unused_column(project: LintProject) -> Iterator[Finding]:
    """Find columns of views that no reader uses."""
    used = _used_columns(project)
    for model in project.models.values():
        if model.stored or not model.readers or not _is_understood(model):
            continue
        needed = _needed_by_itself(model)
        for column in model.columns:
            name = column.name.lower()
            if (model.id, name) not in used and name not in needed and not column.type.startswith(_TIMES):
                message = f"no reader of '{model.name}' uses its column '{column.name}'"
                yield model.finding(message, f"remove '{column.name}' from the SELECT", column=column.name)


def _used_columns(project: LintProject) -> set[tuple[NodeId, str]]:
    used: set[tuple[NodeId, str]] = set()
    for model in project.models.values():
        used |= {(relation, name) for relation in model.spec.reads for name in model.names}
        influences = [*model.node.influences, *(i for column in model.columns for i in column.influences)]
        used |= {(influence.relation, influence.column.lower()) for influence in influences}
    return used


def _is_understood(model: LintModel) -> bool:
    """Return whether all readers are models whose lineage is known, and no data test may read a column."""
    models = model.project.models
    return not model.tests and all(
        reader.kind == "model" and reader.name in models and not reader.opaque for reader in model.readers
    )


def _needed_by_itself(model: LintModel) -> set[str]:
    """Return the columns that the view's own options name, and those that identify its rows."""
    traits = model.traits
    keys = {key.lower() for key in traits.keys} if traits else set[str]()
    return keys | set(_texts(model.node.config))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value.lower()
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
