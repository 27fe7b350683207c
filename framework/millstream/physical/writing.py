"""The SQL of one query whose rows are records: a SELECT for each part, a fan-out where outputs share rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.physical.calling import Called, Calls, certain
from millstream.physical.checks import asked, stopping, telling, telling_tests
from millstream.physical.emit.draft import Draft, of_relation
from millstream.physical.emit.fuse import unused
from millstream.physical.emit.names import called
from millstream.physical.emit.steps import Step, Stepped, in_steps
from millstream.physical.emit.text import Cte, Select, deeper, statement
from millstream.physical.emit.walk import Final, How
from millstream.physical.fans import decoding, fans_out
from millstream.physical.letters import dead_letter, decoded_only, failed_call, failing, skipped_row, untimed
from millstream.physical.naming import Views, scan_of
from millstream.physical.records import Look, fan_out, needs_columns, record
from millstream.physical.shared import Shared
from millstream.plan.nodes import Decode, Node, Output
from millstream.plan.nodes.order import in_order

RECORDS = "_records"
"""The column of the records that are made of one row."""


class Part(Struct, frozen=True, eq=False):
    """Outputs above one node that all their rows come through."""

    outputs: tuple[Output, ...]
    trunk: Node

    @property
    def direct(self) -> bool:
        """Tell whether one SELECT over the trunk's rows can make the records of all."""
        return len(self.outputs) == 1 or all(fans_out(output, self.trunk) for output in self.outputs)

    @property
    def source(self) -> Decode | None:
        """The decoding whose records its rows are, one by one."""
        node = decoding(self.trunk)
        return node if isinstance(node, Decode) and (node.fields or node.key) else None

    @property
    def placed(self) -> bool:
        """Tell whether each row is that of one record of a topic."""
        return self.source is not None

    @property
    def calls(self) -> bool:
        """Tell whether Python functions are called above a topic's decoded records."""
        nodes = in_order(self.outputs) if self.placed else ()
        return any(e.functions for node in nodes for e in node.expressions)

    def policy(self, output: Output) -> str:
        """Return what happens to a row on which one of an output's functions fails."""
        source = self.source
        return str(output.options.get("on_bad_record") or (source.on_bad_record if source else "fail"))

    @property
    def skips(self) -> tuple[str, ...]:
        """Return the models that leave out rows on which a function fails."""
        if not self.calls:
            return ()
        return tuple(output.model for output in self.outputs if self.policy(output) == "skip")

    @property
    def records(self) -> Literal["", "place", "whole"]:
        """Return what of its record a row must keep."""
        if not self.placed:
            return ""
        sent = self.calls and any(self.policy(output) == "dead_letter" for output in self.outputs)
        return "whole" if sent else "place"


class Around(Struct, frozen=True, eq=False):
    """What the parts of one query are written with."""

    views: Views
    shared: Shared
    deletes: bool = False
    letters: Decode | None = None
    """The source whose dead letters the query sends on."""

    def leaf(self, node: Node) -> str | None:
        return self.shared.names.get(id(node)) or self.views.leaf(node)

    def steps(
        self,
        roots: Sequence[Node],
        used: Sequence[str],
        trunks: Sequence[Node] = (),
        records: Literal["", "place", "whole"] = "",
    ) -> Stepped:
        how = How(
            trunks=frozenset(map(id, trunks)),
            keep_bad=self.letters is not None,
            records=records,
            reserved=(*self.shared.used, *used),
            told=True,
        )
        return in_steps(roots, self.leaf, deletes=self.deletes, reads=self.views.of, how=how)


class Written(Struct, frozen=True):
    steps: tuple[Step, ...]
    ctes: tuple[Cte, ...]
    bodies: tuple[str, ...]
    """A SELECT for each part."""
    parts: tuple[str, ...]
    """Each part as a statement of its own, over the shared rows; empty where there are none."""
    letters: tuple[Decode, ...] = ()
    """The sources whose records can be sent on as dead letters."""

    def sql(self, gone: Sequence[tuple[int, str]] = ()) -> str:
        """Return the statement; `gone` has places of parts that are no more, and SQL that gives no rows."""
        sides = list(self.bodies)
        for place, sql in gone:
            sides.insert(place, sql)
        return statement(self.ctes, "\nunion all\n".join(sides))


def records_sql(parts: Sequence[Part], around: Around) -> Written:
    """Return one statement whose rows are the records of all outputs."""
    look = _look(parts, around)
    steps: list[Step] = list(around.shared.steps)
    ctes: list[Cte] = []
    bodies: list[str] = []
    whole: list[str] = []
    for part in parts:
        tested = any(output.checks for output in part.outputs)
        several = len(part.outputs) != 1 or around.letters is not None or part.calls or tested
        trunks = [part.trunk] if several or part.placed else []
        used = [*(each.name for each in ctes), *(step.name for step in steps)]
        found = around.steps([*part.outputs, *trunks], used, trunks, part.records)
        own = list(found.emitted.ctes)
        finals = found.emitted.finals
        base = finals[-1].draft
        drafts = [
            _columns(output, final, own, around) for output, final in zip(part.outputs, finals, strict=False)
        ]
        if several:
            body = _fan_out(part, drafts, base, own, around, look)
        else:
            place = base.sources[0].alias if part.placed else None
            made = record(drafts[0], part.outputs[0], look, place)
            body = Select(made, around.views.of).text()
        steps += found.steps
        ctes += own
        bodies.append(body)
        whole.append(statement(own, body) if around.shared.names else "")
    return Written(
        tuple(steps), (*around.shared.ctes, *ctes), tuple(bodies), tuple(whole), letters_of(parts, around)
    )


def letters_of(parts: Sequence[Part], around: Around) -> tuple[Decode, ...]:
    """Return the sources whose records can be sent on as dead letters."""
    found = [around.letters] if around.letters is not None else []
    found += [part.source for part in parts if part.records == "whole" and part.source is not None]
    return tuple({each.relation: each for each in found}.values())


def _look(parts: Sequence[Part], around: Around) -> Look:
    outputs = [output for part in parts for output in part.outputs]
    extras = [item.name for output in outputs for item in output.extras]
    return Look(
        headers=bool(letters_of(parts, around))
        or any(part.placed for part in parts)
        or bool(telling_tests(outputs))
        or any(name.startswith("headers.") for name in extras),
        timestamp=any(output.options.get("timestamp") for output in outputs),
    )


def _columns(output: Output, final: Final, ctes: list[Cte], around: Around) -> Draft:
    draft = final.draft
    if needs_columns(draft, output):
        draft = as_cte(draft, output.label or called(output), ctes, around.views)
    return decoded_only(draft) if around.letters is not None else draft


def _fan_out(
    part: Part, drafts: Sequence[Draft], base: Draft, ctes: list[Cte], around: Around, look: Look
) -> str:
    """Return the SELECT that makes all records of each row; calls of functions become columns before."""
    first = base
    place = base.sources[0].alias if part.placed else None
    records = [] if around.letters is None else [dead_letter(base, around.letters, _topic(around.letters))]
    if part.calls:
        used = [*base.items, *(name for draft in drafts for name in draft.items)]
        calls = Calls(base.sources[0].alias, used)
        for output, draft in zip(part.outputs, drafts, strict=True):
            made, letters = _with_calls(part, output, calls.lifted(draft), calls, base)
            records += [*letters, *_tested(made, output, base, look, place)]
        base = _called(base, calls, ctes, around.views)
    else:
        for output, draft in zip(part.outputs, drafts, strict=True):
            records += _tested(draft, output, base, look, place)
    records = [untimed(each) if look.timestamp else each for each in records]
    assert all(draft.sources == first.sources for draft in drafts), "not written over the rows of the part"
    rows = Select(Draft({RECORDS: fan_out(records)}, base.sources), around.views.of).text()
    told = " or key is not null" if part.skips or telling_tests(part.outputs) else ""
    # An array that is a column is made by compiled code, in pieces that the JVM compiles well however many
    # models there are; as the argument of a generator, or filtered by a lambda, Spark interprets it.
    return (
        f"select\n  {', '.join(records[0].items)}\nfrom (\n  {deeper(rows)}\n)\n"
        f"lateral view inline({RECORDS}) records\nwhere topic is not null{told}"
    )


def _tested(rows: Draft, output: Output, base: Draft, look: Look, place: str | None) -> list[Draft]:
    """Return the records of the rows that its data tests let through, and what tells of the others."""
    if not output.checks:
        return [record(rows, output, look, place)]
    found = asked(rows, output, look, place)
    kept = found.rows
    if stops := stopping(found, output.model.partition(".")[2], place):
        kept = replace(kept, where=(*certain(kept.where), *stops))
    return [*telling(base, rows, found), *found.letters, record(kept, output, look, place)]


def _with_calls(
    part: Part, output: Output, found: Called, calls: Calls, base: Draft
) -> tuple[Draft, list[Draft]]:
    """Return a model's rows without those on which a function failed, and what becomes of these."""
    policy, model = part.policy(output), output.model.partition(".")[2]
    where, letters = list(found.draft.where), []
    if found.columns and policy == "fail":
        # A call can be made for other models, too, and fail on a row that this one doesn't want.
        where = certain(where)
    for name in found.columns:
        if policy == "fail":
            where.append(failing(base, model, calls.error(name)))
            continue
        where.append(calls.good(name))
        if policy == "dead_letter" and part.source is not None:
            letters.append(failed_call(base, _topic(part.source), model, calls.error(name)))
    if found.columns and policy == "skip":
        letters.append(skipped_row(base, output.model, [calls.failed(found.columns)]))
    return replace(found.draft, where=tuple(where)), letters


def _called(base: Draft, calls: Calls, ctes: list[Cte], views: Views) -> Draft:
    """Write the columns of calls, level by level, over the rows of a part."""
    (source,) = base.sources
    name = source.name
    for level in calls.levels:
        made = {each.name: each.call for each in level}
        select = Select(Draft(made, (replace(source, name=name),)), views.of)
        sql = select.text(["*", *select.items()])
        name = unused(f"{source.name}_called", [*(cte.name for cte in ctes), *views.names])
        ctes.append(Cte(name, sql))
    return replace(base, sources=(replace(source, name=name),))


def _topic(node: Decode) -> str:
    return scan_of(node).topic


def as_cte(draft: Draft, name: str, ctes: list[Cte], views: Views) -> Draft:
    """Make columns of what is calculated, where a record needs it more than once."""
    name = unused(name, [*(cte.name for cte in ctes), *views.names])
    ctes.append(Cte(name, Select(draft, views.of).text()))
    return of_relation(name, draft.items.items(), deleted=draft.deleted is not None)
