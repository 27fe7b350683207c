"""Errors of tables in databases."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS846 a database can't be reached
    The server does not answer or refuses the user. Start it, or fix its address, user and password under
    `tables:` in profiles.yml.
MS851 a type that a database has no column for
    Intervals and values of unknown type can't be stored. Cast the column in the model, for example to string.
MS852 a table in a database has other types
    A column of the table has another type than in the model. Its rows can't be converted without loss:
    rebuild the table, or give the column its former type.
MS853 a table in a database has another key
    The table was created with another key than the model now has. Rebuild it, or give the model its former
    `unique_key`.
MS854 a name that a database can't hold
    PostgreSQL truncates names after 63 bytes, so that two could become equal; MySQL refuses names of more
    than 64 characters. Give it a shorter name.
MS855 a database refuses rows
    A batch could not be stored. The message is the database's own: a value that a column can't hold (such as
    a text with the character U+0000 in PostgreSQL, or NaN in MySQL), a missing permission, a full disk. No
    row of the batch was stored; the next start repeats it.
MS856 a database refuses a table
    The table, or the schema that it is in, could not be created. The message is the database's own, for
    example that a permission is missing.
""")
