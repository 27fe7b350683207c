"""Errors of tables in PostgreSQL."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS846 PostgreSQL can't be reached
    The server does not answer or refuses the user. Start it, or fix `url`, `username` and `password` of
    `tables:` in profiles.yml.
MS851 a type that PostgreSQL has no column for
    Intervals and values of unknown type can't be stored. Cast the column in the model, for example to string.
MS852 a table in PostgreSQL has other types
    A column of the table has another type than in the model. Its rows can't be converted without loss:
    rebuild the table, or give the column its former type.
MS853 a table in PostgreSQL has another key
    The table was created with another key than the model now has. Rebuild it, or give the model its former
    `unique_key`.
MS854 a name that PostgreSQL can't hold
    PostgreSQL truncates names after 63 bytes, so that two could become equal. Give it a shorter name.
MS855 PostgreSQL refuses rows
    A batch could not be stored. The message is PostgreSQL's own: a value that a column can't hold (such as a
    text with the character U+0000), a missing permission, a full disk. No row of the batch was stored; the
    next start repeats it.
MS856 PostgreSQL refuses a table
    The schema or table could not be created. The message is PostgreSQL's own, for example that a permission
    is missing.
""")
