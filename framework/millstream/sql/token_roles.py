"""Marks the meaning of tokens by their offset, while names are resolved and types are derived.

Later, `reading` reads expressions from the tokens and looks up their meaning here.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from msgspec import Struct
from sqlglot import exp

from millstream.core.expressions import Piece, Ref
from millstream.core.node_id import NodeId
from millstream.sql.changing_functions import is_special_time
from millstream.sql.names import unmodified_call
from millstream.sql.scope import Refs, Scope
from millstream.sql.value import Value

_CLAUSES = (exp.And, exp.Or, exp.Alias, exp.Where, exp.Select)
"""Nodes with several independent expressions."""
_OTHERS = (exp.Anonymous, exp.Predicate, exp.Connector, exp.Query)
"""Expressions within another one whose types are checked for themselves."""


class ColumnRole(Struct, gc=False):
    """A column, seen from the SELECT that has it."""

    stop: int
    scope: Scope
    refs: Refs
    """Its relation and name; several for USING of a FULL JOIN, where the first non-NULL value counts."""
    written: str
    in_lambda: bool
    by_path: bool
    """Written with the full name of its relation, `models.orders.id`."""
    outer: bool = False
    """The relation belongs to the enclosing SELECT."""


class NamedRelation(Struct, gc=False):
    """A relation that SQL names."""

    stop: int
    id: NodeId
    alias: str
    """The qualifier of its columns, if it has no written alias."""


class StarRole(Struct, gc=False):
    """`*` among the arguments of a call."""

    stop: int
    scope: Scope
    columns: tuple[Refs, ...]
    named: bool


class AggregateRole(Struct, gc=False):
    scope: Scope
    function: str
    value: Value


class WindowRole(Struct, gc=False):
    scope: Scope
    partition: list[Value]
    order: tuple[Ref, ...] | None
    """The columns of its PARTITION BY and ORDER BY, if which of two equal rows comes first matters."""


class TokenRoles:
    """The meaning of tokens by their offset in the SQL."""

    def __init__(self, variant_paths: AbstractSet[int]) -> None:
        self.variant_paths = variant_paths
        """The last offsets of values before a `:path`, which is hidden from the parser."""
        self.references: dict[int, ColumnRole] = {}
        self.relations: dict[int, NamedRelation] = {}
        self.ctes: set[int] = set()
        """Where CTEs are read."""
        self.unknown_columns: dict[int, tuple[Scope, tuple[str, ...]]] = {}
        """Where names begin that mean no column, with their SELECT and its earlier columns."""
        self.stars: dict[int, StarRole] = {}
        self.aggregates: dict[int, AggregateRole] = {}
        self.windows: dict[int, WindowRole] = {}
        """Calls with OVER."""
        self.python: dict[int, str] = {}
        self.impure: set[int] = set()
        """Nondeterministic calls."""
        self.raising: set[int] = set()
        """Calls that can fail on a row."""
        self.raising_around: set[int] = set()
        """A word within another expression that can fail: an operator or an implicit cast."""
        self.raises_somewhere = False
        self.special_times = False
        """There are literals that mean the current time, if they are cast to one: 'now', 'yesterday'."""
        self.changing: set[str] = set()
        """Those that are cast to a date or a timestamp."""
        self.named: set[int] = set()
        """Columns whose name becomes part of the value."""
        self.fixed: set[int] = set()
        """Columns that can only be replaced by a column of the same name."""
        self.fields: dict[int, str] = {}
        """Where a path `item.sku` ends that names a field, and the name."""
        self.unnamed: dict[int, str] = {}
        """Where an argument without a name begins, and the name that Spark gives its field."""
        self.variables: dict[int, str] = {}
        """Variables of lambdas, where they are declared."""
        self.as_of: set[tuple[int, int]] = set()
        """Where the columns of FOR SYSTEM_TIME AS OF are."""
        self.skipped: dict[int, int] = {}
        """Where clauses begin and end that the SQL is run without."""
        self.opened: set[int] = set()
        """Where conditions begin that others are added to."""
        self.closed: dict[int, tuple[Piece, ...]] = {}
        """What is added to them, by their end."""
        self.not_split_reasons: list[str] = []
        """Why the query can't be split, although it is analyzed."""
        self.unsplit = False
        """It can't be split for rows at rest, either."""

    def not_split(self, reason: str, *, at_rest: bool = True) -> None:
        """Record why the query can't be split; without `at_rest`, only over a stream."""
        self.unsplit |= at_rest
        if reason not in self.not_split_reasons:
            self.not_split_reasons.append(reason)

    def reference(
        self,
        scope: Scope,
        parts: list[exp.Identifier],
        refs: Refs,
        *,
        in_lambda: bool,
        by_path: bool = False,
        outer: bool = False,
    ) -> None:
        start, stop = parts[0].meta.get("start"), parts[-1].meta.get("end")
        if start is None or stop is None:
            self.not_split(f"'{parts[-1].name}' has no position in the SQL")
            return
        self.references[start] = ColumnRole(stop + 1, scope, refs, parts[-1].name, in_lambda, by_path, outer)

    def relation(self, node: exp.Table, id_: NodeId) -> None:
        """Mark a model, seed or topic, or a CTE if there is no id."""
        first, last = node.parts[0].meta, node.parts[-1].meta
        if "start" not in first or "end" not in last:
            self.not_split("a relation has no position in the SQL")
        elif id_:
            alias = "" if node.alias else node.parts[-1].name
            self.relations[first["start"]] = NamedRelation(last["end"] + 1, id_, alias)
        else:
            self.ctes.add(first["start"])

    def star(self, scope: Scope, node: exp.Expr, columns: tuple[Refs, ...], *, named: bool) -> None:
        """Mark the columns of `*` or `t.*` among the arguments of a call."""
        star = node if isinstance(node, exp.Star) else node.this
        start, stop = start_of(node), star.meta.get("end")
        if start is None or stop is None or star.args.get("except_"):
            self.not_split("a star that can't be expanded")
        else:
            self.stars[start] = StarRole(stop + 1, scope, columns, named)

    def field(self, node: exp.Expr, name: str, default: str) -> None:
        """Mark the name that an argument gives to a field."""
        if isinstance(node, exp.Alias | exp.PropertyEQ):
            return
        start = start_of(node)
        if start is None:
            return
        if not name:
            self.unnamed[start] = default
        elif reference := self.references.get(start):
            last = node.parts[-1] if isinstance(node, exp.Column) else node
            end = last.meta.get("end", 0) + 1
            if isinstance(node, exp.Column) and end > reference.stop:
                self.fields[end] = name
            elif isinstance(node, exp.Column | exp.Identifier):
                self.named.add(start)

    def call(self, node: exp.Anonymous, *, impure: bool = False, python: str = "") -> None:
        start = node.meta.get("start")
        if start is None:
            self.not_split("a call has no position in the SQL")
            return
        if impure:
            self.impure.add(start)
        if python:
            self.python[start] = python

    def aggregate(self, node: exp.Anonymous, scope: Scope, function: str, value: Value) -> None:
        start = node.meta.get("start")
        if start is None:
            self.not_split("an aggregate has no position in the SQL")
        else:
            self.aggregates[start] = AggregateRole(scope, function, value)

    def windowed(
        self, node: exp.Window, scope: Scope, partition: list[Value], order: list[exp.Expr] | None
    ) -> None:
        """Mark a call with OVER; `order` is what orders its rows, if the order of equal ones matters."""
        start = unmodified_call(node.this).meta.get("start")
        if start is None or node.args.get("alias"):
            self.not_split("a window that is defined elsewhere")
        else:
            ordered = None if order is None else tuple(ref for part in order for ref in self._column(part))
            self.windows[start] = WindowRole(scope, partition, ordered)

    def _column(self, node: exp.Expr) -> Iterator[Ref]:
        """Yield the column that an expression is, if it is nothing else."""
        reference = (
            self.references.get(node.parts[0].meta.get("start", -1)) if isinstance(node, exp.Column) else None
        )
        if reference is not None and not reference.outer and len(reference.refs) == 1:
            relation, column = reference.refs[0]
            yield Ref(column, relation)

    def fix(self, node: exp.Expr) -> None:
        """Mark an argument that only keeps its name as a bare column."""
        start = start_of(node)
        if start in self.references:
            self.fixed.add(start)

    def lambda_of(self, node: exp.Lambda) -> None:
        for variable in node.expressions:
            start = variable.meta.get("start")
            if start is None:
                self.not_split("a lambda has no position in the SQL")
            else:
                self.variables[start] = variable.name.lower()

    def raises(self, node: exp.Expr) -> None:
        """Mark that an expression can fail on a row, by itself or by an implicit cast."""
        if self.special_times:
            self.casts_time(node)
        start = start_of(node)
        if start is not None and isinstance(node, exp.Anonymous):
            self.raising.add(start)
            return
        around: exp.Expr | None = node
        while start is None and around is not None and not isinstance(around, _CLAUSES):
            start = start_of(around)
            around = around.parent
        if start is None:
            self.raises_somewhere = True
        else:
            self.raising_around.add(start)

    def casts_time(self, node: exp.Expr) -> None:
        """Mark the literals that mean the current time in a cast, a comparison or the arguments of a call."""
        for inner in node.walk(prune=lambda part: part is not node and isinstance(part, _OTHERS)):
            if isinstance(inner, exp.Literal) and inner.is_string and is_special_time(inner.this):
                self.changing.add(inner.this)


def start_of(node: exp.Expr) -> int | None:
    """Return the offset of the first word of an expression that has one in the tree."""
    if "start" in node.meta:
        return int(node.meta["start"])
    if isinstance(node, exp.Column):
        return start_of(node.parts[0])
    return next((start for child in node.iter_expressions() if (start := start_of(child)) is not None), None)
