"""Lookups that may find several rows for one."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.core.expressions import Expression, Ref
from millstream.core.node_id import NodeId
from millstream.lint.project import LintProject
from millstream.lint.rule import rule
from millstream.lint.values import Finding
from millstream.sql.query import From, Scan

_KEEPING = frozenset(("inner", "left"))


@rule("multiplying-join")
def multiplying_join(project: LintProject) -> Iterator[Finding]:
    """Find joins with a table, reference topic or seed that do not compare all columns of its key."""
    for model in project.models.values():
        for select in model.selects:
            for source in select.relations:
                if source.join not in _KEEPING or not isinstance(source.input, Scan) or source.as_of:
                    continue
                relation = source.input.relation
                keys = unique_columns(project, relation)
                if keys is None:
                    continue
                compared = _compared(source, (*source.on, *select.where))
                if any(key <= compared for key in keys):
                    continue
                yield model.finding(*_message(relation, keys), span=(source.start, source.stop))


def _message(relation: NodeId, keys: list[frozenset[str]]) -> tuple[str, str]:
    name = relation.shown_name
    if not keys:
        message = f"a row may find several rows of '{name}': no columns of it are known to be unique"
        return message, "add the data test `unique` to the column that the join compares, if it is unique"
    columns = " and ".join(sorted(keys[0]))
    message = f"a row may find several rows of '{name}', whose key is {columns}"
    return message, f"compare {columns} in ON, or aggregate the rows of '{name}' first"


def unique_columns(project: LintProject, relation: NodeId) -> list[frozenset[str]] | None:
    """Return the sets of columns that identify a row of a relation at rest; None of other relations."""
    if not project.catalog.can_rest(relation) or project.catalog.is_appended(relation):
        return None
    model = project.models.get(relation.name) if relation.kind == "model" else None
    topic = project.catalog.topics.get(relation)
    if (model and model.spec.materialization.versions) or (topic and topic.versions):
        return None  # the rows of a key are its versions
    rows = project.catalog.row_sources.get(relation)
    declared = model.spec.keys if model else topic.unique_by if topic else rows.unique_by if rows else ()
    keys = [frozenset(name.lower() for name in declared)] if declared else []
    return keys + _tested(project, relation)


def _tested(project: LintProject, relation: NodeId) -> list[frozenset[str]]:
    """Return the columns that have the data test `unique`."""
    node = project.compiled.manifest.nodes[relation]
    return [frozenset((column.name.lower(),)) for column in node.columns if "unique" in column.tests]


def _compared(source: From, conditions: tuple[Expression, ...]) -> frozenset[str]:
    """Return the columns of a relation that are equal to a value of the other rows, or to a constant."""
    names = set[str]()
    for condition in conditions:
        sides = _sides(condition)
        for one, other in (sides, sides[::-1]) if sides else ():
            column = one[0] if len(one) == 1 else None
            elsewhere = all(not isinstance(piece, Ref) or piece.relation != source.alias for piece in other)
            if isinstance(column, Ref) and column.relation == source.alias and elsewhere:
                names.add(column.column.lower())
    return frozenset(names)


def _sides(condition: Expression) -> tuple[tuple[object, ...], tuple[object, ...]] | None:
    """Return the two sides of `a = b`; None of other conditions."""
    for index, piece in enumerate(condition.pieces):
        if isinstance(piece, str) and piece.count("=") == 1 and " = " in f" {piece.strip()} ":
            before, _, after = piece.partition("=")
            left = (*condition.pieces[:index], *([before.strip()] if before.strip() else []))
            right = (*([after.strip()] if after.strip() else []), *condition.pieces[index + 1 :])
            texts = " ".join(part for part in (*left, *right) if isinstance(part, str)).lower().split()
            return None if {"or", "and", "not", "case"} & set(texts) else (left, right)
    return None
