"""Types, NULLs and lineage of expressions, in one walk over each; names are resolved on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from sqlglot import exp

from millstream.errors import did_you_mean
from millstream.project.values import Function
from millstream.sql.calls import call_function
from millstream.sql.coercion import arithmetic, common, common_type
from millstream.sql.datatypes import data_type
from millstream.sql.scope import NOTHING, Bound, Relation, Scope, as_kind, opened
from millstream.sql.tokens import MARK
from millstream.sql.values import Problem, Source
from millstream.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTEGERS,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    VARIANT,
    Array,
    Decimal,
    Map,
    Row,
    Type,
)

if TYPE_CHECKING:
    from millstream.sql.binder import Result


class Value(Struct, gc=False):
    """What is known of one expression."""

    type: Type
    nullable: bool
    sources: frozenset[Source] = NOTHING
    literal: Any = None
    aggregate: bool = False


class Shared:
    """What all expressions of one model have in common, and the findings that they add to."""

    def __init__(
        self,
        sql: str,
        functions: Mapping[str, Function],
        variant_paths: frozenset[int],
        subquery: Callable[[exp.Expr, Scope], Result],
    ) -> None:
        self.sql = sql
        self.functions = functions
        self.variant_paths = variant_paths
        self.subquery = subquery
        self.problems: list[Problem] = []
        self.opaque: list[str] = []
        self.called: set[str] = set()

    def problem(self, node: exp.Expr, code: str, message: str, remedy: str = "", needle: str = "") -> None:
        start, stop = extent(node, self.sql)
        found = Problem(code, message, start, stop, remedy, needle or self.sql[start:stop])
        if found not in self.problems:
            self.problems.append(found)

    def not_understood(self, node: exp.Expr, reason: str) -> None:
        """Note why a part stays opaque, with the words of the SQL that begin it."""
        start, stop = extent(node, self.sql)
        line = self.sql.count("\n", 0, start) + 1
        text = f"{reason} (line {line} of the compiled SQL: {self.sql[start:stop]})"
        if text not in self.opaque:
            self.opaque.append(text)


def extent(node: exp.Expr, sql: str) -> tuple[int, int]:
    """Return where a node stands: its own name, or the leaves below it."""
    spans = [
        (found.meta["start"], found.meta["end"] + 1) for found in _placed(node) if found.meta.get("start") is not None
    ]
    if not spans:
        return 0, min(1, len(sql))
    return min(start for start, _ in spans), max(stop for _, stop in spans)


def _placed(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous) and node.meta.get("start") is not None:
        return [node]
    return [found for found in node.walk() if found.meta]


class Expressions:
    """Evaluates expressions of one SELECT against its scope."""

    def __init__(self, shared: Shared, scope: Scope) -> None:
        self.shared = shared
        self.scope = scope
        self.aliases: dict[str, Value] = {}
        """Earlier columns of the same SELECT, that Spark lets later ones use."""
        self.lambdas: list[dict[str, Value]] = []
        self.keys: list[tuple[exp.Expr, Value]] | None = None
        """Group keys, while only grouped or aggregated expressions are allowed."""
        self.no_aggregates = ""
        """The clause that can't hold aggregates, while in it."""

    def value(self, node: exp.Expr) -> Value:
        """Return what is known of an expression."""
        if self.keys is not None and (key := self._group_key(node)):
            return key
        handler = HANDLERS.get(type(node))
        if handler is None:
            return self._unknown(node)
        return handler(self, node)

    def values(self, nodes: list[exp.Expr]) -> list[Value]:
        return [self.value(node) for node in nodes]

    def _unknown(self, node: exp.Expr) -> Value:
        children = [self.value(child) for child in node.iter_expressions() if isinstance(child, exp.Condition)]
        self.shared.not_understood(node, f"{type(node).__name__} is not understood")
        return computed(UNKNOWN, children, nullable=True)

    # -- columns

    def column(self, node: exp.Column) -> Value:
        parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
        if isinstance(node.this, exp.Star):
            return self._unknown(node)
        bound, rest = self._resolve(parts, node)
        value = Value(bound.type, bound.nullable, bound.sources, aggregate=False)
        if parts[-1].meta.get("end") in self.shared.variant_paths:
            value = Value(VARIANT, True, as_kind(bound.sources, "computed"))
        for part in rest:
            value = self._field(value, part)
        return value

    def _resolve(self, parts: list[exp.Identifier], node: exp.Expr) -> tuple[Bound, list[exp.Identifier]]:
        names = [part.name for part in parts]
        if self.lambdas and (value := self._lambda_variable(names[0])):
            return _bound(names[0], value), parts[1:]
        scope: Scope | None = self.scope
        while scope is not None:
            if found := self._in_scope(scope, parts, names):
                if self.keys is not None and scope is self.scope:
                    self._not_grouped(node, names[-1])
                return found
            if scope is self.scope and (alias := self.aliases.get(names[0].lower())):
                return _bound(names[0], alias), parts[1:]
            scope = scope.parent
        self._unknown_column(parts, names)
        return Bound(names[-1], UNKNOWN, True, NOTHING), []

    def _in_scope(
        self, scope: Scope, parts: list[exp.Identifier], names: list[str]
    ) -> tuple[Bound, list[exp.Identifier]] | None:
        if len(parts) > 1 and (relation := scope.relation(names[0])):
            bound = relation.find(names[1].lower()) or (opened(relation, names[1]) if relation.open else None)
            if bound:
                return bound, parts[2:]
        found = scope.named(names[0].lower())
        if not found:
            return None
        if len(found) > 1:
            places = ", ".join(f"{relation.alias}.{column.name}" for relation, column in found[:4])
            self.shared.problem(
                parts[0], "MS403", f"'{names[0]}' is ambiguous: {places}", "write which relation it is of"
            )
        return found[0][1], parts[1:]

    def _unknown_column(self, parts: list[exp.Identifier], names: list[str]) -> None:
        if len(parts) > 1:
            relation = self._relation(names[0])
            if relation is None:
                known = [r.alias for r in self.scope.relations]
                hint = did_you_mean(names[0], known, f"relations in scope: {', '.join(known) or 'none'}")
                self.shared.problem(
                    parts[0], "MS402", f"there is no relation or column '{names[0]}' here", hint, names[0]
                )
                return
            columns = [column.name for column in relation.columns]
            hint = did_you_mean(names[1], columns, _listed("it has", columns))
            self.shared.problem(
                parts[1], "MS402", f"'{relation.alias}' has no column '{names[1]}'", hint, names[1]
            )
            return
        columns = [*self.scope.names(), *self.aliases]
        hint = did_you_mean(names[0], columns, _listed("columns in scope:", columns))
        self.shared.problem(parts[0], "MS402", f"there is no column '{names[0]}'", hint, names[0])

    def _relation(self, alias: str) -> Relation | None:
        scope: Scope | None = self.scope
        while scope is not None:
            if found := scope.relation(alias):
                return found
            scope = scope.parent
        return None

    def _lambda_variable(self, name: str) -> Value | None:
        folded = name.lower()
        return next((names[folded] for names in reversed(self.lambdas) if folded in names), None)

    def identifier(self, node: exp.Identifier) -> Value:
        """Inside a lambda sqlglot leaves its variables as bare identifiers."""
        if value := self._lambda_variable(node.name):
            return value
        bound, _ = self._resolve([node], node)
        return Value(bound.type, bound.nullable, bound.sources)

    def _field(self, value: Value, part: exp.Expr) -> Value:
        name = part.name
        sources = as_kind(value.sources, "computed")
        match value.type:
            case Row() as row:
                if field := row.field(name):
                    return Value(field.type, True, sources, aggregate=value.aggregate)
                names = [field.name for field in row.fields]
                self.shared.problem(
                    part, "MS402", f"the struct has no field '{name}'", did_you_mean(name, names, _listed("it has", names))
                )
            case Array(element=Row() as row) if field := row.field(name):
                return Value(Array(field.type), True, sources, aggregate=value.aggregate)
            case Map(value=of):
                return Value(of, True, sources, aggregate=value.aggregate)
            case found if found not in {UNKNOWN, VARIANT}:
                self.shared.problem(part, "MS407", f"a {found} has no field '{name}'", "only structs and maps have fields")
        return Value(VARIANT if value.type == VARIANT else UNKNOWN, True, sources, aggregate=value.aggregate)

    # -- grouping

    def _group_key(self, node: exp.Expr) -> Value | None:
        for key, value in self.keys or ():
            if key is node or (type(key) is type(node) and self._same(key, node)):
                return value
        return None

    def _same(self, key: exp.Expr, node: exp.Expr) -> bool:
        if isinstance(key, exp.Column) and isinstance(node, exp.Column):
            if key.name.lower() != node.name.lower():
                return False
            quiet = len(self.shared.problems)
            keys, self.keys = self.keys, None
            found = self._resolve(list(key.parts), key)[0] is self._resolve(list(node.parts), node)[0]  # type: ignore[arg-type]
            self.keys = keys
            del self.shared.problems[quiet:]
            return found
        return _canonical(key) == _canonical(node)

    def _not_grouped(self, node: exp.Expr, name: str) -> None:
        self.shared.problem(
            node,
            "MS411",
            f"'{name}' is neither a group key nor inside an aggregate",
            f"add it to GROUP BY, or take any_value({name})",
        )

    # -- literals

    def literal(self, node: exp.Literal) -> Value:
        if node.is_string:
            return Value(STRING, False, literal=str(node.this))
        text = str(node.this)
        if "e" in text.lower():
            return Value(DOUBLE, False, literal=float(text))
        if "." in text:
            whole, _, fraction = text.partition(".")
            digits = len(whole.lstrip("0")) + len(fraction)
            return Value(Decimal(max(digits, len(fraction), 1), len(fraction)), False, literal=text)
        number = int(text)
        size = INT if number < 2**31 else BIGINT if number < 2**63 else Decimal(len(text), 0)
        return Value(size, False, literal=number)

    def boolean(self, node: exp.Boolean) -> Value:
        return Value(BOOLEAN, False, literal=bool(node.this))

    def null(self, _: exp.Expr) -> Value:
        return Value(NULL, True)

    def interval(self, node: exp.Interval) -> Value:
        inner = node.this
        values = [self.value(inner)] if isinstance(inner, exp.Column) else []
        return computed(INTERVAL, values)

    def now(self, node: exp.Expr) -> Value:
        return Value({exp.CurrentDate: DATE, exp.CurrentTimestamp: TIMESTAMP}.get(type(node), TIMESTAMP_NTZ), False)

    def raw(self, _: exp.Expr) -> Value:
        return Value(BINARY, False)

    # -- operators

    def arithmetic(self, node: exp.Binary) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        sign = _SIGNS[type(node)]
        found = arithmetic(sign, left.type, right.type, (left.literal, right.literal))
        if found is None:
            self.shared.problem(
                node, "MS407", f"{left.type} {sign} {right.type} can't be calculated", "cast one side to a number"
            )
        return computed(found or UNKNOWN, [left, right])

    def bits(self, node: exp.Binary) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        return computed(common_type(left.type, right.type) or UNKNOWN, [left, right])

    def negative(self, node: exp.Unary) -> Value:
        value = self.value(node.this)
        literal = -value.literal if isinstance(value.literal, int | float) and isinstance(node, exp.Neg) else None
        result = computed(value.type, [value])
        return Value(result.type, result.nullable, result.sources, literal, result.aggregate)

    def comparison(self, node: exp.Binary) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if common_type(left.type, right.type) is None:
            self.shared.problem(
                node, "MS407", f"{left.type} and {right.type} can't be compared", "cast one side to the other's type"
            )
        result = computed(BOOLEAN, [left, right])
        if isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ):
            result.nullable = False
        return result

    def logical(self, node: exp.Expr) -> Value:
        values = self.values(list(node.iter_expressions()))
        for value, child in zip(values, node.iter_expressions(), strict=True):
            if value.type not in {BOOLEAN, UNKNOWN, NULL, STRING}:
                self.shared.problem(child, "MS407", f"a condition is needed here, not a {value.type}", "compare it")
        return computed(BOOLEAN, values)

    def text_match(self, node: exp.Expr) -> Value:
        return computed(BOOLEAN, self.values([c for c in node.iter_expressions() if not isinstance(c, exp.Var)]))

    def is_(self, node: exp.Is) -> Value:
        result = computed(BOOLEAN, [self.value(node.this)])
        result.nullable = False
        return result

    def between(self, node: exp.Between) -> Value:
        return computed(BOOLEAN, self.values([node.this, node.args["low"], node.args["high"]]))

    def in_(self, node: exp.In) -> Value:
        values = [self.value(node.this)]
        if query := node.args.get("query"):
            result = self.shared.subquery(query, self.scope)
            sources = as_kind(frozenset().union(*(c.sources for c in result.columns), result.rows), "filter")
            self.shared.not_understood(node, "IN with a subquery")
            values.append(Value(BOOLEAN, True, sources))
        else:
            values += self.values(node.expressions)
        return computed(BOOLEAN, values)

    def concatenated(self, node: exp.DPipe) -> Value:
        values = self.values([node.left, node.right])
        both = [value.type for value in values]
        return computed(both[0] if isinstance(both[0], Array) else STRING, values)

    def cast(self, node: exp.Cast) -> Value:
        value = self.value(node.this)
        found = data_type(node.args["to"])
        if found is None:
            self.shared.problem(node, "MS407", f"unknown type {node.args['to'].sql('spark')}", "use a type of Spark SQL")
        tried = bool(node.args.get("safe"))
        same = found == value.type and not tried
        result = computed(found or UNKNOWN, [value])
        result.nullable = value.nullable or tried or (value.type in {STRING, UNKNOWN} and found not in {STRING} and tried)
        return Value(result.type, result.nullable, value.sources if same else result.sources, None, value.aggregate)

    def case(self, node: exp.Case) -> Value:
        conditions = [self.value(node.this)] if node.this else []
        results = []
        for branch in node.args["ifs"]:
            conditions.append(self.value(branch.this))
            results.append(self.value(branch.args["true"]))
        default = node.args.get("default")
        if default is not None:
            results.append(self.value(default))
        found = common([value.type for value in results])
        if found is None:
            types = ", ".join(sorted({str(value.type) for value in results}))
            self.shared.problem(node, "MS407", f"the branches of CASE have different types: {types}", "cast them to one type")
        result = computed(found or UNKNOWN, [*conditions, *results])
        result.nullable = default is None or any(value.nullable for value in results)
        return result

    def if_(self, node: exp.If) -> Value:
        return self.case(exp.Case(ifs=[node], default=node.args.get("false")))

    def element(self, node: exp.Bracket) -> Value:
        value = self.value(node.this)
        index = self.values(node.expressions)
        match value.type:
            case Array(element=found) | Map(value=found):
                pass
            case Row() as row if index and isinstance(index[0].literal, str):
                field = row.field(index[0].literal)
                found = field.type if field else UNKNOWN
            case found if found in {UNKNOWN, VARIANT}:
                pass
            case other:
                self.shared.problem(node, "MS407", f"a {other} has no elements", "only arrays and maps have `[...]`")
                found = UNKNOWN
        return computed(found, [value, *index], nullable=True)

    def dot(self, node: exp.Dot) -> Value:
        value = self.value(node.this)
        if isinstance(node.expression, exp.Identifier):
            return self._field(value, node.expression)
        return self._unknown(node)

    def paren(self, node: exp.Expr) -> Value:
        return self.value(node.this)

    def tuple_(self, node: exp.Tuple) -> Value:
        return computed(UNKNOWN, self.values(node.expressions))

    # -- calls

    def call(self, node: exp.Anonymous) -> Value:
        return call_function(self, node, str(node.this).removesuffix(MARK))

    def special(self, node: exp.Expr) -> Value:
        """Functions with words between their arguments, which sqlglot reads as its own nodes."""
        children = [c for c in node.iter_expressions() if not isinstance(c, exp.Var)]
        result = {exp.Extract: INT, exp.StrPosition: INT}.get(type(node), STRING)
        if isinstance(node, exp.Extract) and node.name.lower().startswith("s"):
            result = Decimal(8, 6)
        return computed(result, self.values(children))

    def filtered(self, node: exp.Filter) -> Value:
        value = self.value(node.this)
        keys, self.keys = self.keys, None
        condition = self.value(node.expression.this)
        self.keys = keys
        return Value(value.type, True if value.type != BIGINT else value.nullable,
                     value.sources | as_kind(condition.sources, "filter"), None, aggregate=True)

    def windowed(self, node: exp.Window) -> Value:
        from millstream.sql.calls import window_function  # noqa: PLC0415

        value = window_function(self, node.this)
        sources = value.sources
        for part in node.args.get("partition_by") or ():
            sources |= as_kind(self.value(part).sources, "group")
        if order := node.args.get("order"):
            for part in order.expressions:
                sources |= as_kind(self.value(part.this).sources, "order")
        self.shared.not_understood(node, "a window function: a stream has no end to order by")
        return Value(value.type, value.nullable, sources)

    def within_group(self, node: exp.WithinGroup) -> Value:
        keys, self.keys = self.keys, None
        ordered = self.values([part.this for part in node.expression.expressions])
        self.keys = keys
        value = self.value(node.this)
        found = ordered[0].type if str(node.this.this).startswith("percentile_disc") and ordered else value.type
        return computed(found, [value, *ordered], nullable=True, aggregate=True)

    def inner(self, node: exp.Expr) -> Value:
        return self.value(node.this)

    # -- subqueries

    def scalar(self, node: exp.Expr) -> Value:
        result = self.shared.subquery(node, self.scope)
        if len(result.columns) != 1:
            self.shared.problem(
                node, "MS412", f"a subquery in an expression gives one column, not {len(result.columns)}", "select one"
            )
        first = result.columns[0] if result.columns else Bound("", UNKNOWN, True, NOTHING)
        return Value(first.type, True, as_kind(first.sources, "computed") | as_kind(result.rows, "filter"))

    def exists(self, node: exp.Exists) -> Value:
        result = self.shared.subquery(node.this, self.scope)
        self.shared.not_understood(node, "EXISTS with a subquery")
        sources = as_kind(frozenset().union(*(c.sources for c in result.columns), result.rows), "filter")
        return Value(BOOLEAN, False, sources)


def computed(found: Type, values: list[Value], *, nullable: bool | None = None, aggregate: bool = False) -> Value:
    """Combine values into one that is calculated from them."""
    sources: frozenset[Source] = NOTHING
    for value in values:
        if value.sources:
            more = as_kind(value.sources, "computed")
            sources = sources | more if sources else more
    return Value(
        found,
        any(value.nullable for value in values) if nullable is None else nullable,
        sources,
        None,
        aggregate or any(value.aggregate for value in values),
    )


def _bound(name: str, value: Value) -> Bound:
    return Bound(name, value.type, value.nullable, value.sources)


def _listed(intro: str, names: list[str]) -> str:
    shown = sorted(dict.fromkeys(names))
    return f"{intro} {', '.join(shown[:8])}{', …' if len(shown) > 8 else ''}" if shown else "there are no columns here"


def _canonical(node: exp.Expr) -> str:
    """Return an expression's text with qualifiers and case taken away."""
    bare = node.copy()
    for column in list(bare.find_all(exp.Column)):
        column.set("table", None)
        column.set("db", None)
    return str(bare.sql("spark")).lower()


_SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div",
}  # fmt: skip
_HAS_INTEGER_TYPE = INTEGERS

HANDLERS: dict[type[exp.Expr], Callable[[Expressions, Any], Value]] = {
    exp.Column: Expressions.column,
    exp.Identifier: Expressions.identifier,
    exp.Literal: Expressions.literal,
    exp.Boolean: Expressions.boolean,
    exp.Null: Expressions.null,
    exp.Interval: Expressions.interval,
    exp.CurrentDate: Expressions.now,
    exp.CurrentTimestamp: Expressions.now,
    exp.Localtimestamp: Expressions.now,
    exp.RawString: Expressions.literal,
    exp.HexString: Expressions.raw,
    **dict.fromkeys(_SIGNS, Expressions.arithmetic),
    **dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor), Expressions.bits),
    exp.Neg: Expressions.negative,
    exp.BitwiseNot: Expressions.negative,
    **dict.fromkeys(
        (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ), Expressions.comparison
    ),
    **dict.fromkeys((exp.And, exp.Or, exp.Not), Expressions.logical),
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike, exp.Escape), Expressions.text_match),
    exp.Is: Expressions.is_,
    exp.Between: Expressions.between,
    exp.In: Expressions.in_,
    exp.DPipe: Expressions.concatenated,
    exp.Cast: Expressions.cast,
    exp.TryCast: Expressions.cast,
    exp.Case: Expressions.case,
    exp.If: Expressions.if_,
    exp.Bracket: Expressions.element,
    exp.Dot: Expressions.dot,
    exp.Paren: Expressions.paren,
    exp.Alias: Expressions.paren,
    exp.Tuple: Expressions.tuple_,
    exp.Anonymous: Expressions.call,
    **dict.fromkeys((exp.Extract, exp.Trim, exp.Substring, exp.StrPosition, exp.Overlay), Expressions.special),
    exp.Filter: Expressions.filtered,
    exp.Window: Expressions.windowed,
    exp.WithinGroup: Expressions.within_group,
    exp.IgnoreNulls: Expressions.inner,
    exp.RespectNulls: Expressions.inner,
    exp.Distinct: Expressions.tuple_,
    exp.Subquery: Expressions.scalar,
    exp.Select: Expressions.scalar,
    exp.Exists: Expressions.exists,
}
