"""Compares topics and tables in two versions from their readers' point of view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.core.types import DOUBLE, FLOAT, INTEGERS, UNKNOWN, Array, Decimal, Map, Row, Type, parse_type
from millstream.formats.registry import DEFAULT_FORMAT, FormatName, format_of
from millstream.outputs.registry import Materialization, StoredAs
from millstream.plan.nodes import (
    Decode,
    Filter,
    Join,
    Lookup,
    Maintained,
    Node,
    Plan,
    TableScan,
    TemporalJoin,
)
from millstream.plan.traits import traits_of
from millstream.review.schemas import Schemas, schema_findings, schemas_of
from millstream.review.values import ContractChange, NodeChange
from millstream.review.version import ReviewedVersion
from millstream.review.wording import describe_records
from millstream.stores.registry import DEFAULT

Findings = Iterator[tuple[Literal["breaking", "note", "todo"], str]]


class Contract(Struct, frozen=True):
    """What a model promises to its readers."""

    kind: StoredAs
    name: str
    model: NodeId
    columns: dict[str, tuple[str, Type, bool]]
    """By name in lower case: name, type, and whether it can be NULL."""
    keys: tuple[str, ...] = ()
    format: FormatName = DEFAULT_FORMAT
    key_format: str = ""
    """In words: `avro (confluent)`."""
    options: Mapping[str, Any] = {}
    changes: bool = False
    """Its records are changes of rows."""
    upsert: bool = False
    deletes: bool = False
    """It has tombstones, or rows are deleted."""
    store: str = DEFAULT
    maintained: bool = False
    """It is a table over tables."""


def contract_changes(
    old: ReviewedVersion,
    new: ReviewedVersion,
    nodes: Mapping[NodeId, NodeChange],
    accept: Collection[str] = (),
) -> tuple[ContractChange, ...]:
    """Return the topics and tables that changed; `nodes` are the changes by id.

    `accept` is what users can accept so that queries continue: `stored:totals`.
    """
    # Where the older version does not compile, columns of some models are unknown.
    unknown = {
        id_ for id_, node in old.manifest.nodes.items() if any(c.type == UNKNOWN.name for c in node.columns)
    }
    before, after = (_by_name(model_contracts(version, unknown)) for version in (old, new))
    by_model = {contract.model: contract for contract in after.values()}
    schemas = schemas_of(old), schemas_of(new)
    changes: list[ContractChange] = []
    for name, was in before.items():
        now = after.get(name)
        if now is None:
            changes.append(_removed(was, by_model.get(was.model)))
        else:
            more = _of_schemas(was, now, old, new, schemas)
            if change := _changed(was, now, nodes.get(now.model), more, accept):
                changes.append(change)
    changes += [
        ContractChange(kind=now.kind, name=now.name, model=now.model, status="added")
        for name, now in after.items()
        if name not in before
    ]
    changes += _sources(old, new, nodes, schemas)
    return tuple(sorted(changes, key=lambda change: (change.kind, change.name, change.status)))


def _sources(
    old: ReviewedVersion,
    new: ReviewedVersion,
    nodes: Mapping[NodeId, NodeChange],
    schemas: tuple[Schemas, Schemas],
) -> Iterator[ContractChange]:
    """Yield the topics whose existing records no longer fit the declared types, or the newer schema."""
    before, after = old.nodes_of("source"), new.nodes_of("source")
    for id_ in sorted(before.keys() & after.keys()):
        if "kind" in after[id_].config:
            continue  # not a topic
        node = nodes.get(id_)
        retyped = [column for column in node.columns if column.kind == "retyped"] if node else []
        fate = _FATES[str(after[id_].config.get("on_bad_record") or "fail")]
        breaking = tuple(
            f"`{column.name}` is read as {column.after} instead of {column.before}: other records {fate}"
            for column in retyped
            if any(
                stops
                for stops, _ in find_misfits(parse_type(column.after), parse_type(column.before), column.name)
            )
        )
        findings = schema_findings(before[id_], after[id_], *schemas)
        # The topic holds records of the older schema; those of other readers are not this project's concern.
        breaking += tuple(finding.text for finding in findings if finding.direction == "backward")
        notes = tuple(finding.text for finding in findings if finding.direction == "forward")
        if breaking or notes:
            name = str(after[id_].config.get("topic") or after[id_].name)
            yield ContractChange(
                kind="topic", name=name, model=id_, status="changed", breaking=breaking, notes=notes
            )


_FATES = {"fail": "stop the query", "skip": "are skipped", "dead_letter": "become dead letters"}


def _by_name(by_model: Mapping[NodeId, Contract]) -> dict[tuple[str, str, str], Contract]:
    """Return contracts by kind and name; if several models write a topic, by model, too."""
    writers = Counter((contract.kind, contract.name) for contract in by_model.values())
    return {
        (
            contract.kind,
            contract.name,
            str(contract.model) if writers[contract.kind, contract.name] > 1 else "",
        ): contract
        for contract in by_model.values()
    }


def model_contracts(version: ReviewedVersion, left_out: Collection[NodeId] = ()) -> dict[NodeId, Contract]:
    """Return the contracts of a version by model."""
    by_model: dict[NodeId, Contract] = {}
    outputs = {o.model: o for o in version.topology.written.outputs} if version.topology else {}
    retracting = _retracting_nodes(version.topology.written) if version.topology else set()
    for node in version.manifest.nodes.values():
        stored = node.materialization
        if stored is None or not stored.stored_as or node.id in left_out:
            continue
        columns = {c.name.lower(): (c.name, parse_type(c.type), c.nullable) for c in node.columns}
        output = outputs.get(node.id)
        mode = traits_of(output.input).mode if output is not None else "append"
        extras = {item.name for item in output.extras} if output is not None else set[str]()
        by_model[node.id] = Contract(
            kind=stored.stored_as,
            name=stored.stored_name(node.name),
            model=node.id,
            columns=columns,
            keys=stored.keys,
            format=stored.sink.encoding.name if stored.sink is not None else DEFAULT_FORMAT,
            changes=stored.changes,
            key_format=_key_format(stored),
            options=node.config,
            upsert=mode == "upsert",
            deletes="delete_when" in extras or id(output) in retracting,
            store=stored.store or DEFAULT,
            maintained=output is not None and isinstance(output.input, Maintained),
        )
    return by_model


def _key_format(stored: Materialization) -> str:
    encoding = dict(stored.encodings).get("key")
    return "the default" if encoding is None else str(encoding)


def _retracting_nodes(plan: Plan) -> set[int]:
    """Return the `id`s of nodes that can retract rows."""
    retracting: set[int] = set()
    for node in plan.order:
        # Versions that are replaced later change no row that has been joined with them.
        inputs = node.inputs[:1] if isinstance(node, TemporalJoin) else node.inputs
        if _retracts(node) or any(id(upstream) in retracting for upstream in inputs):
            retracting.add(id(node))
    return retracting


def _retracts(node: Node) -> bool:
    match node:
        case Filter():
            return traits_of(node.input).mode == "upsert"
        case Join() | Lookup():
            return node.kind != "left" and traits_of(node.left).mode == "upsert"
        case Decode():
            return bool(node.unique_by)
        case TableScan():
            return node.changes
    return False


def _removed(old: Contract, new: Contract | None) -> ContractChange:
    model = old.model.shown_name
    if new is None:
        why = f"{model} was removed: nothing writes to the {old.kind} any more"
    else:
        why = f"{model} now writes to the {new.kind} {new.name}: nothing writes here any more"
    return ContractChange(
        kind=old.kind, name=old.name, model=old.model, status="removed", breaking=(why,),
        todo=(f"move its readers, then remove the {old.kind}",),
    )  # fmt: skip


def _of_schemas(
    was: Contract, now: Contract, old: ReviewedVersion, new: ReviewedVersion, schemas: tuple[Schemas, Schemas]
) -> Findings:
    """Yield what readers notice of another schema of a topic, of which it holds older records."""
    before, after = old.manifest.nodes[was.model], new.manifest.nodes[now.model]
    for finding in schema_findings(before, after, *schemas):
        yield "breaking" if finding.direction == "forward" else "note", finding.text


def _changed(
    old: Contract, new: Contract, node: NodeChange | None, more: Findings, accept: Collection[str]
) -> ContractChange | None:
    stored = _topic(old, new) if new.kind == "topic" else _table(old, new, accept)
    findings = [*_columns(old, new, node), *stored]
    findings += [*_keys(old, new, node), *more]
    breaking = tuple(dict.fromkeys(text for level, text in findings if level == "breaking"))
    notes = tuple(dict.fromkeys(text for level, text in findings if level == "note"))
    todo = tuple(dict.fromkeys(text for level, text in findings if level == "todo"))
    if not (breaking or notes or todo):
        return None
    return ContractChange(
        kind=new.kind, name=new.name, model=new.model, status="changed",
        breaking=breaking, notes=notes, todo=todo,
    )  # fmt: skip


def _columns(old: Contract, new: Contract, node: NodeChange | None) -> Findings:
    renamed = {c.before.lower(): c.after for c in node.columns if c.kind == "renamed"} if node else {}
    for name, (shown, type_, nullable) in old.columns.items():
        if name in renamed and renamed[name].lower() not in old.columns:
            yield "breaking", f"`{shown}` is now called `{renamed[name]}`"
            continue
        if (after := new.columns.get(name)) is None:
            yield "breaking", f"`{shown}` was removed"
            continue
        if after[0] != shown:
            yield "breaking" if new.kind == "topic" else "note", f"`{shown}` is now spelled `{after[0]}`"
        for stops, text in find_misfits(type_, after[1], shown):
            yield "breaking" if stops else "note", text
        if after[2] and not nullable:
            omitted = new.kind == "topic" and format_of(new.format).omits_null and not new.changes
            yield "breaking", f"`{shown}` can be NULL now{', and is then omitted' if omitted else ''}"
    for name, (shown, type_, _) in new.columns.items():
        if new.kind == "topic" and name not in old.columns and shown not in renamed.values():
            yield "note", f"`{shown}` ({type_}) is new"
    common = [n for n in old.columns if n in new.columns]
    ordered = format_of(new.format).by_position
    if ordered and [n for n in new.columns if n in old.columns][: len(common)] != common:
        yield "breaking", f"the order of columns changed, which matters in {new.format}"
    elif ordered and list(new.columns)[: len(old.columns)] != list(old.columns):
        yield "breaking", f"columns were added or removed, and {new.format} has no column names"


_REPLACE = "deploy it with `millstream apply`, which replaces the table"


def _keys(old: Contract, new: Contract, node: NodeChange | None) -> Findings:
    after, before = ", ".join(new.keys) or "none", ", ".join(old.keys) or "none"
    if old.keys != new.keys:
        if new.kind == "topic":
            yield "breaking", f"its key is {after} instead of {before}: records move to other partitions"
            if old.upsert or new.upsert:
                yield "todo", "records under old keys stay until they are deleted"
        else:
            yield "breaking", f"its key is {after} instead of {before}"
            yield "todo", _REPLACE
        return
    if node is None or new.maintained:
        return  # the rows of a table over tables are those that its SQL gives now
    if changed := [c.name for c in node.columns if c.name in new.keys and c.kind == "meaning"]:
        stay = "records under old values stay"
        if new.kind == "table":
            stay = "without a rebuild, rows under old values would stay"
        yield "note", f"the values of key `{', '.join(changed)}` change: {stay}"


def _topic(was: Contract, now: Contract) -> Findings:
    if was.format != now.format:
        yield "breaking", f"its format is {now.format} instead of {was.format}"
    defaults: dict[str, Any] = {"framing": "plain", "subject": f"{now.name}-value", "format_options": {}}
    for option, default in defaults.items():
        after, before = now.options.get(option) or default, was.options.get(option) or default
        if after != before:
            yield "breaking", f"`{option}` is {after} instead of {before}"
    if was.changes != now.changes:
        yield (
            "breaking",
            f"its records are {describe_records(now.changes)} instead of {describe_records(was.changes)}",
        )
    if was.key_format != now.key_format:
        yield "breaking", f"the format of its key is {now.key_format} instead of {was.key_format}"
    if was.upsert != now.upsert:
        rows = "the newest row of each key" if now.upsert else "every row, not only the newest of each key"
        yield "breaking", f"it now holds {rows}"
    if now.deletes and not was.deletes:
        yield "breaking", "records without a value (tombstones) now delete keys"
    before, after = was.options.get("partitions"), now.options.get("partitions")
    if before != after:
        yield "note", f"{after or 'the default number of'} partitions instead of {before or 'the default'}"
        if after and before and int(after) > int(before):
            yield "breaking", "more partitions: records move to other partitions"
            yield "todo", f"kafka-topics.sh --alter --topic {now.name} --partitions {after}"
        elif after:
            yield "todo", "Kafka can't remove partitions: create a new topic, or alter it if it has fewer"
    old, new = was.options.get("topic_config") or {}, now.options.get("topic_config") or {}
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            value = new.get(name, "the cluster's default")
            yield "note", f"`{name}` is {value} instead of {old.get(name, 'the default')}"
            if name == "cleanup.policy" and "compact" in str(value):
                yield "breaking", f"`cleanup.policy` is {value}: Kafka deletes older records of a key"
            yield "todo", f"kafka-configs.sh --alter --topic {now.name}: Millstream never changes a topic"


def _table(was: Contract, now: Contract, accept: Collection[str]) -> Findings:
    if was.store != now.store:
        yield "breaking", f"it is stored in {now.store} instead of {was.store}"
        yield "todo", _REPLACE
    for name, (shown, type_, _) in was.columns.items():
        after = now.columns.get(name)
        if after is None:
            removed = "`apply` removes it unless other models follow the changes of the table"
            yield "todo", f"the column `{shown}` gets no more values; {removed}"
        elif after[1] != type_:
            # No store changes the type of a column in place; the swap of a rebuild replaces the table.
            yield "note", f"`build` and `run` can't change the type of `{shown}` to {after[1]} in {now.store}"
            yield "todo", _REPLACE
    if new := [shown for name, (shown, _, _) in now.columns.items() if name not in was.columns]:
        names, stored = ", ".join(f"`{name}`" for name in new), f"stored:{now.model.shown_name}"
        without = f", `build --accept {stored}` leaves NULL" if stored in accept else ""
        yield "note", f"{names}: added to the table; `apply` fills existing rows{without}"


def find_misfits(old: Type, new: Type, path: str) -> Iterator[tuple[bool, str]]:
    """Yield how the new type differs for readers of the old one, and whether that breaks them."""
    if old == new or UNKNOWN in {old, new}:
        return
    match old, new:
        case Row(), Row():
            yield from _fields(old, new, path)
        case Array(element=before), Array(element=after):
            yield from find_misfits(before, after, f"{path}[]")
        case Map(key=key, value=before), Map(key=other, value=after) if key == other:
            yield from find_misfits(before, after, f"{path}[]")
        case _:
            yield not _is_number_like(old, new), f"`{path}` is {new} instead of {old}{_why(old, new)}"


def _fields(old: Row, new: Row, path: str) -> Iterator[tuple[bool, str]]:
    for field in old.fields:
        after = new.field(field.name)
        if after is None:
            yield True, f"the field `{path}.{field.name}` was removed"
        else:
            yield from find_misfits(field.type, after.type, f"{path}.{field.name}")
    for field in new.fields:
        if old.field(field.name) is None:
            yield False, f"the field `{path}.{field.name}` is new"


def _is_number_like(old: Type, new: Type) -> bool:
    """Tell whether new values can be read as before, except for large numbers."""
    if old in INTEGERS:
        return new in INTEGERS
    fractions = (FLOAT, DOUBLE)
    return (old in fractions or isinstance(old, Decimal)) and (
        new in fractions or new in INTEGERS or isinstance(new, Decimal)
    )


def _why(old: Type, new: Type) -> str:
    if old in INTEGERS and new in INTEGERS and INTEGERS.index(new) > INTEGERS.index(old):
        return ": large values do not fit existing readers"
    return ""
