"""MS84x and following: state tables at rest."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS841 The target does not configure the store of a table
    For example, a model sets `store: postgres`, but `tables:` of the target in profiles.yml has no `url`. Add
    it, or remove the option `store`.
MS842 A query names an unknown table
    `millstream query` can read models that are tables, reference topics (`source.topic`) and seeds. Fix the
    name.
MS843 A table has not been built
    The project has the table, but it has not been built on this target yet, or not since it has a column that
    a query reads. Build it.
MS615 The last build of a model failed
    A command shows what a model has stored, and the last `build` or `apply` of it failed, or was skipped
    because a model that it reads or a unit test failed. So the rows are those from before: none, if it was
    never built. `millstream run` does not count as a build.
MS844 A query names something that is not a table
    Views are not stored, and topics are in Kafka: use `show` and `consume` to see their rows. Only state
    tables, reference topics and seeds can be queried.
MS845 A query fails
    DataFusion, or the database that holds all tables of the query, rejects the SQL or fails on a value. Fix
    the SQL at the location shown.
MS848 A query that is not a SELECT
    `millstream query` only reads. Only models write tables.
""")
