"""What stands at which place of the SQL, noted while names are resolved and types are found.

Expressions are cut out of the text later (`reading`), by their tokens; what a token means is looked up here.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from msgspec import Struct
from sqlglot import exp

from millstream.sql.scope import Refs, Scope
from millstream.sql.value import Value

_CLAUSES = (exp.And, exp.Or, exp.Alias, exp.Where, exp.Select)
"""What holds several expressions, of which a word in one tells nothing about another."""


class Reference(Struct, gc=False):
    """A column, seen from the SELECT that has it."""

    stop: int
    scope: Scope
    refs: Refs
    """Its relation and name; several of a FULL JOIN's USING, where the first that is not NULL counts."""
    written: str
    in_lambda: bool
    by_path: bool
    """Written with all of its relation's name, `models.orders.id`."""


class Named(Struct, gc=False):
    """A relation that SQL names."""

    stop: int
    id: str
    alias: str
    """What its columns are qualified with, where no alias is written."""


class Star(Struct, gc=False):
    """`*` among the arguments of a call."""

    stop: int
    scope: Scope
    columns: tuple[Refs, ...]
    named: bool


class Aggregated(Struct, gc=False):
    scope: Scope
    function: str
    value: Value


class Marks:
    """Places by their offset in the SQL."""

    def __init__(self, variant_paths: AbstractSet[int]) -> None:
        self.variant_paths = variant_paths
        """Last offsets of what a `:path` follows, which the parser does not see."""
        self.references: dict[int, Reference] = {}
        self.relations: dict[int, Named] = {}
        self.ctes: set[int] = set()
        """Where a CTE is read."""
        self.stars: dict[int, Star] = {}
        self.aggregates: dict[int, Aggregated] = {}
        self.python: dict[int, str] = {}
        self.impure: set[int] = set()
        """What gives another value each time."""
        self.raising: set[int] = set()
        """Calls that can fail on a row."""
        self.raising_around: set[int] = set()
        """A word within what else can fail: an operator, or a cast that is not written."""
        self.raises_somewhere = False
        self.named: set[int] = set()
        """Columns whose name becomes part of the value."""
        self.fixed: set[int] = set()
        """Columns that nothing but a column of the same name can stand for."""
        self.fields: dict[int, str] = {}
        """Where the path `item.sku` ends that gives its name to a field, and that name."""
        self.unnamed: dict[int, str] = {}
        """Where an argument begins that has no name, and the one that Spark gives its field."""
        self.variables: dict[int, str] = {}
        """Variables of lambdas, where they are declared."""
        self.whole: list[str] = []
        """Why the query can't be taken apart, though all of it is understood."""

    def not_apart(self, reason: str) -> None:
        if reason not in self.whole:
            self.whole.append(reason)

    def reference(
        self, scope: Scope, parts: list[exp.Identifier], refs: Refs, *, in_lambda: bool, by_path: bool = False
    ) -> None:
        start, stop = parts[0].meta.get("start"), parts[-1].meta.get("end")
        if start is None or stop is None:
            self.not_apart(f"'{parts[-1].name}' has no place in the SQL")
            return
        self.references[start] = Reference(stop + 1, scope, refs, parts[-1].name, in_lambda, by_path)

    def relation(self, node: exp.Table, id_: str) -> None:
        """Note a model, seed or topic; without an id a CTE."""
        first, last = node.parts[0].meta, node.parts[-1].meta
        if "start" not in first or "end" not in last:
            self.not_apart("a relation has no place in the SQL")
        elif id_:
            alias = "" if node.alias else node.parts[-1].name
            self.relations[first["start"]] = Named(last["end"] + 1, id_, alias)
        else:
            self.ctes.add(first["start"])

    def star(self, scope: Scope, node: exp.Expr, columns: tuple[Refs, ...], *, named: bool) -> None:
        """Note what `*` or `t.*` means among the arguments of a call."""
        star = node if isinstance(node, exp.Star) else node.this
        start, stop = place(node), star.meta.get("end")
        if start is None or stop is None or star.args.get("except_"):
            self.not_apart("a star that can't be written out")
        else:
            self.stars[start] = Star(stop + 1, scope, columns, named)

    def field(self, node: exp.Expr, name: str, default: str) -> None:
        """Note which name an argument gives to a field."""
        if isinstance(node, exp.Alias | exp.PropertyEQ):
            return
        start = place(node)
        if start is None:
            return
        if not name:
            self.unnamed[start] = default
        elif found := self.references.get(start):
            last = node.parts[-1] if isinstance(node, exp.Column) else node
            end = last.meta.get("end", 0) + 1
            if isinstance(node, exp.Column) and end > found.stop:
                self.fields[end] = name
            elif isinstance(node, exp.Column | exp.Identifier):
                self.named.add(start)

    def call(self, node: exp.Anonymous, *, impure: bool = False, python: str = "") -> None:
        start = node.meta.get("start")
        if start is None:
            self.not_apart("a call has no place in the SQL")
            return
        if impure:
            self.impure.add(start)
        if python:
            self.python[start] = python

    def aggregate(self, node: exp.Anonymous, scope: Scope, function: str, value: Value) -> None:
        start = node.meta.get("start")
        if start is None:
            self.not_apart("an aggregate has no place in the SQL")
        else:
            self.aggregates[start] = Aggregated(scope, function, value)

    def fix(self, node: exp.Expr) -> None:
        """Note an argument that keeps its name only as a bare column."""
        start = place(node)
        if start in self.references:
            self.fixed.add(start)

    def lambda_of(self, node: exp.Lambda) -> None:
        for variable in node.expressions:
            start = variable.meta.get("start")
            if start is None:
                self.not_apart("a lambda has no place in the SQL")
            else:
                self.variables[start] = variable.name.lower()

    def raises(self, node: exp.Expr) -> None:
        """Note that an expression can fail on a row: by what it does, or by a cast that is not written."""
        start = place(node)
        if start is not None and isinstance(node, exp.Anonymous):
            self.raising.add(start)
            return
        around: exp.Expr | None = node
        while start is None and around is not None and not isinstance(around, _CLAUSES):
            start = place(around)
            around = around.parent
        if start is None:
            self.raises_somewhere = True
        else:
            self.raising_around.add(start)


def place(node: exp.Expr) -> int | None:
    """Return where the first word of an expression stands that the tree has a place for."""
    if "start" in node.meta:
        return int(node.meta["start"])
    if isinstance(node, exp.Column):
        return place(node.parts[0])
    return next((found for child in node.iter_expressions() if (found := place(child)) is not None), None)
