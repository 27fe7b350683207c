"""After each batch of changes, every table over tables equals DuckDB's answer over the base tables.

The statements that maintain tables run in DuckDB as well, translated: that is quick, and they are SQL of both. On Spark,
fewer sequences run. `MILLSTREAM_MAINTAINED=1000 uv run pytest -m long framework/tests/maintained` runs 1,000 of them.
"""

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from support.long import MAINTAINED, MAINTAINED_FIRST
from support.spark import SPARK_WARNINGS

from maintained.advanced import FORMS as MORE
from maintained.generator import Sequence, TableModel, sequences
from maintained.harness import InDuckDB, Maintained
from millstream.core.errors import MillstreamError

pytestmark = SPARK_WARNINGS
SHORT = 10


def maintained(folders, examples, tables_of):
    @seed(MAINTAINED_FIRST)
    @settings(
        max_examples=examples,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(sequences(MORE))
    def check(sequence):
        tables = tables_of(folders.mktemp("project"), sequence)
        for batch in sequence.batches:
            tables.apply(batch)
            tables.check()

    check()


def test_random_tables_over_tables_equal_their_sql(tmp_path_factory):
    maintained(tmp_path_factory, SHORT, InDuckDB)


@pytest.mark.long
def test_many_random_tables_over_tables_equal_their_sql(tmp_path_factory):
    maintained(tmp_path_factory, MAINTAINED, InDuckDB)


@pytest.mark.long
def test_random_tables_over_tables_equal_their_sql_on_spark(spark, tmp_path_factory):
    maintained(
        tmp_path_factory, max(2, MAINTAINED // 25), lambda root, sequence: Maintained(spark, root, sequence)
    )


COLUMNS = {"id": "n", "k": "t", "r": "n", "v": "n"}
BASE = [TableModel(f"t{number}", COLUMNS, ("id",)) for number in range(3)]
BATCHES = [
    {
        "t0": [(1, ("a", 1, 1)), (2, ("b", 1, 1)), (3, (None, 2, None))],
        "t1": [(1, ("a", 1, 1)), (2, (None, 1, 2)), (4, ("b", 2, 1))],
        "t2": [(1, ("a", 1, 1)), (2, ("b", 2, 2))],
    },
    {"t0": [(1, ("a", 1, 2)), (4, ("b", 2, 1))]},
    {"t1": [(2, ("a", 2, 2)), (1, None)]},
    {"t2": [(1, None), (3, (None, 1, 1))], "t0": [(2, ("a", 2, 1))]},
    {"t0": [(1, None)], "t1": [(3, ("c", 1, 1)), (4, None)], "t2": [(2, ("b", 1, 3))]},
]
KEYS = {"x_id": "n", "y_id": "n", "z_id": "n"}
ITEMS = "select x.id as x_id, y.id as y_id, z.id as z_id from {t0} as x"
FORMS = {
    "ON of a left join compares earlier relations": (KEYS, ITEMS + " join {t1} as y on x.r = y.r left join {t2} as z on z.r = x.r and x.id = y.id"),
    "ON of an anti join compares its left side": ({"id": "n"}, "select x.id from {t0} as x {anti} {t1} as y on y.k = x.k and x.id = x.r"),
    "a match through a missing relation": (KEYS, ITEMS + " left join {t1} as y on x.r = y.r full join {t2} as z on z.v = y.v"),
    "a right join of a join": (KEYS, ITEMS + " join {t1} as y on x.r = y.r right join {t2} as z on z.v = y.v"),
    "a comparison that NULL passes": ({"x_id": "n", "y_id": "n"}, "select x.id as x_id, y.id as y_id from {t0} as x left join {t1} as y on x.r = y.r and coalesce(x.v, 0) < 2"),
    "a group of what has no match": ({"k": "t", "n": "n"}, "select y.k, count(*) as n from {t0} as x left join {t1} as y on x.r = y.r group by y.k"),
    "a self-join": ({"x_id": "n", "y_id": "n"}, "select x.id as x_id, y.id as y_id from {t0} as x join {t0} as y on x.r = y.v"),
    "counts and sums": ({"k": "t", "n": "n", "s": "n", "c": "n", "f": "n"}, "select x.k, count(*) as n, sum(x.v) as s, count(x.r) filter (where x.v > 1) as c, sum(x.r - 1) filter (where x.id < 3) as f from {t0} as x where x.id < 9 group by x.k"),
    "a place in each partition": ({"id": "n", "place": "n"}, "select x.id, row_number() over (partition by x.k order by x.id) as place from {t0} as x"),
    "the newest of each partition, which is not qualified": ({"id": "n", "k": "t"}, "select x.id, x.k from {t0} as x qualify row_number() over (partition by k order by v desc, id) < 3"),
    "windows over groups": ({"k": "t", "r": "n", "place": "n"}, "select x.k, x.r, row_number() over (partition by k order by sum(x.v), x.r) as place from {t0} as x group by x.k, x.r"),
    "windows of two partitions": ({"id": "n", "a": "n", "b": "n"}, "select x.id, sum(x.v) over (partition by x.k) as a, count(*) over (partition by x.r, x.v) as b from {t0} as x"),
    "a window with its partition": ({"id": "n", "k": "t", "s": "n"}, "select x.id, x.k, sum(x.v) over (partition by x.k order by x.id rows between 1 preceding and current row) as s from {t0} as x"),
    "the best of each partition": ({"id": "n", "k": "t", "v": "n"}, "select x.id, x.k, x.v from {t0} as x qualify row_number() over (partition by x.k order by x.v desc nulls last, x.id) <= 1"),
    "the best of each partition in a subquery": ({"i": "n", "k": "t"}, "select t.id as i, t.k from (select x.id, x.k, rank() over (partition by x.k order by x.v desc nulls last) as place from {t0} as x) as t where t.place = 1"),
    "a window over groups": ({"k": "t", "r": "n", "n": "n", "share": "n"}, "select x.k, x.r, count(*) as n, sum(count(*)) over (partition by x.k) as share from {t0} as x group by x.k, x.r"),
    "a window over a join": ({"x_id": "n", "y_id": "n", "before": "n"}, "select x.id as x_id, y.id as y_id, lag(x.v) over (partition by y.r order by x.id, y.id) as before from {t0} as x left join {t1} as y on x.k = y.k"),
    "a join of the newest": ({"x_id": "n", "y_id": "n"}, "with n as (select * from {t1} as y qualify row_number() over (partition by y.k order by y.id desc) = 1) select x.id as x_id, n.id as y_id from {t0} as x left join n on n.k = x.k"),
    "intersect": ({"k": "t", "r": "n"}, "select x.k, x.r from {t0} as x intersect select y.k, y.r from {t1} as y"),
    "except": ({"k": "t"}, "select x.k from {t0} as x except select y.k from {t1} as y"),
    "except of all rows in a group": ({"k": "t", "n": "n"}, "select t.k, count(*) as n from (select x.k, x.r from {t0} as x except all select y.k, y.r from {t1} as y) as t group by t.k"),
    "rollup": ({"k": "t", "r": "n", "g": "n", "n": "n"}, "select x.k, x.r, grouping_id(x.k, x.r) as g, count(*) as n from {t0} as x group by rollup(x.k, x.r)"),
    "cube of a join": ({"k": "t", "r": "n", "g": "n", "n": "n"}, "select x.k, y.r, grouping(x.k) + 2 * grouping(y.r) as g, sum(x.v) as n from {t0} as x join {t1} as y on x.id = y.id group by cube(x.k, y.r)"),
    "grouping sets": ({"k": "t", "r": "n", "v": "n", "g": "n", "n": "n"}, "select x.k, x.r, x.v, grouping_id(x.k, x.r, x.v) as g, max(x.id) as n from {t0} as x group by grouping sets ((x.k, x.r), x.v)"),
    "exists": ({"id": "n"}, "select x.id from {t0} as x where exists (select 1 from {t1} as y where y.k = x.k and y.v > 1)"),
    "not exists": ({"id": "n"}, "select x.id from {t0} as x where x.v > 0 and not exists (select 1 from {t1} as y where x.r = y.v and y.id > x.id)"),
    "exists in a list": ({"id": "n", "found": "n"}, "select x.id, case when exists (select 1 from {t1} as y where y.k = x.k) then 1 else 0 end as found from {t0} as x"),
    "in": ({"id": "n"}, "select x.id from {t0} as x where x.k in (select y.k from {t1} as y where y.v > 1)"),
    "in of groups": ({"k": "t", "n": "n"}, "select x.k, count(*) as n from {t0} as x where x.r in (select y.v from {t1} as y group by y.v having count(*) > 1) group by x.k"),
    "in a union": ({"id": "n"}, "select x.id from {t0} as x where x.r in (select y.v from {t1} as y union select z.r from {t2} as z)"),
    "not in": ({"id": "n"}, "select x.id from {t0} as x where x.k not in (select y.k from {t1} as y)"),
    "not in what has no NULL": ({"id": "n"}, "select x.id from {t0} as x where x.id not in (select y.v from {t1} as y where y.v is not null)"),
    "in or another condition": ({"id": "n"}, "select x.id from {t0} as x where x.k in (select y.k from {t1} as y) or x.v > 1"),
    "in within in": ({"id": "n"}, "select x.id from {t0} as x where x.k in (select y.k from {t1} as y where y.r in (select z.v from {t2} as z))"),
    "a value for each row": ({"id": "n", "most": "n"}, "select x.id, (select max(y.v) from {t1} as y where y.k = x.k) as most from {t0} as x"),
    "a comparison with a value": ({"k": "t", "n": "n"}, "select x.k, count(*) as n from {t0} as x where x.v >= (select avg(y.v) from {t0} as y where y.r = x.r) group by x.k"),
    "a subquery of a joined relation": ({"x_id": "n", "y_id": "n"}, "select x.id as x_id, y.id as y_id from {t0} as x left join {t1} as y on x.r = y.r where not exists (select 1 from {t2} as z where z.k = y.k)"),
    "a subquery in HAVING": ({"k": "t", "n": "n"}, "select x.k, count(*) as n from {t0} as x group by x.k having exists (select 1 from {t1} as y where y.k = x.k)"),
    "a CTE in a subquery": ({"id": "n"}, "with c as (select y.k, y.v from {t1} as y where y.r > 0) select x.id from {t0} as x where x.k in (select c.k from c)"),
    "the best in a subquery": ({"id": "n"}, "select x.id from {t0} as x where x.id in (select y.v from {t1} as y qualify row_number() over (partition by y.k order by y.id) = 1)"),
    "a value for all rows": ({"id": "n"}, "select x.id from {t0} as x where x.v >= (select max(y.v) from {t1} as y)"),
    "a value in each row": ({"id": "n", "n": "n", "m": "n"}, "select x.id, (select count(*) from {t1} as y where y.v > 0) as n, (select max(z.r) from {t2} as z) as m from {t0} as x"),
    "exists for all rows": ({"x_id": "n", "y_id": "n"}, "select x.id as x_id, y.id as y_id from {t0} as x left join {t1} as y on x.r = y.r where exists (select 1 from {t2} as z where z.v > 1)"),
    "a value for all groups": ({"k": "t", "s": "n"}, "select x.k, sum(x.v) as s from {t0} as x group by x.k having sum(x.v) >= (select avg(y.v) from {t0} as y)"),
    "a value of a CTE": ({"k": "t", "s": "n"}, "with c as (select x.k, sum(x.v) as s from {t0} as x group by x.k) select c.k, c.s from c where c.s = (select max(d.s) from c as d)"),
    "a value of a join": ({"id": "n"}, "select x.id from {t0} as x where x.v > (select count(*) from {t1} as y join {t2} as z on y.r = z.r)"),
    "how often each count occurs": ({"n": "n", "m": "n"}, "select t.n, count(*) as m from (select x.k, count(x.v) as n from {t0} as x left join {t1} as y on x.r = y.r group by x.k) as t group by t.n"),
    "how often each count occurs of some": ({"n": "n", "m": "n"}, "select t.n, count(*) as m from (select x.k, x.r, max(x.v) as n from {t0} as x group by x.k, x.r having count(*) < 2) as t group by t.n"),
    "a join by a maximum": ({"m": "n", "id": "n"}, "select t.m, y.id from (select x.k, max(x.v) as m from {t0} as x group by x.k) as t join {t1} as y on y.v = t.m group by t.m, y.id"),
    "a union of joins": ({"i": "n", "k": "t"}, "select x.id as i, y.k from {t0} as x join {t1} as y on x.r = y.r union select z.r as i, z.k from {t2} as z"),
    "two unnamed columns under the list of a CTE": ({"k": "t", "n": "n", "m": "n"}, "with z(k, n, m) as (select x.k, count(*), max(x.v) from {t0} as x group by x.k) select z.k, z.n, z.m from z"),
    "two unnamed columns under the list of a derived table": ({"k": "t", "n": "n", "m": "n"}, "select z.k, z.n, z.m from (select x.k, count(*), max(x.v) from {t0} as x group by x.k) as z(k, n, m)"),
    "an unnamed column before a named one": ({"k": "t", "m": "n"}, "select z.k, z.m from (select x.k, count(*), max(x.v) as m from {t0} as x group by x.k) as z"),
    "an unnamed column before a key": ({"id": "n", "m": "n"}, "select z.id, z.m from (select x.v + 100, x.id, x.r as m from {t0} as x) as z join {t1} as y on y.id = z.id"),
    "unnamed columns through a star": ({"k": "t", "n": "n", "m": "n"}, "with z(k, n, m) as (select * from (select x.k, count(*), max(x.v) from {t0} as x group by x.k) as y) select z.k, z.n, z.m from z"),
    "unnamed columns of a union": ({"k": "t", "n": "n", "s": "n"}, "with z(k, a, b) as (select x.k, x.v + 1, x.r + 2 from {t0} as x union all select y.k, y.v * 2, y.r * 3 from {t1} as y) select z.k, sum(z.a) as n, sum(z.b) as s from z group by z.k"),
    "unnamed columns of an inner side of a union": ({"id": "n", "a": "n", "b": "n"}, "select x.id, x.v as a, x.r as b from {t0} as x where x.k = 'a' union all select y.id + 100, y.v + 1, y.r + 2 from {t1} as y where y.k = 'b'"),
    "unnamed columns of except": ({"a": "n", "b": "n"}, "with z(a, b) as (select x.v + 1, x.r + 2 from {t0} as x except select y.v + 1, y.r + 2 from {t1} as y) select z.a, z.b from z"),
    "unnamed columns with a window": ({"id": "n", "a": "n", "b": "n"}, "with z(id, a, b) as (select x.id, sum(x.v) over (partition by x.k), x.r * 2 from {t0} as x) select z.id, z.a, z.b from z"),
    "unnamed columns with grouping sets": ({"k": "t", "r": "n", "g": "n", "n": "n"}, "with z(k, r, g, n) as (select x.k, x.r, grouping_id(x.k, x.r), count(*) from {t0} as x group by rollup(x.k, x.r)) select z.k, z.r, z.g, z.n from z"),
    "unnamed columns in a subquery": ({"id": "n"}, "select x.id from {t0} as x where x.r in (select z.b from (select y.v + 1, y.v * 1 from {t1} as y) as z(a, b))"),
    "an unnamed column compared by IN": ({"id": "n"}, "select x.id from {t0} as x where x.r in (select y.v + 1 from {t1} as y)"),
    "unnamed columns in lists of lists": ({"k": "t", "n": "n", "m": "n"}, "with z(a, b, c) as (select x.k, count(*), max(x.v) from {t0} as x group by x.k) select w.k, w.n, w.m from (select z.a, z.b + 1, z.c * 2 from z as z(a, b, c)) as w(k, n, m)"),
    "a join of unnamed columns": ({"x_id": "n", "y_id": "n"}, "select a.i as x_id, b.i as y_id from (select x.id, x.v + 1, x.r * 1 from {t0} as x) as a(i, s, t) join (select y.id, y.v + 1, y.r * 1 from {t1} as y) as b(i, s, t) on a.s = b.s and a.t = b.t"),
    "one column twice under a list": ({"id": "n", "a": "n", "b": "t"}, "with z(id, a, b, c) as (select x.id, x.v, x.k, x.v from {t0} as x join {t1} as y on x.id = y.id) select z.id, z.c as a, z.b from z"),
    "two columns of one name under a list": ({"x_id": "n", "y_id": "n"}, "with z(a, b) as (select x.id, y.id from {t0} as x join {t1} as y on x.r = y.r) select z.a as x_id, z.b as y_id from z"),
    "two columns of one name through a star": ({"x_id": "n", "y_id": "n"}, "with z(a, b, c) as (select * from (select x.id, y.id, x.v + y.v from {t0} as x join {t1} as y on x.r = y.r) as w) select z.a as x_id, z.b as y_id from z"),
    "a list that repeats a name": ({"id": "n", "b": "n"}, "select z.id, z.b from (select x.id, x.v, x.r, x.r + 1 from {t0} as x join {t1} as y on x.id = y.id) as z(id, a, a, b)"),
    "a side of a union by name, in another order": ({"id": "n", "k": "t"}, "select x.id, x.k from {t0} as x where x.id < 3 union all by name (select y.k, y.id + 100 as id from {t1} as y union all select z.k, z.id + 200 as id from {t2} as z)"),
}  # fmt: skip
KEYS_OF = {
    "two unnamed columns under the list of a CTE": ("k",),
    "two unnamed columns under the list of a derived table": ("k",),
    "an unnamed column before a named one": ("k",),
    "an unnamed column before a key": ("id",),
    "unnamed columns through a star": ("k",),
    "unnamed columns of a union": ("k",),
    "unnamed columns of an inner side of a union": ("id",),
    "unnamed columns with a window": ("id",),
    "unnamed columns with grouping sets": ("k", "r", "g"),
    "unnamed columns in lists of lists": ("k",),
    "one column twice under a list": ("id",),
    "a list that repeats a name": ("id",),
    "a side of a union by name, in another order": ("id",),
    "a group of what has no match": ("k",),
    "counts and sums": ("k",),
    "a place in each partition": ("id",),
    "windows of two partitions": ("id",),
    "a window with its partition": ("id",),
    "the best of each partition": ("id",),
    "the best of each partition in a subquery": ("i",),
    "a window over groups": ("k", "r"),
    "a window over a join": ("x_id", "y_id"),
    "rollup": ("k", "r", "g"),
    "cube of a join": ("k", "r", "g"),
    "grouping sets": ("k", "r", "v", "g"),
    "exists in a list": ("id",),
    "in of groups": ("k",),
    "a value for each row": ("id",),
    "a comparison with a value": ("k",),
    "a subquery in HAVING": ("k",),
    "a value in each row": ("id",),
    "a value for all groups": ("k",),
    "a value of a CTE": ("k",),
    "how often each count occurs": ("n",),
    "how often each count occurs of some": ("n",),
}


def forms():
    """Return one project with a table for each form."""
    tables = []
    for number, (name, (columns, sql)) in enumerate(FORMS.items()):
        reads = tuple(table.name for table in BASE if f"{{{table.name}}}" in sql)
        keys = KEYS_OF.get(name, tuple(columns))
        tables.append(TableModel(f"m{number}", columns, keys, sql, reads=reads))
    return Sequence(list(BASE), tables)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return InDuckDB(tmp_path_factory.mktemp("forms"), forms())


@pytest.fixture(scope="module")
def tables_in_spark(tmp_path_factory, spark):
    return Maintained(spark, tmp_path_factory.mktemp("forms"), forms())


@pytest.mark.long
@pytest.mark.parametrize("name", FORMS)
def test_a_form_of_sql_stays_equal_on_spark(tables_in_spark, name):
    one_table = tables_in_spark.of(f"m{list(FORMS).index(name)}")
    for batch in BATCHES:
        one_table.apply(batch)
        one_table.check()


@pytest.mark.parametrize("name", FORMS)
def test_a_form_of_sql_stays_equal(tables, name):
    one_table = tables.of(f"m{list(FORMS).index(name)}")
    assert not one_table.sequence.models[0].full, "touched keys are not derived"
    for batch in BATCHES:
        one_table.apply(batch)
        one_table.check()


def test_a_sum_that_may_have_no_rows_left_is_computed_from_the_input(tables):
    one_table = tables.of(f"m{list(FORMS).index('counts and sums')}")
    for rows in (
        [(1, ("a", 1, 2)), (2, ("a", 1, None)), (3, ("b", 1, 0))],
        [(4, ("a", 1, 3))],
        [(1, None), (4, None)],
        [(2, None)],
    ):
        one_table.apply({"t0": rows})
        one_table.check()
    assert one_table.weighted == [True, False, True]


@pytest.mark.long
def test_two_rows_with_one_key_are_refused(spark, tmp_path):
    sql = "select y.id, x.k from {t0} as x join {t1} as y on x.r = y.r"
    table = TableModel("m0", {"id": "n", "k": "t"}, ("id",), sql, reads=("t0", "t1"))
    tables = Maintained(spark, tmp_path, Sequence(list(BASE), [table]))
    tables.apply({"t0": [(1, ("a", 1, 1))], "t1": [(7, ("a", 1, 1)), (8, ("a", 2, 1))]})
    tables.check()
    with pytest.raises(MillstreamError, match="gives 2 rows with the key id = 7"):
        tables.apply({"t0": [(2, ("b", 1, 1))]})


PARTITIONS = {
    "select x.id, x.k from {t0} as x": ["k", "x.k"],
    "select x.id, upper(x.k) as k from {t0} as x": ["upper(x.k)", "upper(k)"],
    "select x.k, x.id, count(*) as n from {t0} as x group by x.k, x.id": ["k", "x.k"],
}


def keys_of_partitions(root, queries):
    """Return by which keys tables are maintained whose rows are the first two of each partition."""
    definitions = [
        TableModel(
            f"p{number}",
            {"id": "n", "k": "t"},
            ("id", "k"),
            f"{sql} qualify row_number() over (partition by {by} order by id) < 3",
            reads=("t0",),
        )
        for number, (sql, by) in enumerate(queries)
    ]
    tables = InDuckDB(root, Sequence(list(BASE), definitions))
    return [tables.plans[f"model.{table.name}"].maintenance.by for table in definitions]


def test_a_partition_is_the_same_however_it_is_written(tmp_path):
    queries = [(sql, by) for sql, partitions in PARTITIONS.items() for by in partitions]
    assert keys_of_partitions(tmp_path, queries) == [("k",)] * len(queries)


def test_a_partition_by_a_column_is_not_one_by_the_output_that_hides_it(tmp_path):
    hidden = "select x.id, concat(x.k, 'x') as k from {t0} as x"
    assert keys_of_partitions(tmp_path, [(hidden, "k"), (hidden, "concat(k, 'x')")]) == [("id", "k"), ("k",)]
