"""One group of outputs becomes one query."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from msgspec import Struct

from millstream.formats import DEFAULT_FORMAT
from millstream.physical.batches import Rows, batches_sql
from millstream.physical.branches import Branch
from millstream.physical.checks import letters_topic, sends_letters, telling_tests, test_id
from millstream.physical.emit.told import left_within
from millstream.physical.fans import fans_out
from millstream.physical.letters import topic_of
from millstream.physical.lock import Assigned, Member
from millstream.physical.memory import estimate
from millstream.physical.naming import Views, scan_of, sources, static_reads
from millstream.physical.realtime import prevented
from millstream.physical.shared import Removed, Shared, neutral, together
from millstream.physical.signature import Signatures
from millstream.physical.trunk import trunk, with_one_decode
from millstream.physical.values import (
    DeadLetters,
    Delivery,
    Kind,
    PerBatch,
    PhysicalSettings,
    Query,
    Signature,
    SinkOutput,
    TableOutput,
    Target,
    ToKafka,
    ViewOutput,
)
from millstream.physical.writing import Around, Part, records_sql
from millstream.plan.chains import has_chain
from millstream.plan.nodes import Decode, Filter, Node, Output, Repartition, Stateful
from millstream.plan.nodes.order import in_order


class Built(Struct, frozen=True):
    query: Query
    members: tuple[Member, ...] = ()


class Recipe(Struct, frozen=True, eq=False):
    """What one query is to be made of."""

    name: str
    kind: Kind
    parts: tuple[Part, ...]
    branches: tuple[Branch, ...] = ()
    letters: Decode | None = None
    assigned: Assigned | None = None

    @property
    def outputs(self) -> tuple[Output, ...]:
        return tuple(output for part in self.parts for output in part.outputs)

    @property
    def roots(self) -> tuple[Node, ...]:
        return (*self.outputs, *(part.trunk for part in self.parts))

    @property
    def update(self) -> bool:
        return any(branch.mode == "update" for branch in self.branches)

    @property
    def removed(self) -> tuple[tuple[int, Member], ...]:
        if self.assigned is None:
            return ()
        members = self.assigned.members
        return tuple((place, members[place]) for place in sorted(self.assigned.removed))


def stateless_parts(
    branches: Sequence[Branch], letters: Decode | None, others: Sequence[Decode]
) -> tuple[tuple[Part, ...], Decode | None]:
    """Return the one part of a stateless group, and the decoding whose bad records it sends on."""
    outputs = with_one_decode(branches, others if letters is not None else ())
    if letters is not None:
        letters = next(node for node in in_order(outputs[:1]) if isinstance(node, Decode))
        return (Part(tuple(outputs), letters),), letters
    if (filtered := _of_one_decode(outputs)) is not None:
        return (Part(tuple(outputs), filtered),), None
    found = trunk(outputs) if len(outputs) > 1 else outputs[0].input
    assert found is not None
    return (Part(tuple(outputs), found),), None


def _of_one_decode(outputs: Sequence[Output]) -> Node | None:
    """Return the last filter that all sinks over one decoding have in common, or the decoding."""
    decodes = {id(node): node for node in in_order(outputs) if isinstance(node, Decode)}
    if len(decodes) != 1 or any(each.kind != "sink" for each in outputs):
        return None
    (decode,) = decodes.values()
    if not all(fans_out(output, decode) for output in outputs):
        return None
    node = trunk(outputs) if len(outputs) > 1 else decode
    assert node is not None
    chain = [node]
    while chain[-1] is not decode:
        (below,) = chain[-1].inputs
        chain.append(below)
    filters = takewhile(lambda each: isinstance(each, Filter), reversed(chain[:-1]))
    return [decode, *filters][-1]


def stateful_parts(branches: Sequence[Branch]) -> tuple[Part, ...]:
    """Return one part for each state that outputs share."""
    by_state: dict[tuple[int, ...], list[Output]] = {}
    for branch in branches:
        by_state.setdefault(tuple(sorted(map(id, branch.states))), []).append(branch.output)
    parts: list[Part] = []
    for outputs in by_state.values():
        found = trunk(outputs) if len(outputs) > 1 else outputs[0].input
        assert found is not None
        parts.append(Part(tuple(outputs), found))
    return tuple(parts)


def build(recipe: Recipe, settings: PhysicalSettings, signatures: Signatures) -> Built:
    """Return the query of a recipe, and what its group records of each part."""
    views = Views()
    order = in_order(recipe.roots)
    moved = _moved(recipe)
    shared = together(moved, recipe.roots, settings.shuffle_partitions, views)
    around = Around(views, shared, deletes=recipe.update, letters=recipe.letters)
    gone = _gone(recipe, moved, shared)
    targets = tuple(map(_target, recipe.outputs))
    batches = any(not isinstance(each, SinkOutput) for each in targets) or not all(
        part.direct for part in recipe.parts
    )
    letters: tuple[Decode, ...] = ()
    if batches:
        found = batches_sql(recipe.parts, around, gone)
        steps, sql, whole = found.steps, found.sql, found.parts
        deliver: ToKafka | PerBatch = PerBatch(found.view, _deliveries(recipe.outputs, targets, found.rows))
    else:
        written = records_sql(recipe.parts, around)
        steps, whole = written.steps, written.parts
        sql = written.sql(gone)
        letters = written.letters
        undecodable = (DeadLetters(each.relation, topic_of(scan_of(each).topic)) for each in letters)
        kept_out = (DeadLetters(o.model, letters_topic(o)) for o in recipe.outputs if sends_letters([o]))
        deliver = ToKafka(
            (*targets, *undecodable, *kept_out),
            placed=all(part.placed for part in recipe.parts),
            skips=tuple(model for part in recipe.parts for model in part.skips),
        )
    # Dead letters keep the headers of their records.
    with_headers = frozenset(each.relation for each in letters)
    reads = sources(order, views, with_headers)
    functions = _functions(order)
    query = Query(
        name=recipe.name,
        kind=recipe.kind,
        models=_models(recipe, order),
        sources=reads,
        reads=static_reads(order, views),
        steps=steps,
        sql=sql,
        deliver=deliver,
        output_mode="update" if recipe.update else "append",
        signature=Signature(
            tuple(source.relation for source in reads),
            signatures.operators(recipe.outputs),
            tuple(", ".join(o.model for o in part.outputs) for part in recipe.parts),
            settings.timezone,
            signatures.stored(recipe.outputs),
            tuple(source.topic for source in reads),
        ),
        memory=estimate(recipe.outputs, settings.distinct, settings.rows_per_second),
        functions=functions,
        chained=has_chain(order),
        within=left_within(order),
        realtime=prevented(
            order, reads, functions, deliver=deliver, sides=len(recipe.parts) + len(gone) + _unions(order)
        ),
        letters=recipe.letters.relation if recipe.letters is not None else "",
    )
    return Built(query, _members(recipe, moved, shared, whole))


def _deliveries(
    outputs: Sequence[Output], targets: Sequence[Target], rows: Sequence[Rows]
) -> tuple[Delivery, ...]:
    """Return what a batch stores: each output, then the dead letters of those that its tests keep out."""
    found: list[Delivery] = []
    letters: list[Delivery] = []
    for output, target, each in zip(outputs, targets, rows, strict=True):
        stops = tuple(test_id(check) for check in output.checks if check.severity == "error")
        found.append(Delivery(target, each.sql, each.deletes, each.asked, stops))
        if each.letters:
            letters.append(Delivery(DeadLetters(output.model, letters_topic(output)), each.letters))
    return (*found, *letters)


def _models(recipe: Recipe, order: Sequence[Node]) -> tuple[str, ...]:
    """Return the models whose SQL runs in a query, those that are stored first."""
    stored = (output.model for output in recipe.outputs)
    return tuple(dict.fromkeys((*stored, *(model for node in order for model in node.models))))


def _moved(recipe: Recipe) -> tuple[Repartition, ...]:
    """Return the repartitions that more than one part reads, those that are gone among them."""
    if len(recipe.parts) + len(recipe.removed) < 2:
        return ()
    of_output = {id(branch.output): branch for branch in recipe.branches}
    count: dict[int, int] = {}
    nodes: dict[int, Node] = {}
    for part in recipe.parts:
        for key, node in {id(n): n for n in of_output[id(part.outputs[0])].moves}.items():
            count[key] = count.get(key, 0) + 1
            nodes[key] = node
    least = 1 if recipe.removed else 2
    return tuple(n for key, n in nodes.items() if count[key] >= least and isinstance(n, Repartition))


def _gone(recipe: Recipe, moved: Sequence[Repartition], shared: Shared) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for place, member in recipe.removed:
        node = next((n for n in moved if shared.names[id(n)] == member.of), None)
        if node is not None:
            found.append((place, neutral(Removed(member.sql, member.of, member.columns), node.columns)))
    return found


def _members(
    recipe: Recipe, moved: Sequence[Repartition], shared: Shared, whole: Sequence[str]
) -> tuple[Member, ...]:
    found: list[Member] = []
    if recipe.assigned is None:
        return ()
    of_output = {id(branch.output): branch for branch in recipe.branches}
    for part, sql in zip(recipe.parts, whole, strict=True):
        models = tuple(output.model for output in part.outputs)
        moves = of_output[id(part.outputs[0])].moves
        node = next((n for n in moved if any(n is each for each in moves)), None)
        if node is None:
            found.append(Member(models))
        else:
            columns = tuple((column.name, str(column.type)) for column in node.columns)
            found.append(Member(models, shared.names[id(node)], columns, sql))
    for place, member in recipe.removed:
        found.insert(place, member)
    return tuple(found)


def _target(output: Output) -> Target:
    options = {key: value for key, value in output.options.items() if key not in {"topic", "format"}}
    match output.kind:
        case "sink":
            topic = str(output.options.get("topic", ""))
            format_ = output.options.get("format", DEFAULT_FORMAT)
            return SinkOutput(output.model, topic, output.keys, format_, options, telling_tests([output]))
        case "table":
            return TableOutput(output.model, output.keys, output.columns, options, telling_tests([output]))
        case _:
            return ViewOutput(output.model, output.columns)


def _functions(order: Sequence[Node]) -> tuple[str, ...]:
    called = (name for node in order for e in node.expressions for name in e.functions)
    keyed = (node.function for node in order if isinstance(node, Stateful))
    return tuple(dict.fromkeys((*called, *keyed)))


def _unions(order: Sequence[Node]) -> int:
    """Return how many more times a topic is read than once."""
    scans = [node.relation for node in order if isinstance(node, Decode)]
    return len(scans) - len(set(scans))
