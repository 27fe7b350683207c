"""Combinations of JSON Schemas: `allOf`, `anyOf` and `oneOf`."""

from __future__ import annotations

import json
from collections.abc import Callable

from millstream.core.bipartite_matching import largest_matching
from millstream.formats.compatibility.json_types import SchemaNode
from millstream.formats.compatibility.values import ComparedSides, SchemaDifference, is_compatible

Differences = list[SchemaDifference]


def compare_criteria(was: SchemaNode, now: SchemaNode, sides: ComparedSides) -> Differences:
    """Compare the keywords of combinations."""
    if was.kind == now.kind:
        return []
    single = len(was.parts) == 1, len(now.parts) == 1
    extended = now.kind == "anyOf" or all(single)
    extended |= (single[0] and now.kind == "oneOf") or (single[1] and was.kind == "allOf")
    what = f"it is {now.kind} in the {sides.reader} schema, but {was.kind} in the {sides.writer} one"
    rule = "combined_type_extended" if extended else "combined_type_changed"
    return [SchemaDifference("", rule, what, breaks=not extended)]


def compare_combined(
    was: SchemaNode,
    now: SchemaNode,
    sides: ComparedSides,
    nodes: Callable[[SchemaNode, SchemaNode, str], Differences],
) -> Differences:
    """Compare the schemas of combinations: each needs one of its own to fit."""
    before, after = _distinct(was), _distinct(now)
    differences: Differences = []
    if len(before) < len(after) and now.kind == "allOf":
        what = f"values must fit more schemas in the {sides.reader} one"
        differences.append(SchemaDifference("", "product_type_extended", what))
    if len(before) > len(after) and was.kind != "allOf":
        what = f"the {sides.reader} schema has fewer choices than the {sides.writer} one"
        differences.append(SchemaDifference("", "sum_type_narrowed", what))
    edges: list[dict[int, Differences]] = []
    failed: list[Differences] = []
    for one in before:
        results = {j: nodes(one, other, "") for j, other in enumerate(after)}
        edges.append({j: comparison for j, comparison in results.items() if is_compatible(comparison)})
        if not edges[-1]:
            alike = [results[j] for j, other in enumerate(after) if other.kind == one.kind]
            failed += alike if len(alike) == 1 else []
    matching = largest_matching(edges)
    for j, i in matching.items():
        differences += edges[i][j]
    if len(matching) < min(len(before), len(after)):
        # The differences to the only schema of the same kind say more than that none fits.
        if failed:
            return [*differences, *(difference for unmatched in failed for difference in unmatched)]
        what = f"a choice of the {sides.writer} schema fits none of the {sides.reader} one"
        differences.append(SchemaDifference("", "combined_type_subschemas_changed", what))
    return differences


def _distinct(node: SchemaNode) -> list[SchemaNode]:
    return list(
        {(part.kind, json.dumps(part.keywords, sort_keys=True)): part for part in node.parts}.values()
    )
