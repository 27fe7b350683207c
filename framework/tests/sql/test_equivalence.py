"""Names of expressions: equal for the same value in other words, and for nothing else."""

import pytest

from millstream.sql.equivalence import Equivalence

SAME = """
a <> 'x' | not 'x' = a
(a + b) * 2 | 2 * (b + a)
count(1) | count(*)
sum(case when a > 1 then b end) | sum(b) filter (where 1 < a)
count(case when a then 1 end) | count_if(a)
if(a, b, null) | case when a then b end
case a when 1 then 'x' else 'y' end | if(a = 1, 'x', 'y')
a between 1 and 2 | a >= 1 and 2 >= a
a in (2, 1, 1) | a in (1, 2)
a not in (1) | a <> 1
window(t, '1 minute') | WINDOW(t, '60 seconds')
a || b || c | concat(a, b, c)
not (a is null) | isnotnull(a)
a is not null | isnotnull(a)
cast(a as int) | int(a)
a::int | cast(a as INTEGER)
interval 1 minute | interval '1' minute
nvl(a, b) | coalesce(a, b)
case when a is null then b else a end | coalesce(a, b)
if(isnull(a + 1), b, 1 + a) | ifnull(a + 1, b)
transform(a, x -> x + 1) | transform(a, x -> 1 + x)
sum(distinct a) | sum(DISTINCT (a))
a and b or c | c or (b and a)
a like 'x%' | (a) LIKE 'x%'
not (a and b) | not b or not a
a not between 1 and 2 | a < 1 or 2 < a
coalesce(sum(if(a, 1, 0)), 0) | count_if(a)
coalesce(sum(if(a, 1, null)), 0) | count_if(a)
ifnull(count(a), 0) | count(a)
"""
OTHER = """
a - b | b - a
a < b | a <= b
sum(a) | sum(distinct a)
sum(if(a, b, 0)) | sum(b) filter (where a)
cast(a as int) | try_cast(a as int)
'x' | 'X'
1.0 | 1
1.50 | 1.5
1L | 1
'1' | 1
(a + b) + c | a + (b + c)
a['x'] | a['y']
a.x | a.y
a[0] | a[1]
date_add(a, 1) | date_sub(a, 1)
a div b | a / b
a % b | b % a
count(a) | count(*)
count(null) | count(*)
first(a) | first(a, true)
first(a) ignore nulls | first(a)
first(case when a then b end) | first(b) filter (where a)
a <=> b | a = b
max_by(a, b) | max_by(b, a)
a like 'x' escape '/' | a like 'x'
a ilike 'x' | a like 'x'
cast(a as decimal(10, 2)) | cast(a as decimal(10, 3))
a in (1) | a not in (1)
extract(hour from a) | extract(minute from a)
interval 1 minute | interval 1 second
a & b | a | b
a >> 1 | a >>> 1
trim(both 'x' from a) | trim(leading 'x' from a)
date '2020-01-01' | timestamp '2020-01-01'
collect_list(a) | collect_set(a)
any_value(a) | first(a)
current_date() | current_timestamp()
case when a then b end | case when a then b else c end
case when a is null then b else c end | coalesce(a, b)
case when a is not null then b else a end | coalesce(a, b)
window(t, '1 minute') | window(t, '1 minute', '30 seconds')
transform(a, x -> x) | transform(a, x -> y)
not (a and b) | not a and not b
sum(if(a, 1, 0)) | count_if(a)
coalesce(sum(if(a, 1, null)), 1) | count_if(a)
coalesce(sum(if(a, 1, 0)) filter (where b), 0) | count_if(a)
coalesce(sum(distinct if(a, 1, 0)), 0) | count_if(a)
coalesce(sum(if(a, 1, 0)), 0.0) | count_if(a)
coalesce(sum(if(a, 1.0, 0)), 0) | count_if(a)
coalesce(max(a), 0) | max(a)
"""


def pair(line):
    first, _, second = line.partition(" | ")
    return pytest.param(first, second, id=line)


def pairs(lines):
    return [pair(line) for line in lines.strip().splitlines()]


@pytest.mark.parametrize(("first", "second"), pairs(SAME))
def test_the_same_value_has_one_name(first, second):
    names = Equivalence()
    assert names.name(first) == names.name(second)


@pytest.mark.parametrize(("first", "second"), pairs(OTHER))
def test_other_values_have_other_names(first, second):
    names = Equivalence()
    assert names.name(first) != names.name(second)


@pytest.mark.parametrize("condition", ["b <> 0 and 1 / b > 2", "b between 1 / a and 2"])
def test_conditions_that_can_fail_stay_in_their_order(condition):
    names = Equivalence()
    swapped = (
        " and ".join(reversed(condition.split(" and "))) if "/ b" in condition else "1 / a <= b and b <= 2"
    )
    assert names.name(condition, raises=True) != names.name(swapped, raises=True)


@pytest.mark.parametrize(
    ("first", "second"),
    pairs("""
b + 1 / a between 1 and 2 | b + 1 / a >= 1 and 2 >= b + 1 / a
c and b between 1 / a and 2 | c and b >= 1 / a and b <= 2
b not between 1 / a and 2 | b < 1 / a or b > 2
not (b = 0 or 1 / b > 2) | b <> 0 and 1 / b <= 2
"""),
)
def test_conditions_that_can_fail_have_one_name_in_one_order(first, second):
    names = Equivalence()
    assert names.name(first, raises=True) == names.name(second, raises=True)


@pytest.mark.parametrize(
    ("first", "second"),
    pairs("""
b < 1 / a | 1 / a > b
b = 1 / a | 1 / a = b
not (b < 1 / a) | 1 / a <= b
"""),
)
def test_what_fails_is_not_calculated_before_a_null(first, second):
    """If b is NULL, only the second of each pair fails for an a of 0."""
    names = Equivalence()
    assert names.name(first, raises=True) != names.name(second, raises=True)


def test_a_sum_of_a_group_that_has_rows_is_a_count():
    names = Equivalence()
    assert names.of_group(names.name("sum(if(a, 1, 0))")) == names.name("count_if(a)")
    assert names.of_group(names.name("sum(1)")) == names.name("count(*)")
    for other in (
        "sum(if(a, 1, null))",
        "sum(if(a, 1, 2))",
        "sum(if(a, 1L, 0))",
        "sum(a)",
        "avg(if(a, 1, 0))",
    ):
        assert names.of_group(names.name(other)) == names.name(other)


def test_a_name_is_a_column_of_other_expressions():
    names = Equivalence()
    twice = names.name("a * 2")
    assert names.name(f"{twice} > 1") == names.name("1 < 2 * a")
    assert names.filtered(names.name("sum(b)"), names.name("a")) == names.name("sum(if(a, b, null))")
    assert names.all_of([names.name("a"), names.name("b")]) == names.name("b and a")
