"""After each batch of changes, every table over tables equals DuckDB's answer over the base tables.

The statements that maintain tables run in DuckDB as well, translated: that is quick, and they are SQL of both. On Spark,
fewer sequences run. `MILLSTREAM_MAINTAINED=1000 uv run pytest -m long framework/tests/maintained` runs 1,000 of them.
"""

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from support.long import MAINTAINED, MAINTAINED_FIRST
from support.spark import SPARK_WARNINGS

from maintained.generator import Made, Sequence, sequences
from maintained.harness import InDuckDB, Maintained

pytestmark = SPARK_WARNINGS
SHORT = 10


def maintained(folders, examples, tables_of):
    @seed(MAINTAINED_FIRST)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(sequences())
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
BASE = [Made(f"t{number}", COLUMNS, ("id",)) for number in range(3)]
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
    "a union of joins": ({"i": "n", "k": "t"}, "select x.id as i, y.k from {t0} as x join {t1} as y on x.r = y.r union select z.r as i, z.k from {t2} as z"),
}  # fmt: skip
KEYS_OF = {"a group of what has no match": ("k",)}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_of_sql_stays_equal(tmp_path, name):
    columns, sql = FORMS[name]
    reads = tuple(table.name for table in BASE if f"{{{table.name}}}" in sql)
    made = Made("m0", columns, KEYS_OF.get(name, tuple(columns)), sql, reads=reads)
    tables = InDuckDB(tmp_path, Sequence(list(BASE), [made]))
    assert not tables.sequence.made[0].full, "touched keys are not derived"
    for batch in BATCHES:
        tables.apply(batch)
        tables.check()
