"""Checks each model against its inputs once it is analyzed, and builds the catalog."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from copy import copy
from functools import partial
from itertools import islice

import msgspec

from millstream.compile.appends_only import check_appends_only
from millstream.compile.catalog import base_catalog, model_spec
from millstream.compile.deletions import check_deletions
from millstream.compile.file_layout import check_file_layout
from millstream.compile.lookups import check_lookups
from millstream.compile.node import Model
from millstream.compile.options import meaningless_state
from millstream.core.encoding import to_msgpack
from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.core.types import NULL, VARIANT, Decimal, Row, Type, types_within
from millstream.formats.registry import format_of
from millstream.outputs.kinds import VALID_FROM
from millstream.outputs.registry import Materialization
from millstream.plan.from_sql.catalog import Catalog, ModelSpec, PlanDiagnostic
from millstream.plan.from_sql.forms import check_forms
from millstream.plan.from_sql.model import ModelBuilder, build_model
from millstream.plan.from_sql.plan import relayed_traits, traits_for_readers, zone_of
from millstream.plan.from_sql.row_sources import rows_of
from millstream.plan.from_sql.ties import check_ties
from millstream.plan.from_sql.topics import can_relay, topic_node
from millstream.plan.from_sql.values import PlanContext, VersionStream
from millstream.plan.from_sql.versions import joins_of_all_versions, stored_versions, version_stream
from millstream.plan.nodes import Column, LoggedRows, Metering, Node, RowCheck, TraitsLeaf
from millstream.plan.traits import KnownTraits, Traits
from millstream.plan.unbounded import unbounded_state
from millstream.project.values import Project
from millstream.sql.query import Select, SqlQuery, SqlUnion
from millstream.sql.values import InputRelation
from millstream.stores.declaration import StoreDeclaration
from millstream.stores.registry import store_declaration


class ProjectPlanner:
    """The catalog and the traits of all relations so far."""

    def __init__(
        self,
        project: Project,
        relations: Mapping[NodeId, InputRelation],
        derived: Mapping[str, tuple[tuple[str, Expression], ...]],
    ) -> None:
        self.relations = relations
        self.catalog = base_catalog(project, relations, derived)
        self._row_fields = {
            name: frozenset(field.name.lower() for field in row.fields)
            for name, function in project.functions.items()
            if function.keyed and isinstance(row := function.parameters[1].type, Row)
        }
        self.tables: set[NodeId] = set()
        self.inlined: set[NodeId] = set()
        self.appended: set[NodeId] = set()
        self.versioned: set[NodeId] = {id_ for id_, topic in self.catalog.topics.items() if topic.versions}
        """Relations with a row for each version of a row."""
        self.stores: dict[NodeId, str] = {}
        """Of tables with a store of their own."""
        self.traits: dict[NodeId, Traits | None] = dict.fromkeys(self.catalog.seeds, Traits("static"))
        for id_, topic in self.catalog.topics.items():
            node = stored_versions(topic, at_rest=False) if topic.versions else topic_node(topic)
            self.traits[id_] = KnownTraits().of(node)
        for id_, source in self.catalog.row_sources.items():
            self.traits[id_] = KnownTraits().of(rows_of(source))

    def before(self, model: NodeId, relations: Mapping[NodeId, InputRelation]) -> ProjectPlanner:
        """Return a planner that does not know a model, with other relations."""
        other = copy(self)
        other.relations = relations
        for name in ("tables", "inlined", "appended", "versioned"):
            setattr(other, name, getattr(self, name) - {model})
        other.stores = {id_: store for id_, store in self.stores.items() if id_ != model}
        other.traits = {id_: traits for id_, traits in self.traits.items() if id_ != model}
        return other

    def check(
        self,
        model: Model,
        query: SqlQuery,
        extras: tuple[tuple[str, Expression], ...],
        checks: tuple[RowCheck, ...],
        metrics: tuple[Metering, ...],
        log: LoggedRows | None,
        model_options: Container[str],
    ) -> tuple[ModelSpec, Traits | None, list[PlanDiagnostic]]:
        """Return a model's entry in the catalog, its traits, and its errors.

        `model_options` are the options that the model itself sets.
        """
        spec = model_spec(
            model.file.name, model.config, query, self.relations[model.id], extras, checks, metrics, log
        )
        if any(self.traits.get(reference.id) is None for reference in model.references):
            return spec, None, []  # its inputs have errors
        known_traits = KnownTraits()
        built = build_model(spec, self._context(), known_traits)
        store = store_declaration(self._store_of_table(spec))
        diagnostics = built.diagnostics or [
            *check_stored_types(spec, store),
            *(check_appends_only(spec, store) or check_file_layout(spec, store)),
            *check_deletions(spec),
            *check_lookups(spec, built.root, self._store_of),
        ]
        if state := model.config.get("state"):
            steps = () if diagnostics else built.stateful_steps
            diagnostics = diagnostics + meaningless_state(
                spec, state, built.root, steps, set_by_model="state" in model_options
            )
        if diagnostics:
            return spec, None, diagnostics
        accepted = model.config.get("unbounded_state") == "accept"
        warnings = [] if accepted else unbounded_state(spec, built.stateful_steps)
        warnings = [*warnings, *joins_of_all_versions(spec, self.versioned)]
        warnings += check_ties(spec, partial(self._unique_by, spec))
        return spec, traits_for_readers(spec, known_traits.of(built.root)), warnings

    def _context(self) -> PlanContext:
        return PlanContext(
            self._input_node,
            self._can_rest,
            self.inlined.__contains__,
            self.appended.__contains__,
            self.catalog.keyed,
            self._relayed,
            self._store_of,
            zone_of(self.catalog),
            self._versions,
            self._row_fields,
        )

    def refused(self, model: Model, query: SqlQuery) -> list[PlanDiagnostic]:
        """Return constructs that a stream does not support, for a model with unknown columns."""
        if any(self.traits.get(reference.id) is None for reference in model.references):
            return []
        spec = model_spec(model.file.name, model.config, query, self.relations[model.id], (), ())
        builder = ModelBuilder(spec, self._context(), KnownTraits())
        check_forms(builder, query)
        return builder.diagnostics

    def add(self, model: Model) -> None:
        """Make a model available to later models."""
        self.traits[model.id] = model.traits
        stored = model.stored
        if stored.inlined:
            self.inlined.add(model.id)
        if stored.appends:
            self.appended.add(model.id)
        if stored.at_rest:
            self.tables.add(model.id)
            if stored.versions:
                self.versioned.add(model.id)
        if stored.store:
            self.stores[model.id] = stored.store

    def _unique_by(self, spec: ModelSpec, relation: NodeId) -> tuple[str, ...]:
        """Return the columns that identify a row of a relation at rest; none if they are unknown.

        An append-only table declares none: if it has those of the model that reads it, these count.
        """
        if relation in self.appended:
            return spec.keys
        keys = self._traits_of(relation).keys if self._can_rest(relation) else ()
        return (*keys, VALID_FROM) if keys and relation in self.versioned else keys

    def _can_rest(self, relation: NodeId) -> bool:
        return relation in self.tables or self.catalog.can_rest(relation)

    def _store_of(self, relation: NodeId) -> str:
        return self.stores.get(relation) or self.catalog.store_of(relation)

    def _store_of_table(self, spec: ModelSpec) -> str:
        return spec.materialization.store or self._store_of(spec.id)

    def _versions(self, relation: NodeId) -> VersionStream | None:
        return version_stream(self.catalog.topics.get(relation))

    def _input_node(self, relation: NodeId, at_rest: bool) -> Node:
        if not at_rest or relation in self.catalog.seeds:
            return self._seen(relation, self._traits_of(relation))
        return self._seen(relation, Traits("static", looks_up=relation))

    def _relayed(self, relation: NodeId) -> Node | None:
        columns = self._columns(relation)
        if relation not in self.inlined or not can_relay(columns):
            return None
        return self._seen(relation, relayed_traits(self._traits_of(relation)))

    def _traits_of(self, relation: NodeId) -> Traits:
        return self.traits[relation] or Traits("append")

    def _columns(self, relation: NodeId) -> tuple[Column, ...]:
        return tuple(Column(c.name, c.type, c.nullable) for c in self.relations[relation].columns)

    def _seen(self, relation: NodeId, traits: Traits) -> Node:
        return TraitsLeaf(
            relation=relation,
            columns=self._columns(relation),
            mode=traits.mode,
            keys=traits.keys,
            watermarks=traits.watermarks,
            below=traits.below,
            spacings=tuple((spacing.column, spacing.gap, spacing.window) for spacing in traits.spacings),
            changes_by_itself=traits.changes_by_itself,
            looks_up=traits.looks_up,
            label=relation.last_name,
        )


def encoded_catalog(catalog: Catalog, models: Iterable[Model]) -> bytes:
    """Return the catalog with all models in topological order; empty if one of them has errors."""
    specs: dict[NodeId, msgspec.Raw] = {}
    for model in models:
        if not model.spec:
            return b""
        specs[model.id] = msgspec.Raw(model.spec)
    return to_msgpack(msgspec.structs.replace(catalog, models=specs))


def check_stored_types(spec: ModelSpec, store: StoreDeclaration) -> list[PlanDiagnostic]:
    """Return the columns of a table or a sink that can't be written; `store` is where a table is."""
    stored = spec.materialization
    if not stored.stored_as:
        return []
    where = f"a record in {stored.sink.encoding}" if stored.sink is not None else store.title
    diagnostics: list[PlanDiagnostic] = []
    for column in spec.columns:
        wrong = next(_refused(stored, store, column.type), None)
        if wrong is None:
            continue
        which = f"is of type {wrong}" if wrong == column.type else f"contains values of type {wrong}"
        message = f"{where} can't hold '{column.name}', which {which}"
        start, stop = _span(spec, column.name)
        remedy = _remedy(column.name, column.type, wrong, by_name=not stop)
        option = "" if stop else "materialized"
        diagnostics.append(PlanDiagnostic("MS697", message, remedy, spec.id, start, stop, option))
    return diagnostics


def _refused(stored: Materialization, store: StoreDeclaration, type_: Type) -> Iterator[Type]:
    """Yield the types within a column's type that can't be written."""
    if (sink := stored.sink) is not None:
        unwritten = format_of(sink.encoding).unwritten
        yield from (inner for inner in types_within(type_) if inner in unwritten)
        return
    yield from (inner for inner in types_within(type_) if str(inner) in store.unstored)
    yield from (
        inner for inner in islice(types_within(type_), 1, None) if str(inner) in store.unstored_within
    )


def _remedy(name: str, type_: Type, wrong: Type, *, by_name: bool) -> str:
    """Say what to compute instead; `by_name` if no expression of the SQL is the column, such as below `*`."""
    digits = isinstance(wrong, Decimal)
    name_of_wrong = re.escape(str(wrong)) if digits else rf"\b{wrong}\b(?!:)"
    text = re.sub(name_of_wrong, "string", str(type_))
    if wrong == NULL:
        return f"give NULLs and empty values a type: cast(… as {text})"
    if wrong == VARIANT:
        return f"write to_json({name})" if type_ == VARIANT else "write to_json(…) of these values"
    number = "; or compute a number, such as datediff(b, a), or unix_micros(b) - unix_micros(a) of timestamps"
    cast = f"select * except ({name}), cast({name} as {text}) as {name}" if by_name else f"cast(… as {text})"
    return f"cast it to text: {cast}{number if wrong == type_ and not digits else ''}"


def _span(spec: ModelSpec, name: str) -> tuple[int, int]:
    """Return where the SQL computes a column, if its last SELECT, or the first of a UNION, lists it."""
    body = spec.query.body
    while isinstance(body, SqlUnion):
        body = body.sides[0]
    items = body.items if isinstance(body, Select) else ()
    expression = next((item.expression for item in items if item.name.lower() == name.lower()), None)
    return (0, 0) if expression is None else (expression.start, expression.stop)
