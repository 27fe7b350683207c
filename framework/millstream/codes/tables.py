"""MS84x and following: state tables at rest."""

from millstream.codes import Code

CODES: dict[str, Code] = {
    "MS841": Code(
        "the target does not configure the store of a table",
        "A model says `store: postgres`, for example, but `tables:` of the target in profiles.yml has no `url`. "
        "Add it, or remove the option `store`.",
    ),
    "MS842": Code(
        "a query names no known table",
        "`millstream query` knows models that are tables, reference topics (`source.topic`) and seeds. "
        "Mend the name.",
    ),
    "MS843": Code(
        "a table has not been built",
        "The project has the table, but nothing has written it on this target yet. Build it.",
    ),
    "MS844": Code(
        "a query names no table",
        "Views are stored nowhere and topics are in Kafka: `show` and `consume` tell their rows. Only state "
        "tables, reference topics and seeds can be queried.",
    ),
    "MS845": Code(
        "a query can't be answered",
        "DataFusion, or the database that holds all tables of the query, refuses the SQL or fails on a value. "
        "Fix the SQL at the place that is shown.",
    ),
    "MS848": Code(
        "a query that is no SELECT",
        "`millstream query` only reads. Tables are written by their models alone.",
    ),
}
