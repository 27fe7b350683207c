"""A table that joins versions as of a time equals DuckDB's ASOF JOIN over all records, however these arrive.

`MILLSTREAM_VERSIONS=3000 uv run pytest -m long framework/tests/versions` tries 3,000 random sequences.
"""

import pytest
from hypothesis import strategies as st
from maintained.generator import Sequence, TableModel
from maintained.harness import InDuckDB as Tables
from maintained.harness import in_memory, insert, ordered
from support.long import VERSIONED

from versions.history import cut, timestamp
from versions.in_duckdb import InDuckDB as Versions
from versions.test_versions import SHORT, examples, positions

BASE = [
    TableModel("orders", {"id": "n", "k": "t", "time": "timestamp"}, ("id",)),
    TableModel("rates", {"k": "t", "price": "n", "time": "timestamp"}, ("k",), options=", versions='all', order_by='time'"),
]  # fmt: skip
JOIN = "{orders} as o {kind} join {rates} for system_time as of o.time as r on r.k = o.k"
ASOF = "orders as o {kind} join valid as r on r.id = o.id"
VALID = """
    select o.id, r.price, r.time as valid_from
    from orders as o asof join records as r on o.k = r.k and o.time >= r.time where r.price is not null
"""
"""What DuckDB finds among all records, of which those without a price end the one before."""
FORMS = {
    "rows": (("id",), "select o.id, o.k, r.price, r.valid_from from " + JOIN + "{more}"),
    "groups": (("k",), "select o.k, count(*) as n, sum(r.price) as total from " + JOIN + "{more} group by o.k"),
    "groups by what is joined": (("price",), "select r.price, count(*) as n from " + JOIN + "{more} group by r.price"),
    "the newest of each price": (("id",), "select o.id, r.price from " + JOIN + "{more} qualify row_number() over (partition by r.price order by o.time desc, o.id) = 1"),
}  # fmt: skip
"""Tables over the join; `more` is a further condition of ON."""
order = st.tuples(st.none() | st.sampled_from("abcd"), st.none() | st.integers(0, 32))
changes = st.lists(
    st.one_of(
        st.tuples(st.just("order"), st.integers(0, 9), st.none() | order),
        st.tuples(
            st.just("record"), st.sampled_from("abc"), st.integers(0, 30), st.none() | st.integers(0, 3)
        ),
    ),
    min_size=1,
    max_size=60,
)
"""Orders that come, change and go, and records of rates at any minute."""
schemas = st.tuples(
    st.sampled_from(list(FORMS)), st.sampled_from(["", "left"]), st.sampled_from(["", " and r.price > 1"])
)


class Joined(Tables):
    """Tables over orders and the versions of rates; they are compared with all records of both."""

    def __init__(self, root, form, kind, more):
        keys, sql = FORMS[form]
        sql = sql.replace("{kind}", kind).replace("{more}", more)
        table = TableModel("joined", {}, keys, sql, reads=("orders", "rates"))
        super().__init__(root, Sequence(list(BASE), [table]))
        self.versions = Versions()
        self.records = {}
        joined = JOIN.replace("{kind}", kind)
        self.expected_sql = sql.replace(joined, ASOF.format(kind=kind))

    def batch(self, orders, records):
        before = dict(self.versions.rows)
        if records:
            self.versions.batch([(key, timestamp(minute), value) for key, minute, value in records])
        self.records |= {(key, minute): value for key, minute, value in records}
        after = self.versions.rows
        changed = [row for key, row in before.items() if after.get(key) != row]
        new = [row for key, row in after.items() if before.get(key) != row]
        row_changes = {
            "orders": [(id_, row and (row[0], timestamp(row[1]))) for id_, row in dict(orders).items()]
        }
        # The rows of a table have their key first; here it is all but `valid_to`.
        row_changes["rates"] = [(_version(row), None) for row in changed] + [
            (_version(row), (row[3],)) for row in new
        ]
        self.apply(row_changes)

    def check(self):
        database = in_memory()
        database.execute("create table orders (id bigint, k text, time timestamptz)")
        database.execute("create table records (k text, price bigint, time timestamptz)")
        insert(database, "orders", self.rows["model.orders"].values())
        insert(
            database,
            "records",
            [(key, value, timestamp(minute)) for (key, minute), value in self.records.items()],
        )
        database.execute(f"create table valid as {VALID}")
        names = ", ".join(self.names["model.joined"])
        expected = database.execute(f"select {names} from ({self.expected_sql})").fetchall()
        assert ordered(self.rows["model.joined"].values()) == ordered(expected), self.expected_sql


def _version(row):
    key, price, begins, _ = row
    return key, price, begins, begins


def stays_equal(folders, schema, order_changes, where):
    joined = Joined(folders.mktemp("project"), *schema)
    for batch in cut(order_changes, where):
        parts = ([change[1:] for change in batch if change[0] == kind] for kind in ("order", "record"))
        joined.batch(*parts)
        joined.check()


def joined_as_of(folders, count):
    @examples(count, schemas, changes, positions)
    def check(schema, order_changes, where):
        stays_equal(folders, schema, order_changes, where)

    check()


def test_a_table_that_joins_versions(tmp_path_factory):
    joined_as_of(tmp_path_factory, SHORT)


@pytest.mark.long
def test_many_tables_that_join_versions(tmp_path_factory):
    joined_as_of(tmp_path_factory, VERSIONED)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["", "left"])
def test_the_touched_keys_of_each_form_are_derived(tmp_path, form, kind):
    (table,) = Joined(tmp_path, form, kind, "").sequence.models
    assert not table.full
