"""Random tables over tables, as values: from them come the models, and the SQL of the oracle."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

NUMBERS = st.one_of(st.none(), st.integers(0, 3))
TEXTS = st.one_of(st.none(), st.sampled_from("abc"))


@dataclass(frozen=True)
class TableModel:
    """A table: its columns with their kinds (`n` numbers, `t` texts), its key, and its SQL."""

    name: str
    columns: dict[str, str]
    keys: tuple[str, ...]
    sql: str = ""
    """With `{semi}` and `{anti}`, `{eq}` for equality of NULLs, `{some}` for HAVING of grouping sets, and `{x}` for an
    input."""
    full: bool = False
    by_keys: bool = False
    reads: tuple[str, ...] = ()
    options: str = ""
    """More options of a base table."""

    def for_spark(self):
        names = {name: f"{{{{ ref('{name}') }}}}" for name in self.reads}
        return self.sql.format(semi="left semi join", anti="left anti join", eq="<=>", some="", **names)

    def for_duckdb(self, some=""):
        names = {name: name for name in self.reads}
        return self.sql.format(
            semi="semi join", anti="anti join", eq="is not distinct from", some=some, **names
        )

    def model(self):
        keys = ", ".join(f"'{key}'" for key in self.keys)
        how = "full" if self.full else "keys" if self.by_keys else ""
        refresh = f", refresh='{how}'" if how else ""
        return f"{{{{ config(materialized='table', unique_key=[{keys}]{refresh}) }}}}\n{self.for_spark()}"


@dataclass
class Sequence:
    """A project, and what happens to its base tables."""

    base: list[TableModel]
    models: list[TableModel]
    batches: list[dict[str, list[tuple]]] = field(default_factory=list)
    """By base table: rows to write, or keys to delete, as `(key, row or None)`."""


BASE = {"id": "n", "k": "t", "r": "n", "v": "n"}


@st.composite
def sequences(draw, forms=None):
    """Draw tables; `forms` are more strategies for their SQL, by name."""
    base = [TableModel(f"t{i}", BASE, ("id",)) for i in range(draw(st.integers(1, 3)))]
    sequence = Sequence(base, [])
    relations = list(base)
    for number in range(draw(st.integers(1, 4))):
        table = draw(tables(f"m{number}", relations, forms))
        sequence.models.append(table)
        relations.append(table)
    for _ in range(draw(st.integers(2, 4))):
        batch = {}
        for base_table in draw(
            st.lists(st.sampled_from(base), min_size=1, max_size=3, unique_by=lambda t: t.name)
        ):
            row = st.one_of(st.none(), st.tuples(TEXTS, NUMBERS, NUMBERS), st.tuples(TEXTS, NUMBERS, NUMBERS))
            batch[base_table.name] = draw(
                st.lists(st.tuples(st.integers(0, 5), row), min_size=1, max_size=6, unique_by=lambda e: e[0])
            )
        sequence.batches.append(batch)
    return sequence


def of_kind(table, kind):
    return [name for name, column_kind in table.columns.items() if column_kind == kind]


def alias(table, name):
    return f"{{{table.name}}} as {name}"


@st.composite
def conditions(draw, name, table):
    """Return a condition on a column."""
    numbers, texts = of_kind(table, "n"), of_kind(table, "t")
    if numbers and (not texts or draw(st.booleans())):
        column = draw(st.sampled_from(numbers))
        return draw(
            st.sampled_from([f"{name}.{column} > 1", f"{name}.{column} is null", f"{name}.{column} < 3"])
        )
    column = draw(st.sampled_from(texts))
    return draw(st.sampled_from([f"{name}.{column} <> 'b'", f"{name}.{column} is not null"]))


@st.composite
def pairs(draw, left, right):
    """Return columns of two tables that can be compared."""
    kinds = [k for k in "nt" if of_kind(left, k) and of_kind(right, k)]
    kind = draw(st.sampled_from(kinds))
    return draw(st.sampled_from(of_kind(left, kind))), draw(st.sampled_from(of_kind(right, kind)))


def comparable(left, right):
    return any(of_kind(left, k) and of_kind(right, k) for k in "nt")


AGGREGATES = {
    "n": ["sum({})", "max({})", "min({})", "count({})", "count(distinct {})", "avg({})"],
    "t": ["max({})", "min({})", "count({})", "count(distinct {})"],
}


@st.composite
def aggregates(draw, sources):
    """Return items over aliased tables, with names and kinds."""
    items, columns = ["count(*) as n"], {"n": "n"}
    for index in range(draw(st.integers(0, 2))):
        name, table = draw(st.sampled_from(sources))
        column = draw(st.sampled_from(sorted(c for c, kind in table.columns.items() if kind in "nt")))
        call = draw(st.sampled_from(AGGREGATES[table.columns[column]])).format(f"{name}.{column}")
        if draw(st.integers(0, 4)) == 0:
            call += f" filter (where {draw(conditions(name, table))})"
        items.append(f"{call} as a{index}")
        kind = (
            "x"
            if call.startswith("avg")
            else table.columns[column]
            if call.startswith(("max", "min"))
            else "n"
        )
        columns[f"a{index}"] = kind
    return items, columns


@st.composite
def groups(draw, sources):
    """Return group keys: items, their texts, and kinds."""
    items, keys, columns = [], [], {}
    for index in range(draw(st.integers(1, 2))):
        name, table = draw(st.sampled_from(sources))
        column = draw(st.sampled_from([c for c, kind in table.columns.items() if kind in "nt"]))
        kind, text = table.columns[column], f"{name}.{column}"
        if draw(st.integers(0, 3)) == 0:
            text = f"{text} % 2" if kind == "n" else f"coalesce({text}, 'none')"
        items.append(f"{text} as g{index}")
        keys.append(text)
        columns[f"g{index}"] = kind
    return items, keys, columns


@st.composite
def joined(draw, relations, kinds=("join", "left join", "right join", "full join")):
    """Return a FROM clause over two or three tables, and what it can read."""
    one = draw(st.sampled_from(relations))
    sources, clause = [("x", one)], alias(one, "x")
    reads = [one.name]
    for name in "yz"[: draw(st.integers(1, 2))]:
        left_name, left = draw(st.sampled_from(sources))
        others = [relation for relation in relations if comparable(left, relation)]
        right = draw(st.sampled_from(others or [left]))
        a, b = draw(pairs(left, right))
        clause += f" {draw(st.sampled_from(kinds))} {alias(right, name)} on {left_name}.{a} = {name}.{b}"
        if draw(st.integers(0, 3)) == 0:
            clause += f" and {draw(conditions(name, right))}"
        if draw(st.integers(0, 3)) == 0:
            # A condition on relations that are joined before, or a comparison that is no equality.
            first_name, first = draw(st.sampled_from(sources))
            second_name, second = draw(st.sampled_from([*sources, (name, right)]))
            if comparable(first, second) and first_name != second_name:
                c, d = draw(pairs(first, second))
                clause += (
                    f" and {first_name}.{c} {draw(st.sampled_from(['=', '<=', '<>']))} {second_name}.{d}"
                )
        sources.append((name, right))
        reads.append(right.name)
    return clause, sources, reads


@st.composite
def tables(draw, name, relations, forms=None):  # noqa: PLR0915 -- a case for each form of SQL
    relations = [relation for relation in relations if of_kind(relation, "n") or of_kind(relation, "t")]
    way = draw(st.sampled_from([
        "group", "group", "join", "group of join", "group of join", "semi", "distinct", "union", "nested", "nested group",
        "intersecting keys", "full", *(forms or {}),
    ]))  # fmt: skip
    if forms and way in forms:
        return draw(forms[way](name, relations))
    match way:
        case "group" | "group of join":
            if way == "group":
                one = draw(st.sampled_from(relations))
                clause, sources, reads = alias(one, "x"), [("x", one)], [one.name]
            else:
                clause, sources, reads = draw(joined(relations))
            items, keys, columns = draw(groups(sources))
            measures, more = draw(aggregates(sources))
            where = (
                f" where {draw(conditions(*draw(st.sampled_from(sources))))}"
                if draw(st.integers(0, 3)) == 0
                else ""
            )
            having = " having count(*) > 1" if draw(st.integers(0, 3)) == 0 else ""
            sql = f"select {', '.join(items + measures)} from {clause}{where} group by {', '.join(keys)}{having}"
            by_keys = draw(st.booleans())
            return TableModel(name, columns | more, tuple(columns), sql, by_keys=by_keys, reads=tuple(reads))
        case "join":
            clause, sources, reads = draw(joined(relations))
            items, columns = [], {}
            for source, table in sources:
                for column, kind in table.columns.items():
                    if column in table.keys or draw(st.integers(0, 2)) == 0:
                        items.append(f"{source}.{column} as {source}_{column}")
                        columns[f"{source}_{column}"] = kind
            keys = tuple(f"{source}_{key}" for source, table in sources for key in table.keys)
            where = (
                f" where {draw(conditions(*draw(st.sampled_from(sources))))}"
                if draw(st.integers(0, 3)) == 0
                else ""
            )
            return TableModel(
                name, columns, keys, f"select {', '.join(items)} from {clause}{where}", reads=tuple(reads)
            )
        case "semi":
            one = draw(st.sampled_from(relations))
            other = draw(st.sampled_from([relation for relation in relations if comparable(one, relation)]))
            a, b = draw(pairs(one, other))
            kind = draw(st.sampled_from(["{semi}", "{anti}"]))
            on = f"x.{a} = y.{b}" + (f" and {draw(conditions('y', other))}" if draw(st.booleans()) else "")
            sql = f"select {', '.join('x.' + c for c in one.columns)} from {alias(one, 'x')} {kind} {alias(other, 'y')} on {on}"
            return TableModel(name, dict(one.columns), one.keys, sql, reads=(one.name, other.name))
        case "distinct":
            clause, sources, reads = draw(joined(relations))
            items, columns = [], {}
            for source, table in sources[:2]:
                column = draw(st.sampled_from([c for c, kind in table.columns.items() if kind in "nt"]))
                items.append(f"{source}.{column} as {source}_{column}")
                columns[f"{source}_{column}"] = table.columns[column]
            return TableModel(
                name,
                columns,
                tuple(columns),
                f"select distinct {', '.join(items)} from {clause}",
                reads=tuple(reads),
            )
        case "union":
            one, other = draw(st.sampled_from(relations)), draw(st.sampled_from(relations))
            kinds = [k for k in "nt" if of_kind(one, k) and of_kind(other, k)]
            if not kinds:
                other, kinds = one, [k for k in "nt" if of_kind(one, k)]
            kind = draw(st.sampled_from(kinds))
            a, b = draw(st.sampled_from(of_kind(one, kind))), draw(st.sampled_from(of_kind(other, kind)))
            sql = f"select x.{a} as u from {alias(one, 'x')} union select y.{b} as u from {alias(other, 'y')}"
            return TableModel(name, {"u": kind}, ("u",), sql, reads=(one.name, other.name))
        case "nested" | "nested group":
            one = draw(st.sampled_from(relations))
            other = draw(st.sampled_from([relation for relation in relations if comparable(one, relation)]))
            a, b = draw(pairs(one, other))
            kind = draw(st.sampled_from(["join", "left join"]))
            inner = f"(select y.{b} as b, count(*) as n from {alias(other, 'y')} group by y.{b})"
            on = f"x.{a} = t.b" + (" and t.n > 1" if draw(st.integers(0, 3)) == 0 else "")
            where = " where t.n > 1" if draw(st.integers(0, 3)) == 0 else ""
            if way == "nested":
                items = [f"x.{c} as {c}" for c in one.columns if c != "cnt"] + ["t.n as cnt"]
                sql = f"select {', '.join(items)} from {alias(one, 'x')} {kind} {inner} as t on {on}{where}"
                return TableModel(
                    name, one.columns | {"cnt": "n"}, one.keys, sql, reads=(one.name, other.name)
                )
            items, keys, columns = draw(groups([("x", one)]))
            sql = (
                f"with t as {inner} select {', '.join(items)}, sum(t.n) as n from {alias(one, 'x')} "
                f"{kind} t on {on}{where} group by {', '.join(keys)}"
            )
            return TableModel(name, columns | {"n": "n"}, tuple(columns), sql, reads=(one.name, other.name))
        case "intersecting keys":
            one = draw(st.sampled_from(relations))
            other = draw(st.sampled_from([relation for relation in relations if comparable(one, relation)]))
            a, b = draw(pairs(one, other))
            sql = (
                f"select coalesce(x.{a}, y.{b}) as k, count(x.{a}) as n, count(y.{b}) as m "
                f"from {alias(one, 'x')} full join {alias(other, 'y')} on x.{a} = y.{b} group by coalesce(x.{a}, y.{b})"
            )
            return TableModel(
                name, {"k": one.columns[a], "n": "n", "m": "n"}, ("k",), sql, reads=(one.name, other.name)
            )
        case _:
            one = draw(st.sampled_from(relations))
            column = draw(st.sampled_from([c for c, kind in one.columns.items() if kind in "nt"]))
            order = ", ".join(f"x.{key} nulls first" for key in one.keys)
            items = [f"x.{key} as {key}" for key in one.keys]
            sql = (
                f"select {', '.join(items)}, row_number() over (partition by x.{column} order by {order}) as place "
                f"from {alias(one, 'x')}"
            )
            kinds = {key: one.columns[key] for key in one.keys}
            return TableModel(name, kinds | {"place": "n"}, one.keys, sql, full=True, reads=(one.name,))
