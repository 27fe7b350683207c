"""Builds the nodes of one model, and reports steps that can't be maintained over a stream."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec.structs import replace

from millstream.core.expressions import Read
from millstream.core.node_id import NO_NODE, NodeId
from millstream.outputs.kinds import KEEP
from millstream.outputs.registry import Materialization
from millstream.plan.from_sql.catalog import DedupeSpec, ModelSpec, PlanDiagnostic
from millstream.plan.from_sql.event_times import check_event_times
from millstream.plan.from_sql.forms import check_forms
from millstream.plan.from_sql.keys import checked_keys, in_full_if_unique
from millstream.plan.from_sql.maintaining import (
    AS_TABLE,
    as_cte,
    build_maintained,
    can_be_maintained,
    can_read_stored_rows,
    changing_call,
    changing_rows,
    inputs_as_tables,
    inputs_in_motion,
    is_view_over_tables,
    misplaced_option,
    needs_rows_at_rest,
    only_refused,
    reads_unstreamed,
)
from millstream.plan.from_sql.record_parts import with_place
from millstream.plan.from_sql.scope import identity_items
from millstream.plan.from_sql.select import plan_select
from millstream.plan.from_sql.topics import without_watermarks
from millstream.plan.from_sql.values import BuiltModel, PlanContext, QueryCut, Span, span_offsets
from millstream.plan.from_sql.versions import plan_versions
from millstream.plan.nodes import (
    Aggregate,
    Dedupe,
    Join,
    Node,
    Opaque,
    Project,
    Repartition,
    SeedScan,
    Stateful,
    TemporalJoin,
    Union,
    Watermark,
)
from millstream.plan.streaming import STATES, SeparateQueryError
from millstream.plan.traits import (
    KeyLostError,
    KnownTraits,
    Mode,
    NotIncrementalError,
    Traits,
    projected_keys,
    traits_in_one_query,
)
from millstream.plan.unbounded import StatefulStep, join_bound
from millstream.sql.query import (
    Body,
    Cte,
    DerivedTable,
    GeneratedRows,
    Input,
    OpaqueBody,
    Scan,
    Select,
    SqlUnion,
)


def build_model(spec: ModelSpec, context: PlanContext, known_traits: KnownTraits) -> BuiltModel:
    """Return a model over its inputs, with relay topics before steps that need a separate query.

    A table over tables reads them row by row where that is right, and else is kept equal to its SQL. Readers
    of append-only tables compute their rows, as those of views, unless that is impossible or not wanted.
    """
    if misplaced := misplaced_option(spec, context, known_traits):
        return replace(_streamed(spec, context, known_traits), diagnostics=[misplaced])
    streamed = None
    if not spec.materialization.refresh:
        streamed = _streamed(spec, context, known_traits)
        if not _at_rest(spec, context, known_traits, streamed) and not needs_rows_at_rest(
            spec, streamed.diagnostics
        ):
            return streamed if streamed.diagnostics else _kept_equal(spec, context, known_traits, streamed)
    if can_be_maintained(spec, context):
        return build_maintained(spec, context, known_traits)
    if can_read_stored_rows(spec, context) and (streamed is None or streamed.diagnostics):
        maintained = build_maintained(spec, context, known_traits)
        if streamed is None or not maintained.diagnostics or only_refused(streamed.diagnostics):
            return maintained
    streamed = streamed or _streamed(spec, context, known_traits)
    remedy = inputs_as_tables(spec, context, known_traits)
    if not remedy:
        return streamed
    others = inputs_in_motion(spec, context)
    return replace(streamed, diagnostics=[replace(streamed.diagnostics[0], help=remedy, others=others)])


def _at_rest(spec: ModelSpec, context: PlanContext, known_traits: KnownTraits, streamed: BuiltModel) -> bool:
    """Return whether a table over tables can't follow their changes row by row.

    If a seed comes first in FROM, the tables joined to it are only looked up: nothing would arrive.
    """
    static = not streamed.diagnostics and known_traits.of(streamed.root).mode == "static"
    needed = static or changing_call(spec) is not None or reads_unstreamed(spec, context)
    return needed and can_be_maintained(spec, context)


def _kept_equal(
    spec: ModelSpec, context: PlanContext, known_traits: KnownTraits, streamed: BuiltModel
) -> BuiltModel:
    """Return a model that runs row by row, with what is wrong if its rows change by themselves."""
    changing = changing_rows(spec, context, known_traits, streamed.root)
    return replace(streamed, diagnostics=changing) if changing else streamed


def _streamed(spec: ModelSpec, context: PlanContext, known_traits: KnownTraits) -> BuiltModel:
    builder = ModelBuilder(spec, context, known_traits)
    root = builder.build_with_keys()
    if not builder.cuts:
        return BuiltModel(root, builder.diagnostics, (), tuple(builder.stateful_steps))
    again = ModelBuilder(spec, context, known_traits, builder.behind_cuts())
    root = again.build_with_keys()
    for cut in again.cuts:
        again.refuse(cut)
    return BuiltModel(root, again.diagnostics, tuple(again.relays), tuple(again.stateful_steps))


_OF_ONE_RECORD = frozenset(("watermark", "dedupe", "temporal join"))
"""The steps above which each row still comes from one record of a stream."""


class ModelBuilder:
    """Builds one model; `problems` are errors, `cuts` are steps that can't share a query."""

    def __init__(
        self,
        spec: ModelSpec,
        context: PlanContext,
        known_traits: KnownTraits,
        relays: Collection[NodeId] = (),
    ) -> None:
        self.spec = spec
        self.around = context
        self.traits = known_traits
        self.ctes: dict[str, Node] = {}
        self.diagnostics: list[PlanDiagnostic] = []
        self.cuts: list[QueryCut] = []
        self.stateful_steps: list[StatefulStep] = []
        """Its steps with state."""
        self.relays: dict[NodeId, Node] = {}
        """The nodes of views that are read from relay topics."""
        self._to_relay = frozenset(relays)
        self._provided: dict[int, tuple[Node, NodeId]] = {}
        """The relations that it reads, by the `id` of their node."""

    def build_with_keys(self) -> Node:
        """Return the model's relation with the keys of its output."""
        root = self.build()
        if not self.diagnostics:
            self._check_streams(root)
        if not self.diagnostics:
            root = checked_keys(self, root, in_full=can_be_maintained(self.spec, self.around))
        if not self.diagnostics:
            check_event_times(self, root, self.stateful_steps)
        if not self.diagnostics:
            self._check_headers(root)
        return root if self.diagnostics else plan_versions(self, root)

    def _check_streams(self, root: Node) -> None:
        """Refuse to store rows that never change: no query would run."""
        stored = self.spec.materialization
        static = stored.stored_as and self.traits.of(root).mode == "static"
        if static and not can_be_maintained(self.spec, self.around):
            message, remedy = self._at_rest(stored, root)
            refused = PlanDiagnostic("MS694", message, remedy, self.spec.id, option="materialized")
            views = tuple(filter(self.around.inlined, self.spec.reads))
            self.diagnostics.append(replace(refused, others=views))

    def _check_headers(self, root: Node) -> None:
        """Refuse to pass on headers where a row does not come from a single record."""
        stored = self.spec.materialization
        if not stored.keep_headers:
            return
        steps = [kind for kind in self.traits.of(root).below if kind not in _OF_ONE_RECORD]
        if not steps:
            return
        what = "a row of a table" if steps[0] == "table changes" else f"a row above a {steps[0]}"
        message = f"'headers' can't be '{KEEP}': {what} does not come from a single record"
        remedy = (
            "select what readers need of them below that step, such as filter(_headers, h -> h.key = 'trace')"
            "[0].value as trace, and set headers={'trace': 'trace'}"
        )
        self.report_error("MS557", message, remedy, option="headers")

    def _at_rest(self, stored: Materialization, root: Node) -> tuple[str, str]:
        """Return why no query of a model would run, and what to do about it."""
        name, read = self.spec.name, self.spec.reads
        names = ", ".join(f"'{relation.last_name}'" for relation in read)
        if table := self.traits.of(root).looks_up.last_name:
            as_table = "make it a table with config(materialized='table', unique_key='…')"
            if stored.table is not None:
                message = f"'{name}' only looks up '{table}', so nothing arrives that it could store"
                return message, as_cte(*filter(self.around.inlined, read))
            message = f"'{name}' reads only rows at rest ({names}), so nothing arrives that it could send"
            return message, f"{as_table}, and send its rows with a sink that selects from it"
        what = f"only rows that never change ({names})" if read else "no topic and no table"
        message = f"'{name}' reads {what}, so there is nothing to store as it arrives"
        return message, "set materialized='view': models that read it compute its rows"

    def build(self) -> Node:
        """Return the model's relation, before it is stored."""
        query = self.spec.query
        check_forms(self, query)
        for name, body in query.ctes.items():
            self.ctes[name] = self._labelled(self.body(body), name)
        node = self.body(query.body)
        node = self._configured(node)
        return self._labelled(node, self.spec.name)

    def body(self, body: Body) -> Node:
        match body:
            case Select():
                return plan_select(self, body)
            case SqlUnion():
                return self._union(body)
            case OpaqueBody():
                return self._opaque(body)

    # -- inputs

    def relation(self, relation: NodeId, *, at_rest: bool) -> Node:
        if relation in self._to_relay and relation not in self.relays:
            relayed = self.around.relayed(relation)
            if relayed is not None:
                self.relays[relation] = relayed
        if relation in self.relays:
            return self.relays[relation]
        node = self.around.provide(relation, at_rest and self.around.can_rest(relation))
        self._provided[id(node)] = (node, relation)
        return node

    def behind_cuts(self) -> set[NodeId]:
        """Return the relations whose steps prevent one of the model's own from running in their query."""
        relations: set[NodeId] = set()
        for cut in self.cuts:
            pending = [*cut.step.inputs]
            while pending:
                node = pending.pop()
                if id(node) not in self._provided:
                    pending += node.inputs
                elif cut.error.below & {*self.traits.of(node).below}:
                    relations.add(self._provided[id(node)][1])
        return relations

    def refuse(self, cut: QueryCut) -> None:
        """Report a step that can't be preceded by a relay topic."""
        below = ", ".join(sorted(cut.error.below))
        message = f"a {cut.error.above} can't share a query with the {below} that it reads: {cut.error.why}"
        remedy = "move the inner step to a separate model: a topic then connects the two"
        self.report_error("MS529", message, remedy, *span_offsets(cut.span))

    def streams(self, from_input: Input) -> bool:
        match from_input:
            case Scan(relation=relation):
                return (
                    not self.around.can_rest(relation)
                    and self.mode(self.relation(relation, at_rest=False)) != "static"
                )
            case Cte(name=name):
                return self.mode(self.ctes[name]) != "static"
            case DerivedTable(query=query):
                return any(self._body_streams(query))
            case GeneratedRows():
                return False

    def _body_streams(self, body: Body) -> list[bool]:
        match body:
            case Select():
                return [self.streams(relation.input) for relation in body.relations]
            case SqlUnion():
                return [streams for side in body.sides for streams in self._body_streams(side)]
            case OpaqueBody():
                return [True]

    def one_row(self) -> Node:
        return self.check(SeedScan(relation=NO_NODE, label="one row"), None)

    def check(
        self, node: Node, span: Span | None, names: Mapping[str, str] | None = None, option: str = ""
    ) -> Node:
        try:
            self.traits.of(node)
            self._check_clocks(node)
        except NotIncrementalError as error:
            if isinstance(error, KeyLostError):
                error = error.written(names or {})
            self.report_error(error.code, error.message, self._remedy(error), *span_offsets(span), option)
            self.traits.set(node, Traits("append"))
        except SeparateQueryError as error:
            self.cuts.append(QueryCut(node, error, span))
            self.traits.set(
                node, traits_in_one_query(node, [self.traits.of(input_node) for input_node in node.inputs])
            )
        return node

    def _remedy(self, error: NotIncrementalError) -> str:
        """Return the remedy, with the times of the join if it is in the model itself."""
        joins = [
            join_bound(step.node, step.inputs, step.times, "ON of the join")
            for step in self.stateful_steps
            if isinstance(step.node, Join)
        ]
        if error.code == "MS528" and any(joins):
            return [*filter(None, joins)][-1]
        together = any(form.kind in {"grouping", "distinct"} for form in self.spec.query.forms)
        if error.code in {"MS510", "MS511"} and together and is_view_over_tables(self.spec, self.around):
            return AS_TABLE
        keys = self.spec.given_keys
        if isinstance(error, KeyLostError) and keys and can_be_maintained(self.spec, self.around):
            return error.remedy + in_full_if_unique(keys)
        return error.remedy

    def _check_clocks(self, node: Node) -> None:
        """Reject a key of local times if clocks are set back; traits don't know the time zone."""
        if isinstance(node, Project) and not (node.keys or self.around.fixed_offset):
            input_traits = self.traits.of(node.input)
            if input_traits.mode == "upsert":
                projected_keys(input_traits, node.input, list(node.items), fixed_offset=False)

    def mode(self, node: Node) -> Mode:
        return self.traits.of(self.check(node, None)).mode

    def timed(
        self, node: Node, time: str, delay: str, start: int = 0, stop: int = 0, option: str = ""
    ) -> Node:
        watermarks = self.traits.of(node).watermarks
        if (time, delay) in watermarks:
            return node
        if watermarks:
            message = "these rows already have a watermark: `{}`, {}".format(*watermarks[0])
            remedy = "change that one, or remove this one"
            self.report_error("MS526", message, remedy, start, stop, option)
            return node
        if not {*STATES} & {*self.traits.of(node).below}:
            node = without_watermarks(node)
        watermark = Watermark(input=node, time=time, delay=delay, models=(self.spec.id,))
        return self.check(watermark, None)

    def add_state(
        self,
        node: Aggregate | Dedupe | Join | TemporalJoin | Stateful,
        span: Span | None,
        grown: Iterable[str],
        times: Iterable[str] = (),
        option: str = "",
    ) -> None:
        inputs = tuple(self.traits.of(self.check(input_node, None)) for input_node in node.inputs)
        self.stateful_steps.append(
            StatefulStep(node, inputs, *span_offsets(span), option, tuple(grown), tuple(times))
        )

    def report_error(
        self, code: str, message: str, remedy: str, start: int = 0, stop: int = 0, option: str = ""
    ) -> None:
        diagnostic = PlanDiagnostic(code, message, remedy, self.spec.id, start, stop, option)
        if diagnostic not in self.diagnostics:
            self.diagnostics.append(diagnostic)

    # -- the other kinds of bodies

    def _union(self, body: SqlUnion) -> Node:
        sides = tuple(self.body(side) for side in body.sides)
        alike = all(
            column.type == union_type
            for side in sides
            for column, union_type in zip(side.columns, body.types, strict=True)
        )
        types = () if alike else body.types
        node = self.check(Union(sides=sides, types=types, models=(self.spec.id,)), body)
        if not body.distinct:
            return node
        together = Repartition(input=node, keys=node.names, models=(self.spec.id,))
        deduped = Dedupe(input=together, keys=node.names, models=(self.spec.id,))
        self.add_state(deduped, body, node.names)
        return self.check(deduped, body)

    def _opaque(self, body: OpaqueBody) -> Node:
        relations = tuple(dict.fromkeys(p.relation for p in body.pieces if isinstance(p, Read)))
        has_errors = bool(self.diagnostics)
        # Next to a stream, other relations are at rest if possible, as in SQL that is analyzed.
        streams = not all(map(self.around.can_rest, relations))
        node = Opaque(
            reads=tuple(self.relation(relation, at_rest=streams) for relation in relations),
            pieces=body.pieces,
            relations=relations,
            reasons=body.reasons,
            columns=self.spec.given_columns,
            models=(self.spec.id,),
        )
        for call in self.spec.query.python_calls:
            message = f"{call.name}() can't be called in SQL that is opaque: {body.reasons[0]}"
            remedy = f"move the opaque part to a separate model, and call {call.name}() here, over its ref()"
            self.report_error("MS698", message, remedy, call.start, call.stop)
        if has_errors:
            self.traits.set(node, Traits("append"))  # its errors are reported elsewhere
            return node
        return self.check(node, body)

    # -- configuration

    def _configured(self, node: Node) -> Node:
        if self.spec.watermark:
            node = self.timed(node, *self.spec.watermark, option="watermark")
        return node if self.spec.dedupe is None else self._deduplicated(node, self.spec.dedupe)

    def _deduplicated(self, node: Node, spec: DedupeSpec) -> Node:
        models = (self.spec.id,)
        for message, remedy in self._wrong_times(node, spec):
            self.report_error("MS523", message, remedy, option="dedupe")
        times = [name for name, _ in self.traits.of(node).watermarks]
        exact_by = times[0] if spec.exact and times else ""
        placed, position_columns = with_place(node) if exact_by else (node, ())
        together = Repartition(input=placed, keys=spec.keys, models=models)
        deduped = Dedupe(
            input=together,
            keys=spec.keys,
            within=spec.within,
            exact_by=exact_by,
            position_columns=position_columns,
            models=models,
        )
        self.add_state(deduped, None, spec.keys, option="dedupe")
        checked = self.check(deduped, None, option="dedupe")
        if checked.names == node.names:
            return checked
        return self.check(Project(input=checked, items=tuple(identity_items(node)), models=models), None)

    def _wrong_times(self, node: Node, spec: DedupeSpec) -> Iterator[tuple[str, str]]:
        traits = self.traits.of(node)
        if spec.exact and not spec.within:
            yield (
                "`exact` needs `within`, the time that it applies exactly",
                "add `within`, or remove `exact`",
            )
        elif not spec.within or traits.mode == "upsert" or (traits.mode == "static" and not spec.exact):
            return
        elif not traits.watermarks:
            yield (
                "`within` needs an event time, which these rows don't have",
                "select the column with the source's watermark, or set `watermark` of the model",
            )
        elif len(traits.watermarks) > 1:
            first, *_, last = (f"`{name}`" for name, _ in traits.watermarks)
            yield (
                f"these rows have several event times: `within` could use {first} or {last}",
                "select only one of them, or cast the other one: cast(... as string)",
            )

    def _labelled(self, node: Node, label: str) -> Node:
        """Name a relation; one that belongs to another model keeps its name."""
        if (node.label and node.label != label) or self.spec.id not in node.models:
            project = Project(
                input=node, items=tuple(identity_items(node)), label=label, models=(self.spec.id,)
            )
            return self.check(project, None)
        named = replace(node, label=label)
        self.traits.set(named, self.traits.of(node))
        return named
