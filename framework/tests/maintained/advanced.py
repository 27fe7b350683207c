"""Random tables with window functions, subqueries, set operations and grouping sets."""

from __future__ import annotations

from hypothesis import strategies as st

from maintained.generator import (
    TableModel,
    aggregates,
    alias,
    comparable,
    conditions,
    groups,
    joined,
    of_kind,
    pairs,
)


def order_of(source, table):
    return ", ".join(f"{source}.{key} nulls first" for key in table.keys)


def sortable(table):
    return [column for column, kind in table.columns.items() if kind in "nt"]


@st.composite
def partition(draw, sources):
    """Return expressions with their kinds."""
    expressions = {}
    for _ in range(draw(st.integers(1, 2))):
        source, table = draw(st.sampled_from(sources))
        column = draw(st.sampled_from(sortable(table)))
        text = f"{source}.{column}"
        text = f"coalesce({text}, {text})" if draw(st.integers(0, 5)) == 0 else text
        expressions[text] = table.columns[column]
    return expressions


@st.composite
def windows(draw, name, relations):
    """Return a table with window functions, whose order is never ambiguous."""
    over_join = draw(st.booleans())
    if over_join:
        clause, sources, reads = draw(joined(relations))
    else:
        one = draw(st.sampled_from(relations))
        clause, sources, reads = alias(one, "x"), [("x", one)], [one.name]
    items, columns, keys = [], {}, []
    for source, table in sources:
        for key in table.keys:
            items.append(f"{source}.{key} as {source}_{key}")
            columns[f"{source}_{key}"] = table.columns[key]
            keys.append(f"{source}_{key}")
    order = ", ".join(order_of(*pair) for pair in sources)
    by = draw(partition(sources))
    calls = []
    for index in range(draw(st.integers(1, 2))):
        if index and draw(st.booleans()):
            by = draw(partition(sources))
        over = f"partition by {', '.join(by)}"
        source, table = draw(st.sampled_from(sources))
        numbers = of_kind(table, "n")
        sorted_over = f"{over} order by {order}"
        before = draw(st.sampled_from(sortable(table)))
        choices = [
            ("n", f"row_number() over ({sorted_over})"),
            ("n", f"count(*) over ({over})"),
            (table.columns[before], f"lag({source}.{before}) over ({sorted_over})"),
        ]
        if numbers:
            number = f"{source}.{draw(st.sampled_from(numbers))}"
            choices += [
                ("n", f"sum({number}) over ({sorted_over} rows between 1 preceding and current row)"),
                ("n", f"max({number}) over ({over})"),
                ("n", f"dense_rank() over ({over} order by {number} desc nulls last)"),
            ]
        calls.append(draw(st.sampled_from(choices)))
    if draw(st.booleans()):
        for index, (text, kind) in enumerate(by.items()):
            items.append(f"{text} as p{index}")
            columns[f"p{index}"] = kind
    tail = ""
    if draw(st.booleans()):
        tail = f" qualify row_number() over (partition by {', '.join(by)} order by {order}) <= {draw(st.integers(1, 2))}"
    else:
        for index, (kind, call) in enumerate(calls):
            items.append(f"{call} as w{index}")
            columns[f"w{index}"] = kind
    where = (
        f" where {draw(conditions(*draw(st.sampled_from(sources))))}" if draw(st.integers(0, 3)) == 0 else ""
    )
    sql = f"select {', '.join(items)} from {clause}{where}{tail}"
    if draw(st.integers(0, 2)) == 0:
        sql = f"select t.* from ({sql}) as t where t.{keys[0]} is not null"
    return TableModel(name, columns, tuple(keys), sql, reads=tuple(reads))


@st.composite
def grouped_windows(draw, name, relations):
    """Return a table with a window function over groups."""
    clause, sources, reads = draw(joined(relations))
    items, keys, columns = draw(groups(sources))
    by = draw(st.sampled_from(keys))
    items += ["count(*) as n", f"sum(count(*)) over (partition by {by}) as share"]
    sql = f"select {', '.join(items)} from {clause} group by {', '.join(keys)}"
    return TableModel(name, columns | {"n": "n", "share": "n"}, tuple(columns), sql, reads=tuple(reads))


@st.composite
def set_operations(draw, name, relations):
    one, other = draw(st.sampled_from(relations)), draw(st.sampled_from(relations))
    kinds = [kind for kind in "nt" if of_kind(one, kind) and of_kind(other, kind)]
    if not kinds:
        other, kinds = one, [kind for kind in "nt" if of_kind(one, kind)]
    left, right, columns = [], [], {}
    for index in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(kinds))
        left.append(f"x.{draw(st.sampled_from(of_kind(one, kind)))} as c{index}")
        right.append(f"y.{draw(st.sampled_from(of_kind(other, kind)))} as c{index}")
        columns[f"c{index}"] = kind
    operator = draw(st.sampled_from(["intersect", "except", "intersect all", "except all"]))
    sql = f"select {', '.join(left)} from {alias(one, 'x')} {operator} select {', '.join(right)} from {alias(other, 'y')}"
    if operator.endswith("all"):
        names = ", ".join(f"t.{column}" for column in columns)
        sql = f"select {names}, count(*) as n from ({sql}) as t group by {names}"
        return TableModel(name, columns | {"n": "n"}, tuple(columns), sql, reads=(one.name, other.name))
    return TableModel(name, columns, tuple(columns), sql, reads=(one.name, other.name))


@st.composite
def grouping_sets(draw, name, relations):
    if draw(st.booleans()):
        one = draw(st.sampled_from(relations))
        clause, sources, reads = alias(one, "x"), [("x", one)], [one.name]
    else:
        clause, sources, reads = draw(joined(relations))
    expressions = {}
    for source, table in sources:
        for column in sortable(table)[:2]:
            expressions.setdefault(f"{source}.{column}", table.columns[column])
    keys = draw(st.lists(st.sampled_from(sorted(expressions)), min_size=1, max_size=3, unique=True))
    a, rest = keys[0], ", ".join(keys[1:])
    forms = [f"rollup({', '.join(keys)})", f"cube({', '.join(keys)})"]
    if rest:
        forms += [
            f"grouping sets (({', '.join(keys)}), {a}, ())",
            f"{a}, rollup({rest})",
            f"grouping sets (({rest}), {a})",
        ]
    columns = {f"g{index}": expressions[key] for index, key in enumerate(keys)}
    items = [f"{key} as g{index}" for index, key in enumerate(keys)]
    grouped = " + ".join(f"{2**index} * grouping({key})" for index, key in enumerate(keys))
    measures, more = draw(aggregates(sources))
    where = (
        f" where {draw(conditions(*draw(st.sampled_from(sources))))}" if draw(st.integers(0, 3)) == 0 else ""
    )
    sql = (
        f"select {', '.join(items)}, {grouped} as sets, {', '.join(measures)} from {clause}{where} "
        f"group by {draw(st.sampled_from(forms))}{{some}}"
    )
    keys = (*columns, "sets")
    return TableModel(name, columns | {"sets": "n"} | more, keys, sql, reads=tuple(reads))


@st.composite
def inner(draw, outer, outer_table, relations, depth=0):
    """Return a condition with a subquery, and what it reads."""
    other = draw(st.sampled_from([relation for relation in relations if comparable(outer_table, relation)]))
    alias_ = f"s{depth}"
    a, b = draw(pairs(outer_table, other))
    c, d = draw(pairs(outer_table, other))
    reads = [other.name]
    where = f" and {draw(conditions(alias_, other))}" if draw(st.booleans()) else ""
    if depth < 2 and draw(st.integers(0, 3)) == 0:
        more, others = draw(inner(alias_, other, relations, depth + 1))
        where, reads = f"{where} and {more}", reads + others
    source = f"from {alias(other, alias_)}"
    equal = f"{outer}.{c} = {alias_}.{d}"
    numbers = of_kind(other, "n")
    choices = [
        f"exists (select 1 {source} where {equal}{where})",
        f"not exists (select 1 {source} where {equal}{where})",
        f"{outer}.{a} in (select {alias_}.{b} {source} where {alias_}.{b} is not null{where})",
        f"{outer}.{a} in (select {alias_}.{b} {source} where {equal}{where})",
        f"{outer}.{a} not in (select {alias_}.{b} {source} where 1 = 1{where})",
        f"{outer}.{a} not in (select {alias_}.{b} {source} where {equal}{where})",
        f"{outer}.{a} in (select {alias_}.{b} {source} where 1 = 1{where} group by {alias_}.{b} having count(*) > 1)",
        f"(exists (select 1 {source} where {equal}{where}) or {draw(conditions(outer, outer_table))})",
        f"(select count(*) {source} where {equal}{where}) <= 1",
        # Without a comparison, a change concerns all rows.
        f"exists (select 1 {source} where 1 = 1{where})",
        f"(select count(*) {source} where 1 = 1{where}) <= 2",
    ]
    if numbers and of_kind(outer_table, "n"):
        mine, number = draw(st.sampled_from(of_kind(outer_table, "n"))), draw(st.sampled_from(numbers))
        choices.append(
            f"{outer}.{mine} >= (select {draw(st.sampled_from(['max', 'min', 'avg']))}({alias_}.{number}) {source} where {draw(st.sampled_from([equal, '1 = 1']))}{where})"
        )
    return draw(st.sampled_from(choices)), reads


@st.composite
def subqueries(draw, name, relations):
    if draw(st.booleans()):
        one = draw(st.sampled_from(relations))
        clause, sources, reads = alias(one, "x"), [("x", one)], [one.name]
    else:
        clause, sources, reads = draw(joined(relations))
    predicates = []
    for _ in range(draw(st.integers(1, 2))):
        condition, others = draw(inner(*draw(st.sampled_from(sources)), relations))
        predicates.append(condition)
        reads += others
    if draw(st.integers(0, 2)) == 0:
        items, keys, columns = draw(groups(sources))
        measures, more = draw(aggregates(sources))
        sql = f"select {', '.join(items + measures)} from {clause} where {' and '.join(predicates)} group by {', '.join(keys)}"
        return TableModel(name, columns | more, tuple(columns), sql, reads=tuple(dict.fromkeys(reads)))
    items, columns = [], {}
    for source, table in sources:
        for key in table.keys:
            items.append(f"{source}.{key} as {source}_{key}")
            columns[f"{source}_{key}"] = table.columns[key]
    keys = tuple(columns)
    if draw(st.integers(0, 2)) == 0:
        items.append(f"case when {predicates.pop()} then 1 else 0 end as flag")
        columns["flag"] = "n"
    where = f" where {' and '.join(predicates)}" if predicates else ""
    return TableModel(
        name,
        columns,
        keys,
        f"select {', '.join(items)} from {clause}{where}",
        reads=tuple(dict.fromkeys(reads)),
    )


@st.composite
def counts_of_counts(draw, name, relations):
    """Return a table whose key is the result of an aggregate."""
    clause, sources, reads = draw(joined(relations, ("join", "left join")))
    _, keys, _ = draw(groups(sources))
    source, table = draw(st.sampled_from(sources))
    column = draw(st.sampled_from([c for c, kind in table.columns.items() if kind in "nt"]))
    call = draw(st.sampled_from(["count", "max"]))
    having = " having count(*) > 1" if draw(st.integers(0, 3)) == 0 else ""
    inner_sql = f"select {call}({source}.{column}) as n from {clause} group by {', '.join(keys)}{having}"
    kind = "n" if call == "count" else table.columns[column]
    sql = f"select t.n, count(*) as m from ({inner_sql}) as t group by t.n"
    return TableModel(name, {"n": kind, "m": "n"}, ("n",), sql, reads=tuple(reads))


FORMS = {
    "counts of counts": counts_of_counts,
    "window": windows,
    "window of groups": grouped_windows,
    "set operation": set_operations,
    "grouping sets": grouping_sets,
    "subquery": subqueries,
}
