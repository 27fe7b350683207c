"""MS84x and following: state tables at rest."""

from millstream.codes import Code

CODES: dict[str, Code] = {
    "MS841": Code(
        "the target has no PostgreSQL",
        "A model says `store: postgres`, but `tables:` of the target in profiles.yml has no `url`. Add it, "
        "or store the table in Delta.",
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
        "DataFusion, or PostgreSQL where all tables of the query are there, refuses the SQL or fails on a "
        "value. Mend the SQL at the place that is shown.",
    ),
    "MS846": Code(
        "PostgreSQL can't be reached",
        "The server does not answer or refuses the user. Start it, or mend `url`, `username` and `password` "
        "of `tables:` in profiles.yml.",
    ),
    "MS847": Code(
        "a table can't be read",
        "The files of a Delta table are damaged, out of reach, or of a newer format. The message is of "
        "delta-rs. Credentials of storage are taken from the environment.",
    ),
    "MS848": Code(
        "a query that is no SELECT",
        "`millstream query` only reads. Tables are written by their models alone.",
    ),
    "MS851": Code(
        "a type that PostgreSQL has no column for",
        "Intervals and values of unknown type can't be stored. Cast the column in the model, such as to "
        "string.",
    ),
    "MS852": Code(
        "a table in PostgreSQL has other types",
        "The table has a column of another type than the model now gives. Its rows can't be taken over "
        "without loss: build it anew, or give the column its former type.",
    ),
    "MS853": Code(
        "a table in PostgreSQL has another key",
        "The table was made with another key than the model now has. Build it anew, or give the model its "
        "former `unique_key`.",
    ),
    "MS854": Code(
        "a name that PostgreSQL can't hold",
        "PostgreSQL cuts names after 63 bytes, so that two could become one. Give the model or the column a "
        "shorter name.",
    ),
    "MS855": Code(
        "PostgreSQL refuses rows",
        "A batch could not be stored. The message is PostgreSQL's own: a value that a column can't hold "
        "(such as a text with the character U+0000), a missing permission, a full disk. Nothing of the batch "
        "was stored; it is tried again with the next start.",
    ),
    "MS856": Code(
        "PostgreSQL refuses a table",
        "The schema or table could not be made. The message is PostgreSQL's own: a missing permission, say.",
    ),
}
