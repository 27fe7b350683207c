"""The content of each page, except for columns and texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from millstream.compile.manifest import ManifestNode
from millstream.core.node_id import NodeId
from millstream.docs import facts
from millstream.docs.index import SiteIndex
from millstream.docs.markdown import parse_markup
from millstream.docs.site_input import PlannedSite, SiteInput
from millstream.docs.values import Coverage, EntryResult, EntrySql, Fact, SiteEntry, SiteOperator, SitePage
from millstream.explain.queries import ExplainedQuery
from millstream.queries.values import Query as Physical


def build_pages(
    material: SiteInput,
    index: SiteIndex,
    last: Mapping[NodeId, EntryResult],
    reached: Mapping[NodeId, Coverage],
) -> tuple[SitePage, ...]:
    notes = _notes(material)
    explained = {query.name: query for query in material.queries}
    physical = {query.name: query for query in material.physical_queries}
    written: list[SitePage] = []
    for number, entry in enumerate(index.entries):
        if entry.id in material.manifest.nodes:
            node = material.manifest.nodes[entry.id]
            page = _of_node(node, number, index, notes.get(entry.id, ()))
        elif entry.kind == "function":
            page = _of_function(material, entry)
        else:
            page = _of_query(explained[entry.name], physical[entry.name], material.planned)
        written.append(replace(page, result=last.get(entry.id), coverage=reached.get(entry.id)))
    return tuple(written)


def _of_node(node: ManifestNode, number: int, index: SiteIndex, notes: Iterable[str]) -> SitePage:
    checks = node.kind in {"test", "unit_test"}
    return SitePage(
        about=parse_markup(node.description),
        facts=tuple(facts.of_test(node)) if checks else (),
        config=() if checks else facts.of_config(node.config),
        meta=() if checks else facts.of_mapping(node.meta),
        tests=index.tests.get(number, ()),
        functions=index.of(*(NodeId("function", name) for name in node.functions)),
        notes=tuple(notes),
    )


def _of_function(material: SiteInput, entry: SiteEntry) -> SitePage:
    function = material.manifest.functions[entry.name]
    calls = material.planned.explanation.calls if material.planned else ()
    return SitePage(
        about=parse_markup(function.description),
        facts=(
            Fact("signature", function.signature),
            *(
                Fact("runs", f"{call.runs}, on {call.rows}: {call.text}")
                for call in calls
                if call.function == entry.name
            ),
        ),
    )


def _of_query(query: ExplainedQuery, physical: Physical, planned: PlannedSite | None) -> SitePage:
    assert planned is not None
    partitions = planned.topology.catalog.target.get("shuffle_partitions", 200)
    operators = (
        SiteOperator(operator.name, operator.kind, tuple(Fact(name, text) for name, text in operator.facts))
        for operator in physical.signature.operators
    )
    return SitePage(facts=tuple(facts.of_query(query, partitions)), state=tuple(operators))


def _notes(material: SiteInput) -> Mapping[NodeId, tuple[str, ...]]:
    by_id: dict[NodeId, list[str]] = {}
    for id_, node in material.manifest.nodes.items():
        by_id[id_] = [f"Opaque SQL: {reason}" for reason in node.opaque]
    if material.planned:
        for unsupported in material.planned.about.unsupported:
            by_id.setdefault(NodeId("model", unsupported.model), []).append(f"Instead: {unsupported.remedy}")
        for separation in material.planned.about.separations:
            others = f" with {', '.join(separation.others)}" if separation.others else ""
            by_id.setdefault(NodeId("model", separation.model), []).append(
                f"Does not share a query{others}: {separation.why}"
            )
    return {id_: tuple(notes) for id_, notes in by_id.items()}


def collect_sql(material: SiteInput, index: SiteIndex) -> tuple[EntrySql, ...]:
    sql = {query.name: query.sql for query in material.queries}
    return tuple(
        EntrySql(
            material.written.get(entry.id, ""),
            material.compiled.get(entry.id, ""),
            sql.get(entry.name, "") if entry.kind == "query" else "",
        )
        for entry in index.entries
    )
