"""What each model's rows and columns mean: texts that are equal where the rows are.

Told twice: in terms of what the model itself reads, and in terms of sources and seeds alone, through all
other models. Of a refactoring, such as a part of a model that becomes a model of its own, the second tells
nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from msgspec import Struct

from millstream.expressions import Expression
from millstream.physical.meanings import Meanings, digest
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.plan.nodes import (
    Aggregate,
    Binary,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Node,
    Opaque,
    Project,
    SeedScan,
    Stateful,
    TableScan,
    TopicScan,
    Union,
)
from millstream.plan.nodes.order import in_order


class Meant(Struct, frozen=True):
    """One model."""

    rows: str
    """Which rows there are."""
    columns: dict[str, str]
    """By name in lower case: what it holds, of a row."""
    extras: dict[str, str] = {}
    """SQL of its options: headers, `delete_when`."""


class Told(Struct, frozen=True):
    """All models, by id."""

    own: dict[str, Meant]
    """In terms of what each reads, whatever the bodies of functions are."""
    whole: dict[str, Meant]
    """In terms of sources and seeds."""


def meanings(
    catalog: Catalog,
    seeds: Mapping[str, str],
    roots: Mapping[str, Node],
    models: Container[str],
    edited: Container[str],
) -> Told:
    """Return what some models of a version mean; `seeds` has digests of rows by id.

    Those of them that are not `edited` are told in terms of sources alone: their own SQL is the same.
    `roots` has what these models are, and all that they read, however far up.
    """
    functions = {name: function.digest for name, function in catalog.functions.items()}
    leaves = {id_: f"{t.topic} {t.format} {t.key_type}" for id_, t in catalog.topics.items()}
    leaves |= {id_: seeds.get(id_, "") for id_ in catalog.seeds}
    names = {id(root): id_ for id_, root in roots.items()}
    deep = _Depths(functions, roots, {}, leaves)
    own: dict[str, Meant] = {}
    whole: dict[str, Meant] = {}
    for id_, root in roots.items():
        if id_ not in models:
            continue
        model = catalog.models[id_]
        if id_ in edited:
            ends = _Depths({}, {}, {key: name for key, name in names.items() if name != id_}, {})
            own[id_] = _meant(ends, root, model)
        whole[id_] = _meant(deep, root, model)
    return Told(own, whole)


def _meant(depths: _Depths, root: Node, model: ModelSpec) -> Meant:
    kept_out = sorted(depths.of(root, check.wrong) for check in model.checks if check.keeps_out)
    return Meant(
        " but not ".join((depths.rows(root), *kept_out)),
        {column.name.lower(): depths.column(root, column.name) for column in root.columns},
        {name: depths.of(root, expression) for name, expression in model.extras},
    )


class _Depths(Meanings):
    """Meanings of columns, and of which rows there are, down to where they end."""

    def __init__(
        self,
        functions: Mapping[str, str],
        roots: Mapping[str, Node],
        ends: Mapping[int, str],
        leaves: Mapping[str, str],
    ) -> None:
        super().__init__(functions, roots)
        self._ends = ends
        """By `id` of a node: the relation that it stands for, where nobody looks further."""
        self._leaves = leaves
        """What is to be known of sources and seeds beside their names."""
        self._rows: dict[int, str] = dict(ends)
        self._read: dict[int, tuple[str, ...]] = {id_: (name,) for id_, name in ends.items()}
        """The relations that each node reads, in an order of their own."""
        self._ordered: dict[int, list[Node]] = {}
        """The sides of each union."""

    # -- columns

    def _origin(self, node: Node, name: str) -> tuple[Node, str] | None:
        return None if id(node) in self._ends else super()._origin(node, name)

    def _column(self, node: Node, name: str) -> str:
        below, way = self._follow(node, name)
        if end := self._ends.get(id(below)):
            return f"{end}.{way.lower()}"
        match below:
            case Project():
                return self._computed_by(below, way)
            case TableScan() if (root := self._roots.get(below.relation)) is not None:
                return self.column(root, way)
            case Decode() if self._leaves and way.lower() not in self._made(below):
                # The type says how it is read: one that is declared otherwise is another column.
                return f"{below.relation}.{way.lower()} {below.column(way).type}"
            case SeedScan():
                leaf = self._leaves.get(below.relation, "")
                return f"{below.relation}.{way.lower()} {below.column(way).type} {leaf}"
            case Stateful() | Opaque():
                return f"{self.rows(below)}.{way.lower()}"
            case Union():
                place = list(below.by_name).index(way.lower())
                sides = (self.column(side, side.columns[place].name) for side in self._sides(below))
                return f"union({', '.join(sides)})"
            case _:
                return self._computed_by(below, way)

    def of(self, node: Node, expression: Expression) -> str:
        text = super().of(node, expression)
        read = [self._relation(relation) for relation in expression.reads]
        return f"{text} [{', '.join(read)}]" if read else text

    def _made(self, node: Decode) -> Mapping[str, object]:
        """Return the columns that a model wrote into the topic, by their names in lower case."""
        root = self._roots.get(node.relation)
        return {} if root is None else root.by_name

    def _relation(self, relation: str) -> str:
        """Return all of a relation that an expression reads by its name."""
        root = self._roots.get(relation)
        return f"{relation} {self._leaves.get(relation, '')}" if root is None else self._all(root)

    def _all(self, node: Node) -> str:
        columns = (f"{c.name.lower()} {self.column(node, c.name)}" for c in node.columns)
        return digest("\n".join((self.rows(node), *columns)))

    # -- rows

    def rows(self, node: Node) -> str:
        """Return what tells which rows a node has."""
        order = in_order((node,), self._rows)
        self.describe(order)
        for each in order:
            if id(each) not in self._rows:
                self._rows[id(each)] = self._told_rows(each)
        return self._rows[id(node)]

    def _sides(self, node: Union) -> list[Node]:
        """Return sides in an order that says nothing of how they are written.

        First by what they read, so that an edit of one moves no other one where that tells them apart.
        """
        if (known := self._ordered.get(id(node))) is not None:
            return known
        for each in in_order(node.sides, self._read):
            if isinstance(each, TopicScan | TableScan | SeedScan):
                self._read[id(each)] = (each.relation,)
            else:
                names = {name for below in each.inputs for name in self._read[id(below)]}
                self._read[id(each)] = tuple(sorted(names))
        read = [self._read[id(side)] for side in node.sides]
        if len({*read}) == len(read):
            found = sorted(node.sides, key=lambda side: self._read[id(side)])
        else:
            found = sorted(
                node.sides, key=lambda side: (self._read[id(side)], self.rows(side), self._content(side))
            )
        self._ordered[id(node)] = found
        return found

    def _content(self, side: Node) -> str:
        """Return what a side holds, by the places of its columns."""
        return digest("\n".join(self.column(side, each.name) for each in side.columns))

    def _told_rows(self, node: Node) -> str:
        if node.one_to_one:
            return self._rows[id(node.inputs[0])]  # however many of them: all rows pass
        return digest("\n".join(self._parts(node)))

    def _parts(self, node: Node) -> list[str]:
        below = [self._rows[id(each)] for each in node.inputs]
        match node:
            case Filter():
                return self._filters(node)
            case TopicScan() | TableScan() if (root := self._roots.get(node.relation)) is not None:
                return [self.rows(root), type(node).__name__]
            case TopicScan() | TableScan() | SeedScan():
                return [node.relation, self._leaves.get(node.relation, "")]
            case Decode():
                # Of a model's topic, a record is a row of the model.
                return below if self._made(node) else [*below, node.on_bad_record, *node.unique_by]
            case Expand():
                return [*below, self.of(node.input, node.call), str(node.outer)]
            case Union():
                return ["union", *(self._rows[id(side)] for side in self._sides(node))]
            case Binary():
                on = sorted(self.of(node, each) for each in node.on)
                return [*below, type(node).__name__, node.kind, *on]
            case Aggregate():
                keys = sorted(self.of(node.input, key.expression) for key in node.keys)
                return [*below, "aggregate", *keys, node.emit, *self._late(node.input)]
            case Dedupe():
                keys = sorted(self.column(node.input, key) for key in node.keys)
                return [*below, "first of", *keys, str(node.within), *self._late(node.input)]
            case Stateful():
                facts = self.facts(node, {})
                return [*below, *(f"{name} {fact}" for name, fact in facts)]
            case Opaque():
                return [*self._pieces(node), *map(self._all, node.inputs)]
            case _:
                return [*below, node.fingerprint]

    def _filters(self, node: Filter) -> list[str]:
        """Tell filters that stand on each other, columns between them aside: their order says nothing."""
        conditions: set[str] = set()
        at: Node = node
        while (isinstance(at, Filter) or at.one_to_one) and id(at) not in self._ends:
            if isinstance(at, Filter):
                conditions.update(self.of(at.input, each) for each in at.conditions)
            (at,) = at.inputs
        return [self._rows[id(at)], *sorted(conditions)]

    def _late(self, node: Node) -> Iterable[str]:
        """Tell by what rows are late: a state leaves them out."""
        return sorted(fact for _, fact in self._times(node))

    def _pieces(self, node: Opaque) -> list[str]:
        return [piece if isinstance(piece, str) else str(piece) for piece in node.pieces]
