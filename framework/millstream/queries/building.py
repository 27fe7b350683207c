"""Builds one query from one group of outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.node_id import NO_NODE, NodeId
from millstream.formats.format import DecodingCall
from millstream.outputs.kinds import Table
from millstream.plan.chains import has_chain
from millstream.plan.nodes import (
    Decode,
    Filter,
    Node,
    Output,
    ReadColumns,
    Repartition,
    SourceScan,
    Stateful,
    TableScan,
    TopicScan,
    reads_of,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import traits_of
from millstream.project.options import EXACTLY_ONCE
from millstream.queries.batch_sql import Batches, OutputSql, batches_sql
from millstream.queries.branches import OutputBranch
from millstream.queries.checks import dead_letter_topic, reporting_tests, sends_dead_letters, test_id
from millstream.queries.common_rows import find_trunk, with_one_read
from millstream.queries.emit.bad_records import drops_by, goods_of, read_goods
from millstream.queries.emit.error_locations import nested_calls
from millstream.queries.fan_out import fits_fan_out
from millstream.queries.format_functions import decoding_calls, encoding_functions
from millstream.queries.lock import AssignedGroup, GroupMember
from millstream.queries.maintaining import maintaining_functions, maintaining_of
from millstream.queries.matched_groups import copying_columns
from millstream.queries.memory import estimate_memory
from millstream.queries.realtime import realtime_obstacles
from millstream.queries.record_accounting import counted_source
from millstream.queries.removed_models import input_without_rows, is_former, of_models
from millstream.queries.shared_rows import SharedCtes, write_shared
from millstream.queries.signature import QuerySignatures
from millstream.queries.values import (
    ChangesRead,
    DeadLetters,
    Kind,
    OutputDelivery,
    PerBatch,
    PhysicalSettings,
    Query,
    QuerySignature,
    RowVersions,
    SinkOutput,
    SourceRead,
    StreamRead,
    TableOutput,
    Target,
    ToKafka,
    TooLarge,
    TopicRead,
    ViewOutput,
    WriterOutput,
)
from millstream.queries.view_names import Views, scan_of, source_reads, static_reads
from millstream.queries.writing import QueryPart, QueryPlanning, dead_letter_sources, records_sql


class BuiltQuery(Struct, frozen=True):
    query: Query
    members: tuple[GroupMember, ...] = ()


class QueryRecipe(Struct, frozen=True, eq=False):
    """What one query is built from."""

    name: str
    kind: Kind
    parts: tuple[QueryPart, ...]
    branches: tuple[OutputBranch, ...] = ()
    dead_letters: Decode | None = None
    assigned: AssignedGroup | None = None
    good: frozenset[str] = frozenset()
    """The columns by which all stored models of the project drop bad records."""

    @property
    def outputs(self) -> tuple[Output, ...]:
        return tuple(output for part in self.parts for output in part.outputs)

    @property
    def roots(self) -> tuple[Node, ...]:
        return (*self.outputs, *(part.trunk for part in self.parts))

    @property
    def update(self) -> bool:
        return any(branch.mode == "update" for branch in self.branches)


def stateless_parts(
    branches: Sequence[OutputBranch], dead_letters: Decode | None, others: Sequence[Decode]
) -> tuple[tuple[QueryPart, ...], Decode | None]:
    """Return the single part of a stateless group, and the Decode whose dead letters it sends."""
    outputs = with_one_read(branches, others)
    if dead_letters is not None:
        dead_letters = next(node for node in in_order(outputs[:1]) if isinstance(node, Decode))
        return (QueryPart(tuple(outputs), dead_letters),), dead_letters
    if (filtered := _of_one_decode(outputs)) is not None:
        return (QueryPart(tuple(outputs), filtered),), None
    return (_part(outputs),), None


def _part(outputs: Sequence[Output]) -> QueryPart:
    trunk_node = find_trunk(outputs) if len(outputs) > 1 else outputs[0].input
    assert trunk_node is not None
    return QueryPart(tuple(outputs), trunk_node)


def _of_one_decode(outputs: Sequence[Output]) -> Node | None:
    """Return the last filter that all sinks over one Decode share, or the Decode."""
    decodes = {id(node): node for node in in_order(outputs) if isinstance(node, Decode)}
    if len(decodes) != 1 or any(not output.materialization.sends_records for output in outputs):
        return None
    (decode,) = decodes.values()
    if not all(fits_fan_out(output, decode) for output in outputs):
        return None
    node = find_trunk(outputs) if len(outputs) > 1 else decode
    assert node is not None
    chain = [node]
    while chain[-1] is not decode:
        (below,) = chain[-1].inputs
        chain.append(below)
    filters = takewhile(lambda link: isinstance(link, Filter), reversed(chain[:-1]))
    return [decode, *filters][-1]


def stateful_parts(branches: Sequence[OutputBranch]) -> tuple[QueryPart, ...]:
    """Return one part for each state that outputs share."""
    by_state: dict[tuple[int, ...], list[Output]] = {}
    for branch in branches:
        by_state.setdefault(tuple(sorted(map(id, branch.states))), []).append(branch.output)
    return tuple(map(_part, by_state.values()))


def build_query(
    recipe: QueryRecipe, settings: PhysicalSettings, signatures: QuerySignatures, *, sql: bool = True
) -> BuiltQuery:
    """Return the query of a recipe, and what the lock records of each part.

    Without `sql`, the SQL is left out, which takes half of the time: such queries can only be compared.
    """
    views = Views()
    order = in_order(recipe.roots)
    moved = _moved(recipe)
    live = [output for output in recipe.outputs if not is_former(output.model)]
    # Former models store nothing: what is bad for them alone is not counted, and makes no query fail.
    fails_by, drops = _fails_by(recipe.outputs, live), goods_of(live)
    shared = SharedCtes()
    if sql:
        shared = write_shared(moved, recipe.roots, settings.shuffle_partitions, views, fails_by, drops)
    planning = QueryPlanning(
        views,
        shared,
        deletes=recipe.update,
        dead_letters=recipe.dead_letters,
        fails_by=fails_by,
        drops_by=drops,
        sends_by=recipe.good,
        logging=settings.logging,
    )
    parts = tuple(map(_written, recipe.parts))
    targets = tuple(map(_target, live))
    follows_table = any(isinstance(node, TableScan) and node.changes for node in order)
    batches = (
        any(not output.materialization.sends_records for output in recipe.outputs)
        or not all(part.direct for part in recipe.parts)
        # Of several changes of a row in a batch, the last one counts.
        or follows_table
    )
    dead_letters: tuple[Decode, ...] = ()
    if batches:
        batch = batches_sql(parts, planning) if sql else Batches((), "", "", (OutputSql(""),) * len(live))
        steps, text = batch.steps, batch.sql
        deliver: ToKafka | PerBatch = PerBatch(batch.view, _deliveries(live, targets, batch.rows))
    else:
        dead_letters = dead_letter_sources(parts, planning)
        steps, text = records_sql(parts, planning) if sql else ((), "")
        undecodable = (
            DeadLetters(decode.relation, scan_of(decode).dead_letters, read_goods(decode, drops))
            for decode in dead_letters
        )
        kept_out = (DeadLetters(o.model, dead_letter_topic(o)) for o in live if sends_dead_letters([o]))
        deliver = ToKafka(
            (*targets, *undecodable, *kept_out),
            placed=all(part.placed for part in recipe.parts),
            skips=tuple(model for part in recipe.parts for model in part.skips),
        )
    outputs = (
        deliver.outputs
        if isinstance(deliver, ToKafka)
        else (delivery.target for delivery in deliver.deliveries)
    )
    exactly_once = sends_exactly_once(outputs, settings.guarantee)
    # Dead letters keep the headers of their records.
    with_headers = frozenset(decode.relation for decode in dead_letters)
    reads = source_reads(order, views, with_headers, recipe.good)
    at_rest = static_reads(order, views)
    maintaining = maintaining_of(order, live, targets, at_rest, views, settings)
    called = maintaining_functions(order)
    decoding, encoding = decoding_calls(order, fails_by), encoding_functions(recipe.outputs)
    functions = _functions(order, decoding)
    writing = tuple(
        name for output in live if output.materialization.alone for name in output.materialization.functions
    )
    # Stored models come first.
    stored = (output.model for output in live)
    models = dict.fromkeys((*stored, *(model for node in order for model in node.models)))
    operators = signatures.operators(recipe.outputs)
    signature = QuerySignature(
        tuple(source.relation for source in reads),
        operators,
        tuple(", ".join(str(o.model) for o in part.outputs) for part in recipe.parts),
        settings.timezone,
        signatures.stored(live),
        tuple(source.identity if isinstance(source, TopicRead) else source.stream for source in reads),
        settings.spark | _isolation(settings, reads),
        changes=tuple(output.model for output in live if output.sends_changes),
        tables=signatures.tables(source.relation for source in reads if isinstance(source, ChangesRead)),
        histories={
            read.stream: read.history for read in reads if isinstance(read, TopicRead) and read.history
        },
        settings_of={read.stream: read.settings for read in reads if isinstance(read, SourceRead)},
        copies=signatures.copies(recipe.outputs),
    )
    query = Query(
        name=recipe.name,
        kind=recipe.kind,
        models=tuple(model for model in models if not is_former(model)),
        sources=reads,
        reads=at_rest,
        steps=steps,
        sql=text,
        deliver=deliver,
        output_mode="update" if recipe.update else "append",
        signature=of_models(signature, frozenset(output.model for output in live)),
        memory=estimate_memory(recipe.outputs, operators, settings.distinct, settings.rows_per_second),
        functions=tuple(dict.fromkeys((*functions, *called, *writing))),
        decoders=decoding,
        encoders=encoding,
        chained=has_chain(order),
        nested_calls=tuple(dict.fromkeys((*nested_calls(order), *called))),
        realtime=realtime_obstacles(
            order,
            reads,
            functions,
            deliver=deliver,
            exactly_once=exactly_once,
            sides=len(recipe.parts) + _unions(order),
        ),
        maintaining=maintaining,
        dead_letter_source=recipe.dead_letters.relation if recipe.dead_letters is not None else NO_NODE,
        exactly_once=exactly_once,
        repeatable=follows_table and not functions and all(node.deterministic for node in order),
        copies=copying_columns(order),
        delays=tuple(dict.fromkeys((w[0], w[2]) for branch in recipe.branches for w in branch.watermarks)),
    )
    return BuiltQuery(query, _members(recipe))


def _fails_by(outputs: Sequence[Output], live: Sequence[Output]) -> dict[NodeId, ReadColumns]:
    former = {relation: replace(read, columns=(), key=False) for relation, read in reads_of(outputs).items()}
    return former | reads_of(live)


def _written(part: QueryPart) -> QueryPart:
    """Return a part as it is written: former models get no rows, unless they share a state with others."""
    if not part.former:
        return part
    new = input_without_rows(part.outputs)
    outputs = (new.get(id(output), output) for output in part.outputs)
    trunk_node = new.get(id(part.trunk), part.trunk)
    return QueryPart(tuple(output for output in outputs if isinstance(output, Output)), trunk_node)


def _deliveries(
    outputs: Sequence[Output], targets: Sequence[Target], rows: Sequence[OutputSql]
) -> tuple[OutputDelivery, ...]:
    """Return what a batch stores: each output, then the rows that its tests send to dead letters."""
    deliveries: list[OutputDelivery] = []
    dead_letters: list[OutputDelivery] = []
    for output, target, output_rows in zip(outputs, targets, rows, strict=True):
        stops = tuple(test_id(check) for check in output.checks if check.severity == "error")
        deliveries.append(
            OutputDelivery(
                target,
                output_rows.sql,
                output_rows.deletes,
                output_rows.counts_sql,
                stops,
                output_rows.stops_sql,
                output_rows.failed_sql,
            )
        )
        if sends_dead_letters([output]):
            dead_letters.append(
                OutputDelivery(DeadLetters(output.model, dead_letter_topic(output)), output_rows.dead_letters)
            )
    return (*deliveries, *dead_letters)


def _moved(recipe: QueryRecipe) -> tuple[Repartition, ...]:
    """Return the repartitions that more than one part reads."""
    if len(recipe.parts) < 2:
        return ()
    of_output = {id(branch.output): branch for branch in recipe.branches}
    moves = [{id(n): n for n in of_output[id(part.outputs[0])].moves} for part in recipe.parts]
    count = Counter(key for moved in moves for key in moved)
    nodes = {key: node for moved in moves for key, node in moved.items()}
    return tuple(n for key, n in nodes.items() if count[key] > 1 and isinstance(n, Repartition))


def _members(recipe: QueryRecipe) -> tuple[GroupMember, ...]:
    if recipe.assigned is None:
        return ()
    return tuple(GroupMember(tuple(output.model for output in part.outputs)) for part in recipe.parts)


def _target(output: Output) -> Target:
    stored, counted, drops = output.materialization, counted_source(output), drops_by(output)
    options = stored.settings | output.options
    tests, meters = reporting_tests([output]), tuple(metering.meter for metering in output.metrics)
    log = output.log.log if output.log is not None else None
    if (sink := stored.sink) is not None:
        return SinkOutput(
            output.model,
            sink,
            options,
            tests,
            meters,
            log,
            drops,
            any(check.keeps_out for check in output.checks),
            counted,
            too_large(output),
        )
    if (table := stored.table) is not None:
        versions = _versions(output, table)
        return TableOutput(
            output.model, output.keys, output.columns, options, tests, meters, log, drops, versions, counted
        )
    if stored.stored_as:
        return WriterOutput(
            output.model,
            stored.word,
            output.keys if traits_of(output.input).mode == "upsert" else (),
            output.columns,
            options,
            tests,
            meters,
            log,
            drops,
            counted,
            dead_letter_topic(output) if stored.failed_to else "",
        )
    return ViewOutput(output.model, output.columns)


def _versions(output: Output, table: Table) -> RowVersions | None:
    if not table.versions:
        return None
    # The records of a reference topic have times of their own, also those that delete a key.
    replaces = traits_of(output.input).mode == "upsert" and output.model.kind != "source"
    return RowVersions(table.unique_key, table.kept_for, replaces)


def _isolation(settings: PhysicalSettings, reads: Sequence[StreamRead]) -> dict[str, str]:
    return {
        f"the isolation level of {read.relation.name}": level
        for read in reads
        if (level := settings.isolation.get(read.relation))
    }


def _functions(order: Sequence[Node], decoding: Sequence[DecodingCall]) -> tuple[str, ...]:
    called = (name for node in order for e in node.expressions for name in e.functions)
    keyed = (node.function for node in order if isinstance(node, Stateful))
    decode = (call.function for call in decoding)
    return tuple(dict.fromkeys((*called, *keyed, *decode)))


def _unions(order: Sequence[Node]) -> int:
    """Return how many reads of topics and other sources come on top of one read for each."""
    scans = [node.relation for node in order if isinstance(node, Decode | SourceScan)]
    return len(scans) - len(set(scans))


# All records of a batch are in one transaction, so the strongest guarantee of a query's outputs is that of
# all.


def sends_exactly_once(targets: Iterable[Target], of_target: str) -> bool:
    """Whether a query with these outputs sends records in transactions; `of_target` is the default."""
    sent = (target for target in targets if target.written_as == "record")
    return any((target.guarantee or of_target) == EXACTLY_ONCE for target in sent)


def too_large(output: Output) -> TooLarge | None:
    """Return what its `on_bad_record` says, or that of the source whose records it sends on one by one.

    None if the query stops: that is the default, and above groups and joins only the model itself can say
    another. Dead letters go to the topic of the first source.
    """
    nodes = in_order((output,))
    counted = counted_source(output)
    decodes = {node.relation: node for node in nodes if isinstance(node, Decode)}
    source = decodes.get(counted)
    policy = output.options.get("on_bad_record") or (source.on_bad_record if source else "fail")
    if policy == "skip":
        return TooLarge()
    scans = [node for node in nodes if isinstance(node, TopicScan)]
    if policy != "dead_letter" or not scans:
        return None
    read = next((scan for scan in scans if scan.relation == counted), scans[0])
    return TooLarge(read.dead_letters)
