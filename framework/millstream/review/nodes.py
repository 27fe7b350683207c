"""Compares the nodes of two versions; models by their meaning."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from millstream.compile.manifest import ManifestNode
from millstream.core.node_id import NodeId
from millstream.project.settings import read_settings
from millstream.review.causes import Causes, Comparison, MeaningChange, compare_meanings
from millstream.review.columns import column_changes
from millstream.review.edited_lines import edited_lines
from millstream.review.inputs import input_changes, other_changes, row_retention
from millstream.review.readers import ColumnReaders
from millstream.review.values import ColumnChange, EditedLine, NodeChange, Part
from millstream.review.version import ReviewedVersion
from millstream.review.wording import options_sentences, spec_sentences, sql_sentences
from millstream.sameness.row_meaning import ModelMeaning
from millstream.sameness.unchanged_models import SameRows

_TEXTS_ONLY = "its file changed; without the older plan, the effect on its rows is unknown"


class NodeComparison:
    def __init__(self, old: ReviewedVersion, new: ReviewedVersion) -> None:
        self.old = old
        self.new = new
        self._readers = ColumnReaders(old.manifest), ColumnReaders(new.manifest)
        self._edited: dict[NodeId, NodeChange] = {}
        self._reshaped: set[NodeId] = set()
        """Models with changed columns."""
        self._comparison: Comparison | None = None

    @cached_property
    def same_rows(self) -> SameRows:
        """The models with the same rows in two versions that both have a plan."""
        assert self.old.topology
        assert self.new.topology
        old, new = self.old.topology, self.new.topology
        return SameRows((old.catalog, old.roots), (new.catalog, new.roots))

    def changes(self) -> tuple[NodeChange, ...]:
        """Return the nodes that changed, sorted: edited ones before those that are only affected."""
        inputs = list(input_changes(self.old, self.new, self._readers))
        self._edited = {change.id: change for change in inputs}
        if self.old.topology and self.new.topology:
            self._comparison = compare_meanings(
                (self.old.manifest, self.old.topology),
                (self.new.manifest, self.new.topology),
                Causes(self._edited),
                self.same_rows,
            )
        changes = [*inputs, *self._models(), *other_changes(self.old, self.new)]
        return tuple(
            sorted(changes, key=lambda change: (change.status == "affected", change.kind, change.id))
        )

    # -- models

    def _models(self) -> Iterator[NodeChange]:
        before, after = self.old.nodes_of("model"), self.new.nodes_of("model")
        renamed = self._renamed(before, after)
        for id_, node in before.items():
            if id_ not in after and id_ not in renamed.values():
                yield self._removed(node)
        order = self.new.topology.catalog.models if self.new.topology else after
        for id_ in order:
            node = after[id_]
            if id_ in renamed:
                old = before[renamed[id_]]
                yield NodeChange(
                    id=id_, kind="model", status="renamed", path=node.path, old_id=str(old.id),
                    parts=("relation",), what=(f"was called {old.name}; its rows are the same",),
                )  # fmt: skip
            elif id_ not in before:
                yield NodeChange(id=id_, kind="model", status="added", path=node.path, what=(_stored(node),))
            elif change := self._model(before[id_], node):
                if "contract" in change.parts:
                    self._reshaped.add(id_)
                yield change

    def _removed(self, node: ManifestNode) -> NodeChange:
        readers = self._readers[0]
        below = readers.below(node.id)
        exposures = readers.exposures(node.id, node.name, below)
        what = [_stored(node).replace("writes", "wrote").replace("is a", "was a")]
        if exposures:
            what.append(f"was read by {', '.join(exposures)}")
        return NodeChange(
            id=node.id, kind="model", status="removed", path=node.path, what=tuple(what), exposures=exposures
        )

    def _renamed(
        self, before: dict[NodeId, ManifestNode], after: dict[NodeId, ManifestNode]
    ) -> dict[NodeId, NodeId]:
        """Pair new models with removed ones of the same meaning."""
        if self._comparison is None:
            return {}
        was = {
            _key(meaning, before[id_]): id_
            for id_, meaning in self._comparison.before.by_sources.items()
            if id_ not in after and id_ in before
        }
        renamed: dict[NodeId, NodeId] = {}
        for id_, meaning in self._comparison.after.by_sources.items():
            if id_ not in before and (old := was.pop(_key(meaning, after[id_]), None)):
                renamed[id_] = old
        return renamed

    def _model(self, old: ManifestNode, new: ManifestNode) -> NodeChange | None:
        comparison = self._comparison
        meaning = comparison.changes.get(new.id, MeaningChange()) if comparison else MeaningChange()
        columns = column_changes(old, new, self._readers, comparison)
        sentences = self._sentences(old, new)
        if comparison is None and old.checksum != new.checksum and not columns:
            sentences["body"] = [_TEXTS_ONLY]
        parts = self._parts(old, new, meaning, columns, sentences)
        what = [sentence for texts in sentences.values() for sentence in texts]
        if not (parts or what or columns or meaning.changed):
            return None
        if parts == {"persisted_descriptions"} and not meaning.changed:
            what = ["its descriptions changed"]
        only_affected = not what and not parts - {"persisted_descriptions"}
        return NodeChange(
            id=new.id,
            kind="model",
            status="affected" if only_affected else "changed",
            path=new.path,
            stored=_stored_as(new),
            parts=tuple(sorted(parts)),
            what=tuple(what),
            rows=bool(meaning.rows) or row_retention(old) != row_retention(new),
            because=self._because(new, meaning, parts),
            columns=columns,
            edited_lines=() if only_affected else self._model_lines(old, new, parts),
        )

    def _because(self, new: ManifestNode, meaning: MeaningChange, parts: set[Part]) -> tuple[NodeId, ...]:
        causes = set(meaning.causes)
        if "contract" in parts and not causes:
            # Its columns changed with those of the relations that it reads.
            causes.update(id_ for id_ in new.depends_on if id_ in self._reshaped)
        return tuple(sorted(causes - {new.id}))

    def _model_lines(self, old: ManifestNode, new: ManifestNode, parts: set[Part]) -> tuple[EditedLine, ...]:
        lines = edited_lines(self.old.root, self.new.root, old.path, new.path)
        return lines or (self._shared_lines() if parts & {"macros", "configs", "relation"} else ())

    def _sentences(self, old: ManifestNode, new: ManifestNode) -> dict[str, list[str]]:
        if not (self.old.topology and self.new.topology):
            config = {"configs": options_sentences(old.config, new.config)}
            return config if old.config != new.config else {}
        was = self.old.topology.catalog.models[old.id]
        now = self.new.topology.catalog.models[new.id]
        sentences = spec_sentences(was, now)
        meaning = self._comparison.changes.get(new.id) if self._comparison else None
        if meaning and meaning.extras:
            sentences["configs"] += [f"`{name}` is computed differently" for name in meaning.extras]
        if meaning and meaning.sql_changed and meaning.changed:
            sentences["body"] = sql_sentences(was.query, now.query) if new.id in meaning.rows else []
        return sentences

    def _parts(
        self,
        old: ManifestNode,
        new: ManifestNode,
        meaning: MeaningChange,
        columns: tuple[ColumnChange, ...],
        sentences: dict[str, list[str]],
    ) -> set[Part]:
        parts: set[Part] = {
            part for part in ("relation", "contract", "configs", "body") if sentences.get(part)
        }
        called = any(cause.kind == "function" for cause in meaning.causes)
        calls_edited = called and any(NodeId("function", name) in self._edited for name in new.functions)
        by_itself = new.id in meaning.causes and not meaning.only_kept_rows
        if meaning.changed and (by_itself or calls_edited):
            parts.add("body")
        if any(column.kind != "meaning" for column in columns):
            parts.add("contract")
        if "body" in parts and old.checksum == new.checksum and new.id in meaning.causes:
            parts.add("macros")
        if _described(old) != _described(new):
            parts.add("persisted_descriptions")
        return parts

    def _shared_lines(self) -> tuple[EditedLine, ...]:
        """Return edited lines of files that affect several models: macros, variables."""
        if self.new.root is None:
            return ()
        root = self.new.root
        settings, _ = read_settings(root)
        macros = [path for folder in settings.macro_paths for path in (root / folder).rglob("*.sql")]
        paths = (*sorted(path.relative_to(root).as_posix() for path in macros), "pyproject.toml")
        by_file = [edited_lines(self.old.root, root, path, path) for path in paths]
        return tuple(line for lines in by_file for line in lines)[:3]


def _stored_as(node: ManifestNode) -> str:
    """Return the topic or table of a model; empty for a view."""
    stored = node.materialization
    return f"{stored.stored_as} {stored.stored_name(node.name)}" if stored and stored.stored_as else ""


def _stored(node: ManifestNode) -> str:
    kind, _, name = _stored_as(node).partition(" ")
    return f"writes {kind} `{name}`" if kind else "is a view"


def _key(meaning: ModelMeaning, node: ManifestNode) -> tuple[object, ...]:
    return meaning.rows, tuple(sorted(meaning.columns.items())), type(node.materialization)


def _described(node: ManifestNode) -> tuple[str, tuple[str, ...]]:
    return node.description, tuple(column.description for column in node.columns)
