"""One model becomes nodes over the nodes of what it reads; what can't be kept up to date is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from millstream.expressions import Expression, Read
from millstream.plan.build.catalog import ModelSpec, PlanProblem
from millstream.plan.build.scope import kept
from millstream.plan.build.select import select
from millstream.plan.keys import has_fixed_offset
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
    Union,
    Watermark,
)
from millstream.plan.traits import (
    KeyLostError,
    KnownTraits,
    Mode,
    NotIncrementalError,
    Traits,
    projected_keys,
)
from millstream.plan.unbounded import Stand
from millstream.sql.query import Body, Cte, Derived, Generated, Input, Scan, Select, Whole
from millstream.sql.query import Union as UnionOf


class Place(Protocol):
    """What knows where it stands in the compiled SQL."""

    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...


class Around(Struct, frozen=True):
    """What a model can read."""

    provide: Callable[[str, bool], Node]
    """The node of a relation's id: as a stream of rows or changes, or at rest."""
    can_rest: Callable[[str], bool]
    """Whether a relation can be read as its newest rows, instead of row by row."""
    keyed: frozenset[str] = frozenset()
    """Python functions that keep state by key."""
    zone: str = "UTC"
    """The time zone of the session."""

    @property
    def fixed_offset(self) -> bool:
        """Tell whether clocks are never put back, so that no local time comes twice."""
        return has_fixed_offset(self.zone)


class ModelBuilder:
    """Builds one model; `problems` says what can't be."""

    def __init__(self, spec: ModelSpec, around: Around, known: KnownTraits) -> None:
        self.spec = spec
        self.around = around
        self.traits = known
        self.ctes: dict[str, Node] = {}
        self.problems: list[PlanProblem] = []
        self.stands: list[Stand] = []
        """What keeps state."""

    def build(self) -> Node:
        """Return the model's relation, before it is stored anywhere."""
        query = self.spec.query
        for name, body in query.ctes.items():
            self.ctes[name] = self._labelled(self.body(body), name)
        node = self.body(query.body)
        node = self._configured(node)
        return self._labelled(node, self.spec.name)

    def body(self, body: Body) -> Node:
        match body:
            case Select():
                return select(self, body)
            case UnionOf():
                return self._union(body)
            case Whole():
                return self._opaque(body)

    # -- what a model is made of

    def relation(self, relation: str, *, at_rest: bool) -> Node:
        return self.around.provide(relation, at_rest and self.around.can_rest(relation))

    def streams(self, given: Input) -> bool:
        """Tell whether an input of a FROM clause can only be read row by row."""
        match given:
            case Scan(relation=relation):
                return (
                    not self.around.can_rest(relation)
                    and self.mode(self.relation(relation, at_rest=False)) != "static"
                )
            case Cte(name=name):
                return self.mode(self.ctes[name]) != "static"
            case Derived(query=query):
                return any(self._body_streams(query))
            case Generated():
                return False

    def _body_streams(self, body: Body) -> list[bool]:
        match body:
            case Select():
                return [self.streams(each.input) for each in body.relations]
            case UnionOf():
                return [found for side in body.sides for found in self._body_streams(side)]
            case Whole():
                return [True]

    def one_row(self) -> Node:
        """Return what `select 1` reads."""
        return self.made(SeedScan(relation="", label="one row"), None)

    def made(self, node: Node, place: Place | None, names: Mapping[str, str] | None = None) -> Node:
        """Take note of a node's traits, and of what can't be done, which is reported at a place in the SQL.

        `names` has the SQL of columns that the plan has given names to.
        """
        try:
            self.traits.of(node)
            self._check_clocks(node)
        except NotIncrementalError as error:
            if isinstance(error, KeyLostError):
                error = error.written(names or {})
            start, stop = (place.start, place.stop) if place else (0, 0)
            if isinstance(place, Select | UnionOf | Whole):
                stop = min(stop, start + len("select"))  # its first word stands for all of it
            self.problem(error.code, error.message, error.remedy, start, stop)
            self.traits.note(node, Traits("append"))
        return node

    def _check_clocks(self, node: Node) -> None:
        """Refuse a key made of local times where clocks are put back: a plan's traits know no time zone."""
        if isinstance(node, Project) and not (node.keys or self.around.fixed_offset):
            given = self.traits.of(node.input)
            if given.mode == "upsert":
                projected_keys(given, node.input, list(node.items), fixed_offset=False)

    def mode(self, node: Node) -> Mode:
        return self.traits.of(self.made(node, None)).mode

    def timed(
        self, node: Node, time: str, delay: str, start: int = 0, stop: int = 0, option: str = ""
    ) -> Node:
        """Return a relation with an event time; Spark takes one watermark on the way of a row."""
        known = self.traits.of(node).watermarks
        if (time, delay) in known:
            return node
        if known:
            message = "these rows have a watermark already: `{}`, {}".format(*known[0])
            remedy = "change that one, or leave this one out"
            self.problem("MS526", message, remedy, start, stop, option)
            return node
        found = Watermark(input=node, time=time, delay=delay, models=(self.spec.id,))
        return self.made(found, None)

    def stand(
        self,
        node: Aggregate | Dedupe | Join | Stateful,
        place: Place | None,
        grown: Iterable[str],
        times: Iterable[str] = (),
        option: str = "",
    ) -> None:
        """Take note of what keeps state, and of where it stands."""
        start, stop = (place.start, place.stop) if place else (0, 0)
        if isinstance(place, Select | UnionOf):
            stop = min(stop, start + len("select"))
        inputs = tuple(self.traits.of(self.made(each, None)) for each in node.inputs)
        self.stands.append(Stand(node, inputs, start, stop, option, tuple(grown), tuple(times)))

    def problem(
        self, code: str, message: str, remedy: str, start: int = 0, stop: int = 0, option: str = ""
    ) -> None:
        found = PlanProblem(self.spec.id, code, message, remedy, start, stop, option)
        if found not in self.problems:
            self.problems.append(found)

    def static_reads(self, expressions: tuple[Expression, ...]) -> tuple[Expression, ...]:
        """Check that subqueries within expressions read only what is at rest."""
        for expression in expressions:
            for relation in expression.reads:
                if not self.around.can_rest(relation):
                    self.problem(
                        "MS517",
                        f"a subquery can't read {relation.partition('.')[2]}, which is a stream",
                        "read a table, a seed or a reference topic there, or join the stream",
                        expression.start,
                        expression.stop,
                    )
        return expressions

    # -- the other kinds of bodies

    def _union(self, body: UnionOf) -> Node:
        sides = tuple(self.body(side) for side in body.sides)
        alike = all(
            c.type == wanted for side in sides for c, wanted in zip(side.columns, body.types, strict=True)
        )
        types = () if alike else body.types
        node = self.made(Union(sides=sides, types=types, models=(self.spec.id,)), body)
        if not body.distinct:
            return node
        together = Repartition(input=node, keys=node.names, models=(self.spec.id,))
        deduped = Dedupe(input=together, keys=node.names, models=(self.spec.id,))
        self.stand(deduped, body, node.names)
        return self.made(deduped, body)

    def _opaque(self, body: Whole) -> Node:
        relations = tuple(dict.fromkeys(p.relation for p in body.pieces if isinstance(p, Read)))
        # Beside a stream, what can be at rest is: a table is looked up, as in SQL that is understood.
        streams = not all(map(self.around.can_rest, relations))
        node = Opaque(
            reads=tuple(self.relation(relation, at_rest=streams) for relation in relations),
            pieces=body.pieces,
            relations=relations,
            reasons=body.reasons,
            columns=self.spec.columns,
            models=(self.spec.id,),
        )
        return self.made(node, body)

    # -- what the configuration adds

    def _configured(self, node: Node) -> Node:
        models = (self.spec.id,)
        if self.spec.watermark:
            node = self.timed(node, *self.spec.watermark, option="watermark")
        if self.spec.dedupe:
            keys, within = self.spec.dedupe
            known = self.traits.of(node)
            if within and known.mode == "append" and not known.watermarks:
                self.problem(
                    "MS523",
                    "these rows have no event time by which `within` could forget them",
                    "select the column of the source's watermark, or set `watermark` of the model",
                    option="dedupe",
                )
            elif within and known.mode == "append" and len(known.watermarks) > 1:
                first, *_, last = (f"`{name}`" for name, _ in known.watermarks)
                self.problem(
                    "MS523",
                    f"these rows have several event times: `within` could count by {first} or by {last}",
                    "select one of them only, or the other one as text: cast(... as string)",
                    option="dedupe",
                )
            together = Repartition(input=node, keys=keys, models=models)
            deduped = Dedupe(input=together, keys=keys, within=within, models=models)
            self.stand(deduped, None, keys, option="dedupe")
            node = self.made(deduped, None)
        return node

    def _labelled(self, node: Node, label: str) -> Node:
        """Give a relation its name; one that belongs to another model stays as it is."""
        if (node.label and node.label != label) or self.spec.id not in node.models:
            project = Project(input=node, items=tuple(kept(node)), label=label, models=(self.spec.id,))
            return self.made(project, None)
        named = replace(node, label=label)
        self.traits.note(named, self.traits.of(node))
        return named
