"""What an edit means: the models and tests that it concerns, and what it does to what runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from millstream.cli.dev.before import LastRound
from millstream.cli.dev.events import EditReviewed
from millstream.compile.graph import build_graph
from millstream.compile.manifest import Compiled, ManifestNode
from millstream.core.encoding import to_builtins
from millstream.core.node_id import NodeId
from millstream.queries.topology import read_hints
from millstream.review.compare import review_versions
from millstream.review.rebuild_cost import collect_figures
from millstream.review.values import NodeChange, Review
from millstream.review.version import ReviewedVersion, version_of

if TYPE_CHECKING:
    from millstream.cli.options import CommonOptions
    from millstream.plan.from_sql.catalog import Catalog

_VERBS = {"new": "starts", "removed": "ends"}


class Edit(Struct, frozen=True, eq=False):
    before: ReviewedVersion
    review: Review
    """Compared with before."""
    changed: frozenset[NodeId]
    """Models with other rows or columns."""
    shown: tuple[NodeId, ...]
    """These models and those of which only the text differs; what was edited first."""
    removed: tuple[NodeId, ...]
    tests: tuple[ManifestNode, ...]
    """The unit tests of what changed, those that changed, and those that failed before."""

    def identity(self, catalog: Catalog, model: NodeId) -> Collection[str]:
        """Return the columns whose values say which row of before a row is."""
        keys = upsert_keys(catalog, model)
        change = next((node for node in self.review.nodes if node.id == model), None)
        if keys or change is None:
            return keys
        differing = {column.name for column in change.columns}
        return [column.name for column in catalog.models[model].columns if column.name not in differing]


def upsert_keys(catalog: Catalog, model: NodeId) -> tuple[str, ...]:
    from millstream.plan.from_sql.plan import traits_of_models

    traits = traits_of_models(catalog).get(model)
    return traits.keys if traits is not None and traits.mode == "upsert" else ()


def edit_since(last: LastRound, compiled: Compiled, root: Path) -> Edit:
    before, now = last.reviewed, version_of("the working tree", compiled, root)
    manifest = now.manifest
    review = review_versions(
        before, now, collect_figures(manifest, read_hints(compiled).rows_per_second, None)
    )
    nodes = compiled.manifest.nodes
    changes = {node.id: node for node in review.nodes}
    models = {id_: change for id_, change in changes.items() if change.kind == "model"}
    changed = frozenset(id_ for id_, change in models.items() if id_ in nodes and _has_other_rows(change))
    order = build_graph(nodes).order
    were = before.manifest.nodes
    rewritten = {id_ for id_ in order if id_ in were and nodes[id_].checksum != were[id_].checksum}
    rewritten |= {id_ for id_ in changed if models[id_].status != "affected"}
    edited = [id_ for id_ in order if id_.kind == "model" and id_ in rewritten]
    shown = dict.fromkeys([*edited, *(id_ for id_ in order if id_ in changed)])
    tests = tuple(
        node
        for node in nodes.values()
        if node.kind == "unit_test"
        and (node.id in changes or str(node.id) in last.failed or changed.intersection(node.depends_on))
    )
    removed = tuple(id_ for id_, change in models.items() if change.status == "removed")
    return Edit(before, review, changed, tuple(shown), removed, tests)


def _has_other_rows(change: NodeChange) -> bool:
    return change.rows or bool(change.columns) or change.status == "added" or "body" in change.parts


def review_event(common: CommonOptions, root: Path, edit: Edit) -> EditReviewed:
    """Say what the edit does to what runs on the target, or to the project as it was."""
    review = _deployment(common, root) or edit.review
    return EditReviewed(
        against=review.against.name,
        summary=summarize(review),
        rebuilds=tuple(query.name for query in review.queries if "rebuild" in query.stages),
        keeps=review.same_queries,
        queries=tuple(to_builtins(query) for query in review.queries),
        changed=tuple(id_.shown_name for id_ in edit.shown if id_ in edit.changed),
        removed=tuple(id_.shown_name for id_ in edit.removed),
    )


def _deployment(common: CommonOptions, root: Path) -> Review | None:
    """Return the review against what runs, if anything does that is known without Spark."""
    from millstream.cli.deployment import plan_deployment
    from millstream.cli.jobs import compiled_job
    from millstream.cli.options import SelectionRequest, StateOptions
    from millstream.cli.project import project_of
    from millstream.project.folders import checkpoints_of, local_path

    checkpoints = local_path(checkpoints_of(project_of(common, root).target, root))
    if checkpoints is None or not checkpoints.is_dir():
        return None
    compiled, job, _ = compiled_job(common, root, SelectionRequest(), StateOptions())
    deployment = plan_deployment(common, root, compiled, job)
    return None if deployment.first else deployment.review


def summarize(review: Review) -> str:
    """Say what happens to queries, such as `rebuilds 2 queries, keeps 5`."""
    verbs = Counter(
        "rebuilds" if "rebuild" in query.stages else _VERBS.get(query.status, "continues")
        for query in review.queries
        if query.status != "same"
    )
    counts = {**verbs, "keeps": review.same_queries}
    first, *others = counts.items()
    return ", ".join([f"{first[0]} {_queries(first[1])}", *(f"{verb} {number}" for verb, number in others)])


def _queries(number: int) -> str:
    return f"{number:,} {'query' if number == 1 else 'queries'}"
