"""SQL of forms that grow: each is about as long as asked for, however it does that."""

from __future__ import annotations

from collections.abc import Callable

Form = Callable[[int, "Inputs"], str]
"""SQL of a number of steps, over some inputs."""


class Inputs:
    """What the SQL reads: a relation with columns id, k, v and r, and others like it to look up."""

    def __init__(self, first: str, other: str) -> None:
        self.first = first
        self.other = other


def chained_lookups(steps: int, inputs: Inputs) -> str:
    ctes = [f"c0 as (select id, k, v, r from {inputs.first})"]
    ctes += [
        f"c{n} as (select c{n - 1}.*, s.v as l{n} from c{n - 1} left join {inputs.other} as s on c{n - 1}.k = s.id)"
        for n in range(1, steps + 1)
    ]
    return f"with {', '.join(ctes)} select id, k, v, r from c{steps}"


def nested_lookups(steps: int, inputs: Inputs) -> str:
    sql = f"(select id, k, v, r from {inputs.first}) as c0"
    for n in range(1, steps + 1):
        sql = f"(select c{n - 1}.*, s.v as l{n} from {sql} left join {inputs.other} as s on c{n - 1}.k = s.id) as c{n}"
    return f"select id, k, v, r from {sql}"


def nested_subqueries(steps: int, inputs: Inputs) -> str:
    sql = f"select id, k, v, r from {inputs.first}"
    for n in range(1, steps + 1):
        sql = f"select id, k, v + 1 as v, r from ({sql}) as t where v > {n}"
    return sql


def chained_filters(steps: int, inputs: Inputs) -> str:
    ctes = [f"c0 as (select id, k, v, r from {inputs.first})"]
    ctes += [
        f"c{n} as (select id, k, v + r as v, r from c{n - 1} where v > {n})" for n in range(1, steps + 1)
    ]
    return f"with {', '.join(ctes)} select id, k, v, r from c{steps}"


def chained_uses(steps: int, inputs: Inputs) -> str:
    """Each step reads a column of the one before twice."""
    ctes = [f"c0 as (select id, k, v, r from {inputs.first})"]
    ctes += [f"c{n} as (select id, k, v * v as v, r from c{n - 1})" for n in range(1, steps + 1)]
    return f"with {', '.join(ctes)} select id, k, v, r from c{steps}"


def lateral_aliases(steps: int, inputs: Inputs) -> str:
    items = ", ".join(f"x{n - 1} + x{n - 1} as x{n}" for n in range(1, steps + 1))
    return f"select id, k, v, r, v as x0, {items} from {inputs.first}"


def self_joined(steps: int, inputs: Inputs) -> str:
    ctes = [f"c0 as (select id, k, v, r from {inputs.first})"]
    ctes += [
        f"c{n} as (select a.id, a.k, b.v, a.r from c{n - 1} as a join c{n - 1} as b on a.id = b.id)"
        for n in range(1, steps + 1)
    ]
    return f"with {', '.join(ctes)} select id, k, v, r from c{steps}"


def self_united(steps: int, inputs: Inputs) -> str:
    ctes = [f"c0 as (select id, k, v, r from {inputs.first})"]
    ctes += [
        f"c{n} as (select * from c{n - 1} where v > {n} union all select * from c{n - 1} where v <= {n})"
        for n in range(1, steps + 1)
    ]
    return f"with {', '.join(ctes)} select id, k, v, r from c{steps}"


def self_looked_up(steps: int, inputs: Inputs) -> str:
    """Each step asks the one before twice, once by IN."""
    ctes = [f"c0 as (select id, k, v, r from {inputs.first})"]
    ctes += [
        f"c{n} as (select * from c{n - 1} where id in (select id from c{n - 1} where v > {n}))"
        for n in range(1, steps + 1)
    ]
    return f"with {', '.join(ctes)} select id, k, v, r from c{steps}"


def united(steps: int, inputs: Inputs) -> str:
    sides = [f"select id, k, v + {n} as v, r from {inputs.first} where v = {n}" for n in range(steps)]
    return "\nunion all\n".join(sides)


def united_distinct(steps: int, inputs: Inputs) -> str:
    sides = [f"select id, k, v + {n} as v, r from {inputs.first} where v = {n}" for n in range(steps)]
    return "\nunion\n".join(sides)


def nested_unions(steps: int, inputs: Inputs) -> str:
    sql = f"select id, k, v, r from {inputs.first}"
    for n in range(1, steps + 1):
        sql = f"select id, k, v, r from {inputs.first} where v = {n} union all ({sql})"
    return sql


def long_case(steps: int, inputs: Inputs) -> str:
    whens = " ".join(f"when k = 'a{n}' and v > {n} then {n}" for n in range(steps))
    return f"select id, k, case {whens} else 0 end as v, r from {inputs.first}"


def nested_case(steps: int, inputs: Inputs) -> str:
    sql = "r"
    for n in range(steps):
        sql = f"case when v > {n} then {n} else {sql} end"
    return f"select id, k, {sql} as v, r from {inputs.first}"


def conjunction(steps: int, inputs: Inputs) -> str:
    return f"select id, k, v, r from {inputs.first} where {' and '.join(f'v <> {n}' for n in range(steps))}"


def disjunction(steps: int, inputs: Inputs) -> str:
    return f"select id, k, v, r from {inputs.first} where {' or '.join(f'v = {n}' for n in range(steps))}"


def alternating(steps: int, inputs: Inputs) -> str:
    sql = "v = 0"
    for n in range(1, steps + 1):
        sql = f"({sql} {'and' if n % 2 else 'or'} v <> {n})"
    return f"select id, k, v, r from {inputs.first} where {sql}"


def negations(steps: int, inputs: Inputs) -> str:
    return f"select id, k, v, r from {inputs.first} where {'not (' * steps}v = 1{')' * steps}"


def long_in(steps: int, inputs: Inputs) -> str:
    return f"select id, k, v, r from {inputs.first} where v in ({', '.join(map(str, range(steps)))})"


def sums(steps: int, inputs: Inputs) -> str:
    return f"select id, k, {' + '.join(['v'] * steps)} as v, r from {inputs.first}"


def parentheses(steps: int, inputs: Inputs) -> str:
    return f"select id, k, {'(' * steps}v{')' * steps} as v, r from {inputs.first}"


def nested_functions(steps: int, inputs: Inputs) -> str:
    return f"select id, {'upper(' * steps}k{')' * steps} as k, v, r from {inputs.first}"


def nested_coalesce(steps: int, inputs: Inputs) -> str:
    return f"select id, k, {'coalesce(v, ' * steps}r{')' * steps} as v, r from {inputs.first}"


def nested_structs(steps: int, inputs: Inputs) -> str:
    return f"select id, k, v, r, {'struct(' * steps}v{')' * steps} as s from {inputs.first}"


def nested_arrays(steps: int, inputs: Inputs) -> str:
    return f"select id, k, v, r, {'array(' * steps}v{')' * steps} as a from {inputs.first}"


def nested_lambdas(steps: int, inputs: Inputs) -> str:
    sql = "x0"
    for n in range(steps):
        sql = f"aggregate(array({sql}), 0L, (a, x{n}) -> a + x{n})"
    return f"select id, k, v, r, transform(array(v), x0 -> {sql}) as a from {inputs.first}"


def casts(steps: int, inputs: Inputs) -> str:
    return f"select id, k, {'cast(' * steps}v{' as bigint)' * steps} as v, r from {inputs.first}"


def concatenations(steps: int, inputs: Inputs) -> str:
    return f"select id, {' || '.join(['k'] * steps)} as k, v, r from {inputs.first}"


def wide(steps: int, inputs: Inputs) -> str:
    return f"select id, k, v, r, {', '.join(f'v + {n} as x{n}' for n in range(steps))} from {inputs.first}"


def wide_chain(steps: int, inputs: Inputs) -> str:
    """Many columns, through several CTEs."""
    ctes = [
        f"c0 as (select id, k, v, r, {', '.join(f'v + {n} as x{n}' for n in range(steps))} from {inputs.first})"
    ]
    ctes += [f"c{n} as (select * from c{n - 1})" for n in range(1, 11)]
    return f"with {', '.join(ctes)} select * from c10"


def aggregates(steps: int, inputs: Inputs) -> str:
    calls = ", ".join(f"sum(v + {n}) as s{n}" for n in range(steps))
    return f"select id, max(k) as k, max(v) as v, max(r) as r, {calls} from {inputs.first} group by id"


def chained_aggregates(steps: int, inputs: Inputs) -> str:
    ctes = [f"c0 as (select id, k, v, r from {inputs.first})"]
    ctes += [
        f"c{n} as (select id, max(k) as k, sum(v) as v, max(r) as r from c{n - 1} group by id)"
        for n in range(1, steps + 1)
    ]
    return f"with {', '.join(ctes)} select id, k, v, r from c{steps}"


def counts_of_counts(steps: int, inputs: Inputs) -> str:
    ctes = [f"c0 as (select id, k, v, r from {inputs.first})"]
    ctes += [
        f"c{n} as (select count(*) as id, max(k) as k, v, id as r from c{n - 1} group by id, v)"
        for n in range(1, steps + 1)
    ]
    return f"with {', '.join(ctes)} select id, k, v, r from c{steps}"


def windows(steps: int, inputs: Inputs) -> str:
    calls = ", ".join(
        f"sum(v) over (partition by k order by id rows {n} preceding) as w{n}" for n in range(steps)
    )
    return f"select id, k, v, r, {calls} from {inputs.first}"


def chained_windows(steps: int, inputs: Inputs) -> str:
    ctes = [f"c0 as (select id, k, v, r from {inputs.first})"]
    ctes += [
        f"c{n} as (select id, k, sum(v) over (partition by r order by id) as v, r from c{n - 1})"
        for n in range(1, steps + 1)
    ]
    return f"with {', '.join(ctes)} select id, k, v, r from c{steps}"


def in_subqueries(steps: int, inputs: Inputs) -> str:
    conditions = " and ".join(f"k in (select k from {inputs.other} where v > {n})" for n in range(steps))
    return f"select id, k, v, r from {inputs.first} where {conditions}"


def nested_in(steps: int, inputs: Inputs) -> str:
    sql = f"select id from {inputs.other}"
    for _ in range(steps):
        sql = f"select id from {inputs.other} where v in ({sql})"
    return f"select id, k, v, r from {inputs.first} where id in ({sql})"


def scalar_subqueries(steps: int, inputs: Inputs) -> str:
    items = ", ".join(
        f"(select max(o.v) from {inputs.other} as o where o.k = t.k and o.v > {n}) as m{n}"
        for n in range(steps)
    )
    return f"select id, k, v, r, {items} from {inputs.first} as t"


def flat_joins(steps: int, inputs: Inputs) -> str:
    joins = " ".join(f"left join {inputs.other} as s{n} on t.k = s{n}.id" for n in range(steps))
    return f"select t.id, t.k, t.v, t.r from {inputs.first} as t {joins}"


def inner_joins(steps: int, inputs: Inputs) -> str:
    joins = " ".join(f"join {inputs.other} as s{n} on t.k = s{n}.id" for n in range(steps))
    return f"select t.id, t.k, t.v, t.r from {inputs.first} as t {joins}"


def full_joins(steps: int, inputs: Inputs) -> str:
    joins = " ".join(f"full join {inputs.other} as s{n} on t.id = s{n}.id" for n in range(steps))
    key = ", ".join(["t.id", *(f"s{n}.id" for n in range(steps))])
    return f"select coalesce({key}) as id, t.k, t.v, t.r from {inputs.first} as t {joins}"


def chained_joins(steps: int, inputs: Inputs) -> str:
    """Each relation is compared with the one before."""
    joins = " ".join(
        f"left join {inputs.other} as s{n} on {f's{n - 1}' if n else 't'}.k = s{n}.id" for n in range(steps)
    )
    return f"select t.id, t.k, t.v, t.r from {inputs.first} as t {joins}"


def generated_rows(steps: int, inputs: Inputs) -> str:
    views = " ".join(f"lateral view explode(array(v, {n})) e{n} as x{n}" for n in range(steps))
    return f"select id, k, v, r from {inputs.first} {views}"


def rollups(steps: int, inputs: Inputs) -> str:
    keys = ", ".join(f"v + {n}" for n in range(steps))
    return f"select id, max(k) as k, max(v) as v, max(r) as r from {inputs.first} group by id, rollup({keys})"


def long_text(steps: int, inputs: Inputs) -> str:
    return f"select id, k, v, r, '{'a' * steps}' as t from {inputs.first}"


def long_comment(steps: int, inputs: Inputs) -> str:
    return f"select id, k, v, r /* {'a(' * steps} */ from {inputs.first}"


def long_name(steps: int, inputs: Inputs) -> str:
    return f"select id, k, v, r as `{'a' * steps}`, r from {inputs.first}"


FORMS: dict[str, Form] = {
    name: form
    for name, form in list(globals().items())
    if callable(form) and getattr(form, "__module__", "") == __name__ and name[0].islower()
}


def of_length(form: Form, characters: int, inputs: Inputs) -> str:
    """Return SQL of a form with about as many characters."""
    one, more = len(form(10, inputs)), len(form(20, inputs))
    length_of_step = max(1, (more - one) // 10)
    return form(max(1, (characters - one) // length_of_step + 10), inputs)
