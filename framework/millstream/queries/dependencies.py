"""Finds what rows depend on besides their SQL: types, seeds, tables that are looked up, tests, libraries.

The models as written and the bodies of functions have digests of their own (`passing`, `meanings`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.core.types import Field
from millstream.formats.column_dependencies import DIGESTS, only_schema, reading_of
from millstream.plan.from_sql.catalog import DEFAULT_ISOLATION
from millstream.plan.nodes import (
    CARRIED,
    Aggregate,
    Binary,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Maintained,
    Node,
    Output,
    Project,
    RowsScan,
    SourceScan,
    Stateful,
    TableScan,
    TopicScan,
    Union,
    is_good,
)
from millstream.plan.nodes.order import in_order
from millstream.queries.meanings import ColumnMeanings, digest_text
from millstream.queries.row_digests import RowDigests
from millstream.queries.values import Dependency, PhysicalSettings

DependencySet = frozenset[Dependency]
_NONE: DependencySet = frozenset()


class DependencyTrace:
    """Follows rows and columns down to their sources; each is followed once."""

    def __init__(
        self,
        written: Mapping[NodeId, Output],
        references: Mapping[NodeId, Output],
        passing: RowDigests,
        meanings: ColumnMeanings,
        settings: PhysicalSettings,
    ) -> None:
        self._written = written
        self._references = references
        """The tables of reference topics. No model writes their records, so nothing is below them."""
        self._passing = passing
        self._meanings = meanings
        self._seeds = settings.seeds
        self._libraries = settings.libraries
        self._isolation = settings.isolation
        self._columns: dict[tuple[int, str], DependencySet] = {}
        self._described: set[int] = set()
        self._rows: dict[int, DependencySet] = {}

    def types(self, node: Node, expressions: Iterable[Expression]) -> frozenset[str]:
        """Return the columns of sources that expressions read."""
        dependencies = self.expressions(node, expressions)
        return frozenset(dependency.name for dependency in dependencies if dependency.kind == "type")

    def state(self, node: Node) -> DependencySet:
        """Return what the content of a state depends on."""
        self._describe(node)
        return self._state(node)

    def _state(self, node: Node) -> DependencySet:
        match node:
            case Aggregate():
                return self.expressions(node.input, node.expressions)
            case Dedupe():
                return self._all(node.input, [column.name for column in node.state_columns])
            case Stateful():
                names = [name for name in node.input.names if name not in CARRIED]
                return self._all(node.input, names) | self._called((node.function,))
            case _:
                dependencies = self.expressions(node, node.expressions)
                return dependencies.union(*(self._all(child, child.names) for child in node.inputs))

    def stored(self, output: Output, root: Node) -> DependencySet:
        """Return what the stored rows of a model depend on."""
        self._describe(root)
        read = [
            self._all(root, output.names),
            self.expressions(root, (item.expression for item in output.extras)),
        ]
        dependencies = self.rows(root).union(*read, self._tests(output, root))
        if output.model in {node.relation for node in in_order((root,))}:
            # A reference topic's table always has all columns, which are part of its SQL.
            return frozenset(dependency for dependency in dependencies if dependency.kind != "bad")
        return dependencies

    def rows(self, node: Node) -> DependencySet:
        """Return what decides which rows a node has."""
        self._describe(node)
        for current in in_order((node,), self._rows):
            below = [self._rows[id(inner)] for inner in current.inputs]
            self._rows[id(current)] = self._row_dependencies(current).union(*below)
        return self._rows[id(node)]

    def _describe(self, root: Node) -> None:
        """Follow columns, inputs first, which avoids deep recursion for long chains of projections."""
        order = in_order((root,), self._described)
        self._described.update(map(id, order))
        for node in order:
            if isinstance(node, Project):
                for name in node.names:
                    self._column(node, name)

    def _row_dependencies(self, node: Node) -> DependencySet:
        match node:
            case Project():
                return _NONE
            case TopicScan() if (output := self._written.get(node.relation)) is not None:
                return self.rows(output.input) | self._tests(output, output.input)
            case TableScan(changes=True) if self._is_maintained(node.relation):
                return _NONE  # after an edit, its differences come as changes
            case TableScan() if (table := self._references.get(node.relation)) is not None:
                return self._reference(table)
            case SourceScan():
                return _NONE  # its table, if it has one, is the reference above
            case RowsScan():
                return self._relation(node.relation)
            case Binary():
                return self.expressions(node, node.on)
            case Decode() if node.relation not in self._written:
                return self._by_columns(node)
            case Filter():
                goods = [condition for condition in node.conditions if is_good(condition)]
                others = [condition for condition in node.conditions if not is_good(condition)]
                return self.expressions(node.input, others).union(
                    *(self._bad(node, expression) for expression in goods)
                )
            case Dedupe() | Stateful():
                return self._state(node)
            case _ if node.inputs:
                return self.expressions(node.inputs[0], node.expressions)
        return _NONE

    def _tests(self, output: Output, root: Node) -> DependencySet:
        """Return the tests that keep rows of a model out of its topic or table."""
        deciding = [check for check in output.checks if check.severity != "warn"]
        tests = [
            Dependency(
                "test" if check.keeps_out else "stop", check.name, self._meanings.of(root, check.wrong)
            )
            for check in deciding
        ]
        kept_out = (check.wrong for check in deciding if check.keeps_out)
        return self.expressions(root, kept_out).union(tests)

    def _is_maintained(self, id_: NodeId) -> bool:
        output = self._written.get(id_)
        return output is not None and isinstance(output.input, Maintained)

    def _relation(self, id_: NodeId) -> DependencySet:
        """Return what the rows of a relation at rest depend on."""
        if (rows := self._seeds.get(id_)) is not None:
            return frozenset((Dependency("seed", id_.name, rows),))
        if (reference := self._references.get(id_)) is not None:
            # An expression that reads a whole relation does not say which columns it needs.
            names = reference.input.names
            return self._reference(reference).union(*(self._of_reference(reference, name) for name in names))
        if (output := self._written.get(id_)) is None:
            return _NONE
        root = output.input
        columns = sorted(
            f"{column.name.lower()} {self._meanings.column(root, column.name)}" for column in root.columns
        )
        sql = digest_text("\n".join((self._passing.rows(root), *columns)))
        table = Dependency("table", id_.name, sql)
        return self.stored(output, root).union((table,), self._levels(root))

    def _reference(self, table: Output) -> DependencySet:
        """Return what decides which rows a reference topic's table has."""
        dependencies = self.rows(table.input)
        scans = (scan for scan in in_order((table.input,)) if isinstance(scan, TopicScan))
        parts = [
            self._passing.rows(table.input),
            str(table.materialization),
            *(topic for scan in scans for topic in scan.topics),
        ]
        # Which records are bad is part of it, since a reference topic's query reads all columns.
        parts += sorted(
            f"{dependency.name} {dependency.content}"
            for dependency in dependencies
            if dependency.kind == "bad"
        )
        rows = Dependency("reference", table.model.name, digest_text("\n".join(parts)))
        others = (dependency for dependency in dependencies if dependency.kind != "bad")
        return frozenset(others).union((rows,), self._levels(table.input))

    def _levels(self, root: Node) -> Iterator[Dependency]:
        """Yield the isolation levels of a table's topics; those of a query's own topics are its settings."""
        for node in in_order((root,)):
            if isinstance(node, TopicScan):
                level = self._isolation.get(node.relation, DEFAULT_ISOLATION)
                name = f"isolation level of {node.relation.name}"
                yield Dependency("reading", name, level)

    def _of_reference(self, table: Output, name: str) -> DependencySet:
        """Return what a column of a reference topic's table depends on, and how it is calculated."""
        self._describe(table.input)
        what = f"{table.model.name}.{name.lower()}"
        calculation = Dependency("calculation", what, self._meanings.column(table.input, name))
        return self._column(table.input, name) | {calculation}

    def _by_columns(self, node: Decode) -> DependencySet:
        """Return that bad records are left out by columns, which older records don't say."""
        if node.on_bad_record == "fail":
            return _NONE
        key = ("_key",) if node.key else ()
        columns = (*key, *(field.name.lower() for field in node.fields)) if node.unique_by else ()
        return self._deciding(node, ("", *columns)).union(_whole_schema(node))

    def _bad(self, node: Node, condition: Expression) -> DependencySet:
        """Return what decides which records a filter leaves out because they are bad."""
        name = condition.column or ""
        while (below := node.origin(name)) is not None or isinstance(node, Project):
            node, name = below or (node.inputs[0], name)
        assert isinstance(node, Decode)
        (good,) = (validity for validity in node.good if validity.name == name)
        return self._deciding(node, good.columns)

    def _deciding(self, node: Decode, columns: Iterable[str]) -> DependencySet:
        """Return the columns of which wrong values make a record bad, and what a right value is."""
        source, dependencies = node.relation.name, _NONE
        for column in columns:
            read = node.key.name if column == "_key" and node.key else column
            column_dependencies = self._read(node, read) if read.lower() in node.by_name else _NONE
            dependencies |= column_dependencies | {Dependency("bad", f"{source}.{column}", "")}
        return dependencies

    # -- columns and expressions

    def expressions(self, node: Node, expressions: Iterable[Expression]) -> DependencySet:
        """Return what expressions over the columns of a node depend on."""
        dependencies: list[DependencySet] = []
        for expression in expressions:
            dependencies += [self._column(node, name) for name in expression.columns]
            dependencies += map(self._relation, expression.reads)
            dependencies += [self._called(expression.functions)] if expression.functions else []
        return _joined(dependencies)

    def _all(self, node: Node, names: Iterable[str]) -> DependencySet:
        return _joined([self._column(node, name) for name in names])

    def _column(self, node: Node, name: str) -> DependencySet:
        while (below := node.origin(name)) is not None:
            node, name = below
        key = id(node), name.lower()
        if key not in self._columns:
            self._columns[key] = self._computed_by(node, name)
        return self._columns[key]

    def _computed_by(self, node: Node, name: str) -> DependencySet:
        """Return what a column depends on, by the node that computes it."""
        match node:
            case Project():
                item = next(candidate for candidate in node.items if candidate.name.lower() == name.lower())
                return self.expressions(node.input, (item.expression,))
            case Aggregate():
                keys = [key.expression for key in node.keys if key.name.lower() == name.lower()]
                aggregates = [
                    expression
                    for m in node.measures
                    if m.name.lower() == name.lower()
                    for expression in m.expressions
                ]
                return self.expressions(node.input, keys or aggregates)
            case Expand():
                return self.expressions(node.input, (node.call,))
            case Union():
                index = [column.name.lower() for column in node.columns].index(name.lower())
                return _NONE.union(*(self._column(side, side.columns[index].name) for side in node.sides))
            case Decode() | RowsScan():
                return self._read(node, name)
        return _NONE.union(*(self._all(child, child.names) for child in node.inputs))

    def _read(self, node: Node, name: str) -> DependencySet:
        output = self._written.get(node.relation)
        if isinstance(node, TableScan) and node.changes and self._is_maintained(node.relation):
            output = None
        if output is not None and name.lower() in output.input.by_name:
            return self._column(output.input, name)
        table = self._references.get(node.relation) if isinstance(node, TableScan) else None
        if table is not None and name.lower() in table.input.by_name:
            return self._of_reference(table, name)
        column = node.column(name)
        read = f"{node.relation.name}.{name.lower()}"
        dependency = Dependency("type", read, f"{column.type}{'' if column.nullable else ' not null'}")
        return frozenset((dependency, *(_reading(node, name, read) if isinstance(node, Decode) else ())))

    def _called(self, functions: Iterable[str]) -> DependencySet:
        return frozenset(
            Dependency("library", library, version)
            for name in functions
            for library, version in self._libraries.get(name, {}).items()
        )


def _reading(node: Decode, name: str, read: str) -> Iterator[Dependency]:
    """Yield where a column is in old records, and what it is in those that lack it."""
    if node.key is not None and node.key.name.lower() == name.lower():
        facts = reading_of(node.key_format, (Field(node.key.name, node.key.type),), "")
    else:
        fields = [Field(column.name, column.type) for column in node.fields]
        if name.lower() not in {field.name.lower() for field in fields}:
            return  # what Kafka adds to a record, such as its offset
        facts = reading_of(node.format, fields, name)
    for fact, content in facts.items():
        yield Dependency("schema" if fact in DIGESTS else "reading", f"{fact} of {read}", content)


def _whole_schema(node: Decode) -> Iterator[Dependency]:
    """Yield the schema of all fields, if a value that was written with another one is bad."""
    if schema := only_schema(node.format):
        yield Dependency("schema", f"schema of {node.relation.name}", schema)


def _joined(sets: list[DependencySet]) -> DependencySet:
    first = sets[0] if sets else _NONE
    return first if len(sets) < 2 else first.union(*sets[1:])
