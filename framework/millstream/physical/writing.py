"""The SQL of one query whose rows are records: a SELECT for each part, a fan-out where outputs share rows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from millstream.expressions import column
from millstream.physical.emit.draft import Draft, of_relation
from millstream.physical.emit.fuse import unused
from millstream.physical.emit.names import called
from millstream.physical.emit.steps import Step, Stepped, in_steps
from millstream.physical.emit.text import Cte, Select, statement
from millstream.physical.emit.walk import Final, How
from millstream.physical.letters import dead_letter, decoded_only
from millstream.physical.naming import Views, scan_of
from millstream.physical.records import fan_out, needs_columns, record
from millstream.physical.shared import Shared
from millstream.physical.trunk import chained
from millstream.plan.nodes import Decode, Node, Output


class Part(Struct, frozen=True, eq=False):
    """Outputs above one node that all their rows come through."""

    outputs: tuple[Output, ...]
    trunk: Node

    @property
    def direct(self) -> bool:
        """Tell whether one SELECT over the trunk's rows can make the records of all."""
        return len(self.outputs) == 1 or all(chained(output, self.trunk) for output in self.outputs)


class Around(Struct, frozen=True, eq=False):
    """What the parts of one query are written with."""

    views: Views
    shared: Shared
    deletes: bool = False
    letters: Decode | None = None
    """The source whose dead letters the query sends on."""

    def leaf(self, node: Node) -> str | None:
        return self.shared.names.get(id(node)) or self.views.leaf(node)

    def steps(self, roots: Sequence[Node], used: Sequence[str], trunks: Sequence[Node] = ()) -> Stepped:
        how = How(
            trunks=frozenset(map(id, trunks)),
            keep_bad=self.letters is not None,
            reserved=(*self.shared.used, *used),
            watermarks=self.shared.watermarks,
        )
        return in_steps(roots, self.leaf, deletes=self.deletes, reads=self.views.of, how=how)


class Written(Struct, frozen=True):
    steps: tuple[Step, ...]
    ctes: tuple[Cte, ...]
    bodies: tuple[str, ...]
    """A SELECT for each part."""
    parts: tuple[str, ...]
    """Each part as a statement of its own, over the shared rows."""

    def sql(self, gone: Sequence[tuple[int, str]] = ()) -> str:
        """Return the statement; `gone` has places of parts that are no more, and SQL that gives no rows."""
        sides = list(self.bodies)
        for place, sql in gone:
            sides.insert(place, sql)
        return statement(self.ctes, "\nunion all\n".join(sides))


def records_sql(parts: Sequence[Part], around: Around) -> Written:
    """Return one statement whose rows are the records of all outputs."""
    outputs = [output for part in parts for output in part.outputs]
    extras = [item.name for output in outputs for item in output.extras]
    headers = around.letters is not None or any(name.startswith("headers.") for name in extras)
    timestamp = any(output.options.get("timestamp") for output in outputs)
    steps: list[Step] = list(around.shared.steps)
    ctes: list[Cte] = []
    bodies: list[str] = []
    whole: list[str] = []
    for part in parts:
        several = len(part.outputs) != 1 or around.letters is not None
        trunks = [part.trunk] if several else []
        used = [*(each.name for each in ctes), *(step.name for step in steps)]
        found = around.steps([*part.outputs, *trunks], used, trunks)
        own = list(found.emitted.ctes)
        finals = found.emitted.finals
        made = [
            _record(output, final, own, around, headers=headers, timestamp=timestamp)
            for output, final in zip(part.outputs, finals, strict=False)
        ]
        body = _fanned(finals[-1], made, around) if several else Select(made[0], around.views.of).text()
        steps += found.steps
        ctes += own
        bodies.append(body)
        whole.append(statement(own, body))
    return Written(tuple(steps), (*around.shared.ctes, *ctes), tuple(bodies), tuple(whole))


def _record(
    output: Output, final: Final, ctes: list[Cte], around: Around, *, headers: bool, timestamp: bool
) -> Draft:
    draft = final.draft
    if needs_columns(draft, output):
        draft = as_cte(draft, output.label or called(output), ctes, around.views)
    draft = record(draft, output, headers=headers, timestamp=timestamp)
    return decoded_only(draft) if around.letters is not None else draft


def _fanned(trunk: Final, made: list[Draft], around: Around) -> str:
    base = trunk.draft
    if around.letters is not None:
        made = [dead_letter(base, around.letters, scan_of(around.letters).topic), *made]
    over = Select(Draft({}, base.sources), around.views.of)
    return over.text([over.expression(fan_out(made))])


def as_cte(draft: Draft, name: str, ctes: list[Cte], views: Views) -> Draft:
    """Make columns of what is calculated, where a record needs it more than once."""
    name = unused(name, [*(cte.name for cte in ctes), *views.names])
    ctes.append(Cte(name, Select(draft, views.of).text()))
    columns = ((n, column(n, e.type, nullable=e.nullable)) for n, e in draft.items.items())
    return of_relation(name, columns, deleted=draft.deleted is not None)
