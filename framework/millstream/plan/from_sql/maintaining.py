"""Tables over tables: kept equal to their SQL, which runs over rows at rest, instead of row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from millstream.core.expressions import Read
from millstream.core.node_id import NodeId
from millstream.core.types import has_equality
from millstream.plan.from_sql.catalog import ModelSpec, PlanDiagnostic
from millstream.plan.from_sql.maintained import stored_as_table
from millstream.plan.from_sql.values import BuiltModel, PlanContext
from millstream.plan.maintained import NotDerivedError, TableInput, derive_maintenance, derived_keys, in_full
from millstream.plan.maintained.unmatched_rows import UnmatchedRows, unmatched_rows
from millstream.plan.nodes import Maintained, Node, TableScan
from millstream.plan.refusals import REFUSALS
from millstream.plan.traits import KnownTraits, called_by
from millstream.sql.changing_functions import changing_function
from millstream.sql.query import OpaqueBody
from millstream.sql.trees import column_that_is_null
from millstream.stores.registry import choices_with_versions, store_declaration

_FULL = "set config(refresh='full'): each change computes all rows, and stores the differences"
_NOT_ROW_BY_ROW = frozenset(
    (
        "MS510",
        "MS513",
        "MS514",
        "MS516",
        "MS527",
        "MS686",
        "MS698",
        *(refusal.code for refusal in REFUSALS.values()),
    )
)
_OPTIONS = ("order_by", "delete_when", "retention", "dedupe", "watermark", "emit", "state")
"""Options of rows that come one by one."""


def needs_rows_at_rest(spec: ModelSpec, diagnostics: Sequence[PlanDiagnostic]) -> bool:
    """Return whether SQL can't run row by row, but could over rows at rest; a wrong key stays wrong.

    Row by row, a change of a table that a subquery reads would only reach rows that change later.
    """
    if any(form.kind == "subquery" and not _are_seeds(form.reads) for form in spec.query.forms):
        return True
    together = any(form.kind in {"grouping", "distinct", "union"} for form in spec.query.forms)
    return bool(diagnostics) and (
        together or any(diagnostic.code in _NOT_ROW_BY_ROW for diagnostic in diagnostics)
    )


def only_refused(diagnostics: Sequence[PlanDiagnostic]) -> bool:
    """Return whether all that is wrong with SQL is that it can't run over a stream."""
    return all(
        diagnostic.code in {refusal.code for refusal in REFUSALS.values()} for diagnostic in diagnostics
    )


def _are_seeds(relations: Sequence[NodeId]) -> bool:
    return all(relation.kind == "seed" for relation in relations)


AS_TABLE = (
    "make this view a table, config(materialized='table', unique_key=…) with the columns that identify its "
    "rows, or a CTE of the table that reads it"
)


def changing_call(spec: ModelSpec) -> str | None:
    """Return a function of a model whose value changes from call to call; None if it calls none."""
    text = "".join(p if isinstance(p, str) else " x " for p in spec.query.text)
    called = changing_function(text) or next(iter(spec.query.changing), None)
    others = [expression for _, expression in spec.extras]
    others += [check.wrong for check in spec.checks if check.keeps_out]
    return called or next(filter(None, map(called_by, others)), None)


AGAIN = "refresh='full', every='1 minute'"


def changing_rows(
    spec: ModelSpec, context: PlanContext, known_traits: KnownTraits, root: Node
) -> list[PlanDiagnostic]:
    """Return what is wrong with a table whose rows a clock or chance changes, in its SQL or in a view.

    `root` are its rows, which follow the changes of tables row by row.
    """
    traits = known_traits.of(root)
    if spec.materialization.table is None or "table changes" not in traits.below:
        return []
    called = changing_call(spec)
    origin = (called, spec.id) if called else traits.changes_by_itself
    if origin is None:
        return []
    message = _changes_by_itself(spec, origin[0])
    if origin[1] != spec.id:
        message = f"{message}; '{origin[1].last_name}' calls it"
        remedy = _view_as_table(origin[1], context, known_traits, AGAIN)
    else:
        remedies = [_view_as_table(view, context, known_traits) for view in inputs_in_motion(spec, context)]
        remedy = f"all of this is needed: {'; '.join(remedies)}; set config({AGAIN}) here"
    return [PlanDiagnostic("MS546", message, remedy, spec.id, option="materialized")]


def _view_as_table(
    relation: NodeId, context: PlanContext, known_traits: KnownTraits, options: str = ""
) -> str:
    keys = known_traits.of(context.provide(relation, False)).keys
    return f"make '{relation.last_name}' a table with {stored_as_table(keys, options)}"


def _changes_by_itself(spec: ModelSpec, called: str) -> str:
    why = (
        f", {spec.query.changing[1]},"
        if spec.query.changing[:1] == (called,) and spec.query.changing[1:]
        else ""
    )
    return f"{called}{why} gives other rows each time: '{spec.name}' could not be kept equal to its SQL"


def can_be_maintained(spec: ModelSpec, context: PlanContext) -> bool:
    """Return whether a model is a table of which all inputs are tables, reference topics or seeds."""
    return spec.materialization.table is not None and _are_tables(inputs_of(spec), context)


def can_read_stored_rows(spec: ModelSpec, context: PlanContext) -> bool:
    """Return whether a model is a table that could also read the stored rows of append-only tables."""
    read = inputs_of(spec)
    at_rest = all(context.can_rest(relation) or context.appended(relation) for relation in read)
    return spec.materialization.table is not None and at_rest and not _are_seeds(read)


def is_view_over_tables(spec: ModelSpec, context: PlanContext) -> bool:
    """Return whether a model is a view that would be kept equal to its SQL if it were a table."""
    return not spec.materialization.stored_as and _are_tables(spec.reads, context)


def _are_tables(read: Sequence[NodeId], context: PlanContext) -> bool:
    return not _are_seeds(read) and all(map(context.can_rest, read))


def reads_unstreamed(spec: ModelSpec, context: PlanContext) -> bool:
    """Return whether Spark can't stream the changes of a table that a model reads."""
    stored = (
        relation for relation in inputs_of(spec) if relation.kind == "model" and context.can_rest(relation)
    )
    return not all(store_declaration(context.store_of(relation)).change_feed for relation in stored)


def inputs_in_motion(spec: ModelSpec, context: PlanContext) -> tuple[NodeId, ...]:
    """Return the inputs because of which a table can't be kept equal to its SQL."""
    return tuple(relation for relation in inputs_of(spec) if not context.can_rest(relation))


def inputs_as_tables(spec: ModelSpec, context: PlanContext, known_traits: KnownTraits) -> str:
    """Return the remedy for a table whose inputs change, but are not all tables; empty if there is none."""
    if spec.materialization.table is None or _only_seeds(spec, context, known_traits):
        return ""
    remedies = []
    for relation in inputs_in_motion(spec, context):
        traits, name = known_traits.of(context.provide(relation, False)), relation.last_name
        if traits.mode == "static":
            remedies.append(as_cte(relation))
        elif traits.mode == "upsert" and traits.keys:
            sent = "" if context.inlined(relation) else ", and send its rows with a sink that selects from it"
            remedies.append(f"make '{name}' a table with {stored_as_table(traits.keys)}{sent}")
        else:
            return ""
    if not remedies:
        return ""
    if spec.materialization.refresh != "full" and _needs_full(spec, context):
        remedies.append("set refresh='full' here")
    return remedies[0] if len(remedies) == 1 else f"all of this is needed: {'; '.join(remedies)}"


def as_cte(*views: NodeId) -> str:
    """Return the remedy for views of rows at rest, which can't be stored themselves."""
    names = " and ".join(f"'{view.last_name}'" for view in views)
    return f"write the SQL of {names} as a CTE of this model"


def _needs_full(spec: ModelSpec, context: PlanContext) -> bool:
    try:
        derive_maintenance(spec.query, spec.keys, _relations(_at_rest(spec, context)), weights=False)
    except NotDerivedError:
        return True
    return False


def misplaced_option(
    spec: ModelSpec, context: PlanContext, known_traits: KnownTraits
) -> PlanDiagnostic | None:
    """Return what is wrong with an option that says how a table over tables is computed."""
    refresh = spec.materialization.refresh
    if spec.every and refresh != "full":
        message = (
            f"'every' says how often all rows of a table are computed: '{spec.name}' has no refresh='full'"
        )
        return PlanDiagnostic(
            "MS548", message, "set refresh='full', or remove 'every'", spec.id, option="every"
        )
    if refresh and not can_read_stored_rows(spec, context):
        others = tuple(
            relation for relation in inputs_in_motion(spec, context) if not context.appended(relation)
        )
        names = ", ".join(relation.last_name for relation in others)
        if _only_seeds(spec, context, known_traits):
            why, remedy = "reads only seeds", "remove it, and set materialized='view'"
        else:
            inlined = all(map(context.inlined, others))
            why = f"computes the rows of {names} by itself" if inlined else f"reads {names} row by row"
            remedy = inputs_as_tables(spec, context, known_traits) or "remove 'refresh'"
        message = f"'refresh' is for tables over tables: '{spec.name}' {why}"
        return PlanDiagnostic("MS548", message, remedy, spec.id, option="refresh", others=others)
    return None


def _only_seeds(spec: ModelSpec, context: PlanContext, known_traits: KnownTraits) -> bool:
    """Return whether all inputs are seeds, or views over nothing else."""
    traits = [
        known_traits.of(context.provide(relation, False))
        for relation in inputs_of(spec)
        if relation.kind != "seed"
    ]
    return all(of_input.mode == "static" and not of_input.looks_up for of_input in traits)


def inputs_of(spec: ModelSpec) -> tuple[NodeId, ...]:
    return tuple(dict.fromkeys(p.relation for p in spec.query.text if isinstance(p, Read)))


def _at_rest(spec: ModelSpec, context: PlanContext) -> dict[NodeId, Node]:
    return {relation: context.provide(relation, True) for relation in inputs_of(spec)}


def _relations(nodes: dict[NodeId, Node]) -> dict[NodeId, TableInput]:
    return {id_: TableInput(index, node.columns) for index, (id_, node) in enumerate(nodes.items())}


def build_maintained(spec: ModelSpec, context: PlanContext, known_traits: KnownTraits) -> BuiltModel:
    """Return a model whose table is kept equal to its SQL."""
    nodes = _at_rest(spec, context)
    relations = _relations(nodes)
    keys = spec.keys
    changing = changing_call(spec) is not None
    maintenance = replace(in_full(spec.query, relations), changing=changing)
    diagnostics = [*_diagnostics(spec, context, tuple(nodes), keys)]
    if not diagnostics and spec.materialization.refresh != "full":
        try:
            stores_all_rows = not any(check.keeps_out for check in spec.checks)
            weights = stores_all_rows and spec.materialization.refresh != "keys"
            maintenance = derive_maintenance(spec.query, keys, relations, weights=weights)
        except NotDerivedError as error:
            diagnostics.append(_not_derived(spec, error))
    node = Maintained(
        table=spec.id,
        reads=tuple(read for input_node in nodes.values() for read in _reads(input_node)),
        maintenance=maintenance,
        keys=keys,
        called=spec.query.called,
        columns=spec.columns,
        label=spec.name,
        models=(spec.id,),
    )
    known_traits.of(node)
    return BuiltModel(node, diagnostics)


def _not_derived(spec: ModelSpec, error: NotDerivedError) -> PlanDiagnostic:
    """Return the error of SQL whose touched rows are unknown; an order or a limit is the cause."""
    why, remedy, (start, stop) = error.why, _FULL, _span(spec, error)
    sorts, limits = ([f for f in spec.query.forms if f.kind == kind] for kind in ("sort", "limit"))
    if sorts or limits:
        start, stop = ((sorts or limits)[0].start, (sorts or limits)[0].stop)
        why = "ORDER is not analyzed" if sorts else "LIMIT is not analyzed"
    if sorts and not limits:
        remedy = f"remove it: a table has no order; or {_FULL}"
    elif limits and not sorts:
        why += ", and without ORDER BY it takes any rows"
        remedy = f"add ORDER BY with a key, so that it takes the same rows each time, and {_FULL}"
    message = f"it is unknown which rows of '{spec.name}' a change touches: {why}"
    return PlanDiagnostic("MS543", message, remedy, spec.id, start, stop)


def _span(spec: ModelSpec, error: NotDerivedError) -> tuple[int, int]:
    """Return where an error is reported: in opaque SQL, at the construct because of which it is opaque."""
    if isinstance(spec.query.body, OpaqueBody) and spec.query.at_rest is None:
        for form in spec.query.forms:
            if not REFUSALS[form.kind].only_opaque and form.stop > form.start:
                return form.start, form.stop
        return 0, len("select")
    return error.start, error.stop


def _reads(node: Node) -> Iterator[Node]:
    """Yield what is read of an input: its changes, and its rows at rest."""
    if isinstance(node, TableScan):
        yield replace(node, changes=True)
    yield node


def _diagnostics(
    spec: ModelSpec, context: PlanContext, read: tuple[NodeId, ...], keys: tuple[str, ...]
) -> Iterator[PlanDiagnostic]:
    def plan_problem(code: str, message: str, remedy: str, option: str) -> PlanDiagnostic:
        return PlanDiagnostic(code, message, remedy, spec.id, option=option)

    if not keys:
        message = f"table '{spec.name}' has no unique_key"
        quoted_keys = [f"'{key}'" for key in derived_keys(spec.query)]
        written = (
            quoted_keys[0]
            if len(quoted_keys) == 1
            else f"[{', '.join(quoted_keys)}]"
            if quoted_keys
            else "'…'"
        )
        remedy = f"set the columns that identify a row: config(unique_key={written})"
        yield plan_problem("MS518", message, remedy, "materialized")
    elif (unmatched := unmatched_rows(spec.query, keys)) is not None and not _dropped_if_null(spec, keys):
        yield plan_problem("MS518", *_unmatched(keys, unmatched), "unique_key")
    for name in _OPTIONS:
        if name in _set_options(spec):
            message = f"'{name}' does not apply to '{spec.name}', which is kept equal to its SQL over tables"
            yield plan_problem("MS544", message, f"remove '{name}', and write what it does in the SQL", name)
    if spec.materialization.versions:
        message = f"the SQL of '{spec.name}' can't run row by row, so its rows have no versions"
        remedy = "remove 'versions', and select * from this table in another one that has it"
        yield plan_problem("MS685", message, remedy, "versions")
    for relation in read:
        if relation.kind == "seed":
            continue
        store = store_declaration(context.store_of(relation))
        if not store.versions:
            name = relation.last_name
            message = (
                f"'{name}' is stored in {store.title}, which keeps no versions: '{spec.name}' needs them"
            )
            yield plan_problem("MS545", message, f"give '{name}' {choices_with_versions()}", "store")
    for key in keys:
        column = next((c for c in spec.columns if c.name.lower() == key.lower()), None)
        if column is not None and not has_equality(column.type):
            message = f"'{key}' can't identify a row: values of type {column.type} can't be compared"
            yield plan_problem("MS518", message, "choose other columns", "unique_key")
    for call in spec.query.python_calls:
        if call.rows:
            message = f"{call.name}() returns rows, which a table that is kept equal to its SQL can't call"
            remedy = (
                f"let it return a list, `-> list[…]`, and expand that: lateral view inline({call.name}(…))"
            )
            if spec.materialization.refresh != "full":
                remedy += "; and set config(refresh='full')"
            yield PlanDiagnostic("MS698", message, remedy, spec.id, call.start, call.stop)
    called = changing_call(spec)
    if called is not None and not (spec.every and spec.materialization.refresh == "full"):
        full = "" if spec.materialization.refresh == "full" else "refresh='full', "
        missing = f"{full}every='1 minute'"
        remedy = f"set config({missing}), or compute {called} in the model that first stores the row"
        yield plan_problem("MS546", _changes_by_itself(spec, called), remedy, "materialized")


def _unmatched(keys: tuple[str, ...], rows: UnmatchedRows) -> tuple[str, str]:
    """Return the message and remedy for a key that unmatched rows of an outer join share."""
    key_names, first = ", ".join(keys), keys[0]
    message = (
        f"unique_key {key_names} does not identify these rows: it is the same for all rows of {rows.of} "
        f"without a match in {rows.without}"
    )
    remedy = (
        f"leave these rows out with an inner join, or in WHERE ({rows.without}.… is not null); "
        f"or add the key of {rows.of} to unique_key; or set {first} to that key in these rows: "
        f"coalesce({first}, {rows.of}.…)"
    )
    return message, remedy


def _dropped_if_null(spec: ModelSpec, keys: tuple[str, ...]) -> bool:
    """Return whether a data test leaves out rows of which a key column is NULL."""
    for check in spec.checks:
        column = column_that_is_null(check.wrong)
        if column is not None and check.keeps_out and column.lower() in map(str.lower, keys):
            return True
    return False


def _set_options(spec: ModelSpec) -> set[str]:
    stored = spec.materialization.table
    options = {name for name in ("order_by", "delete_when", "retention") if getattr(stored, name)}
    options |= {"dedupe"} if spec.dedupe else set()
    options |= {"watermark"} if spec.watermark else set()
    options |= {"emit"} if spec.emit != "on_change" else set()
    return options | ({"state"} if spec.options.get("state") else set())
