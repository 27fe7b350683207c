"""SQL that is not understood: where it stands, why, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from msgspec import Struct

from millstream.artifacts import artifact_path
from millstream.manifest import Compiled, ManifestNode
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.sql.query import Body, Derived, OpaqueBody, Select, Union


class Unsupported(Struct, frozen=True):
    model: str
    path: str
    """The model's file."""
    compiled_path: str
    line: int
    """Of the compiled SQL; 0 where it is not known."""
    reason: str
    text: str
    """The words of the SQL that it begins with."""
    remedy: str


_PLACE = re.compile(r"(?P<reason>.*?) \(line (?P<line>\d+) of the compiled SQL: (?P<text>.*)\)", re.DOTALL)

_NEWEST = """\
for the newest row per key, a table with unique_key and order_by, or max_by(struct(…), time) with GROUP BY;
for the first row of each key, config(dedupe={'keys': […]})"""
_ORDER = """\
leave it out, since a stream has no end to sort by: sort what is stored with `millstream query`, or keep the
best of each group with max_by, min_by or slice(array_sort(collect_list(…)), 1, n)"""
_PIVOT = """\
one aggregate for each value: sum(amount) filter (where kind = 'a') as a;
for UNPIVOT, lateral view stack(…)"""
_AT_REST = "with a table, a seed or a reference topic"

REMEDIES = (
    (r"window function|OVER\b|QUALIFY", _NEWEST),
    (r"recursive", "join as many steps as there can be, or list all ancestors in a seed"),
    (r"ORDER|SORT|LIMIT|OFFSET|CLUSTER|DISTRIBUTE", _ORDER),
    (r"^a subquery that reads", f"a join, LEFT SEMI JOIN for IN or LEFT ANTI JOIN for NOT IN, {_AT_REST}"),
    (r"GROUPING|ROLLUP|CUBE", "one model for each grouping, with a GROUP BY of its own"),
    (r"TABLESAMPLE", "a condition on a hash of the key: where pmod(xxhash64(id), 100) < 5"),
    (r"PIVOT", _PIVOT),
    (r"MATCH_RECOGNIZE", "a Python function that keeps state by key: def name(key, rows, state)"),
    (r"LATERAL subquery", "a join, or LATERAL VIEW explode(…)"),
    (r"EXCEPT", f"LEFT ANTI JOIN {_AT_REST}"),
    (r"INTERSECT", f"LEFT SEMI JOIN {_AT_REST}"),
    (r"Values|VALUES", "a seed with these rows"),
)
"""What to write instead, by what a reason says; the first that fits."""

_OTHERWISE = "the same in plainer SQL, or a Python function: it runs as it is, but no rule looks into it"


def remedy(reason: str) -> str:
    """Return what to write instead of what this is the reason of, as one line."""
    found = next((said for pattern, said in REMEDIES if re.search(pattern, reason)), _OTHERWISE)
    return found.replace("\n", " ")


def unsupported(
    catalog: Catalog, compiled: Compiled, target_path: str = "target", models: Collection[str] | None = None
) -> tuple[Unsupported, ...]:
    """Return what is not understood, in these models (by id) or in all; each once."""
    found: dict[tuple[str, str, str], Unsupported] = {}
    for node in compiled.manifest.nodes.values():
        if models is not None and node.id not in models:
            continue
        for reason, start in _reasons(node, catalog.models.get(node.id)):
            line = compiled.sql[node.id].count("\n", 0, start) + 1 if node.id in compiled.sql else 0
            one = _one(node, reason, line, target_path)
            found.setdefault((node.id, one.reason, one.text), one)
    # Where the compiler tells the words of a reason, the plan's reason is the same once more.
    worded = {(each.model, each.reason) for each in found.values() if each.text}
    listed = [each for each in found.values() if each.text or (each.model, each.reason) not in worded]
    return tuple(sorted(listed, key=lambda each: (each.path, each.line)))


def _reasons(node: ManifestNode, spec: ModelSpec | None) -> Iterator[tuple[str, int]]:
    """Yield reasons with where the SQL begins that they are of."""
    yield from ((reason, 0) for reason in node.opaque)
    if spec is not None:
        for body in (*spec.query.ctes.values(), spec.query.body):
            for whole in _wholes(body):
                yield from ((reason, whole.start) for reason in whole.reasons)


def _wholes(body: Body) -> Iterator[OpaqueBody]:
    match body:
        case OpaqueBody():
            yield body
        case Union(sides=sides):
            for side in sides:
                yield from _wholes(side)
        case Select(relations=relations):
            for each in relations:
                if isinstance(each.input, Derived):
                    yield from _wholes(each.input.query)


def _one(node: ManifestNode, reason: str, line: int, target_path: str) -> Unsupported:
    place = _PLACE.fullmatch(reason)
    why = place["reason"] if place else reason
    return Unsupported(
        model=node.name,
        path=node.path,
        compiled_path=f"{target_path}/{artifact_path(node.compiled_path or '')}"
        if node.compiled_path
        else "",
        line=int(place["line"]) if place else line,
        reason=why,
        text=place["text"] if place else "",
        remedy=remedy(why),
    )
