"""The entries of a site and their numbers: one for each node, Python function and query."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from millstream.compile.manifest import ManifestFunction, ManifestNode
from millstream.core.node_id import NodeId
from millstream.docs.markdown import first_sentence, parse_markup
from millstream.docs.site_input import SiteInput
from millstream.docs.values import EntryResult, SiteEntry
from millstream.explain.queries import ExplainedQuery
from millstream.sources.registry import source_declaration

_ORDER = ("source", "seed", "model", "exposure", "metric", "function", "query", "test", "unit_test")
"""The order of entries: pages that are opened often share files; tests come last."""
_STORED = {"source": "topic", "seed": "seed"}


class SiteIndex(Struct, frozen=True):
    entries: tuple[SiteEntry, ...]
    numbers: Mapping[NodeId, int]
    """By id."""
    tests: Mapping[int, tuple[int, ...]]
    """The tests of an entry."""
    checked: Mapping[int, str] = {}
    """The column that a test checks, by the test."""

    def of(self, *ids: NodeId) -> tuple[int, ...]:
        return tuple(self.numbers[id_] for id_ in ids if id_ in self.numbers)


def build_index(material: SiteInput, last: Mapping[NodeId, EntryResult]) -> SiteIndex:
    nodes, functions = material.manifest.nodes, material.manifest.functions
    queries = {query.name: query for query in material.queries}
    kinds: dict[NodeId, str] = {id_: node.kind for id_, node in nodes.items()}
    kinds |= {NodeId("function", name): "function" for name in functions}
    kinds |= {NodeId("query", name): "query" for name in queries}
    ids = sorted(
        (id_ for id_, kind in kinds.items() if kind in _ORDER), key=lambda i: (_ORDER.index(kinds[i]), i)
    )
    numbers = {id_: number for number, id_ in enumerate(ids)}
    tests = _tests(nodes, numbers)
    queries_of = _queries_of(material, numbers)
    stateful = _stateful(material)
    entries: list[SiteEntry] = []
    for number, id_ in enumerate(ids):
        if id_ in nodes:
            count = len(tests.get(number, ()))
            entries.append(
                _of_node(nodes[id_], numbers, queries_of.get(id_, ()), count, state=id_ in stateful)
            )
        elif kinds[id_] == "function":
            entries.append(_of_function(functions[id_.name]))
        else:
            name = id_.name
            entries.append(_of_query(queries[name], numbers, state=id_ in stateful))
    checked = {
        numbers[id_]: str(node.meta["column"])
        for id_, node in nodes.items()
        if node.kind == "test" and node.meta.get("column")
    }
    with_last = tuple(replace(e, last=last[e.id].status) if e.id in last else e for e in entries)
    return SiteIndex(with_last, numbers, tests, checked)


def _stateful(material: SiteInput) -> frozenset[NodeId]:
    """Return the ids of queries and models that keep state."""
    if material.planned is None:
        return frozenset()
    queries = (NodeId("query", query.name) for query in material.physical_queries if query.signature.stateful)
    operators = (node for node in material.planned.explanation.optimized.nodes if node.state)
    return frozenset((*queries, *(NodeId("model", model) for node in operators for model in node.models)))


def _tests(nodes: Mapping[NodeId, ManifestNode], numbers: Mapping[NodeId, int]) -> dict[int, tuple[int, ...]]:
    by_entry: dict[int, list[int]] = {}
    for id_, node in nodes.items():
        if node.kind in {"test", "unit_test"}:
            for parent in dict.fromkeys(node.depends_on[:1] if node.test else node.depends_on):
                if parent in numbers:
                    by_entry.setdefault(numbers[parent], []).append(numbers[id_])
    return {number: tuple(tests) for number, tests in by_entry.items()}


def _queries_of(material: SiteInput, numbers: Mapping[NodeId, int]) -> dict[NodeId, tuple[int, ...]]:
    """Return the queries that compute each model or store each reference topic."""
    by_target: dict[NodeId, list[int]] = {}
    for query in material.physical_queries:
        number = numbers.get(NodeId("query", query.name))
        if number is not None:
            for target in dict.fromkeys([*query.models, *query.stored]):
                by_target.setdefault(target, []).append(number)
    return {id_: tuple(dict.fromkeys(queries)) for id_, queries in by_target.items()}


def _of_node(
    node: ManifestNode, numbers: Mapping[NodeId, int], queries: tuple[int, ...], tests: int, *, state: bool
) -> SiteEntry:
    stored = node.materialization.word if node.materialization else str(node.config.get("type") or "")
    if node.kind == "source":
        kind = source_declaration(node.config.get("kind", "topic")).title
        stored = "reference topic" if node.config.get("table") else kind
    return SiteEntry(
        id=node.id,
        kind=node.kind,
        name=node.name if node.kind != "source" else node.id.name,
        path=node.path,
        folder="/".join(node.fqn[1:-1]) if node.kind == "model" else "",
        stored=stored or _STORED.get(node.kind, node.test),
        tags=node.tags,
        owner=node.owner or "",
        about=first_sentence(parse_markup(node.description)),
        parents=tuple(numbers[parent] for parent in node.depends_on if parent in numbers),
        queries=queries,
        state=state,
        columns=len(node.columns),
        tests=tests,
    )


def _of_function(function: ManifestFunction) -> SiteEntry:
    return SiteEntry(
        id=NodeId("function", function.name),
        kind="function",
        name=function.name,
        path=function.path,
        stored="table function" if function.table else "Python function",
        about=first_sentence(parse_markup(function.description)),
    )


def _of_query(query: ExplainedQuery, numbers: Mapping[NodeId, int], *, state: bool) -> SiteEntry:
    models = [numbers[NodeId("model", name)] for name in query.models if NodeId("model", name) in numbers]
    about = f"Computes {len(models)} models." if len(models) != 1 else f"Computes {query.models[0]}."
    if query.keeps:
        about = f"Stores {query.stored_rows} as a table."
    elif not models:
        about = "Writes records that can't be decoded."
    return SiteEntry(
        id=NodeId("query", query.name),
        kind="query",
        name=query.name,
        stored=query.kind,
        about=about,
        parents=tuple(models),
        state=state,
    )
