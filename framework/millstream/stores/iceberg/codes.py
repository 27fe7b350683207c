"""Errors of Iceberg tables."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS622 an Iceberg table can't be read
    The files of an Iceberg table are damaged, out of reach, or of a newer format. The message comes from
    pyiceberg. Credentials of storage are taken from the environment.
MS623 reading an Iceberg table needs pyiceberg
    `query`, `show` and data tests read Iceberg tables without Spark, by a library that is not installed.
MS624 an Iceberg table has a column of another type
    The type of a column of a table changed. Columns can be added to a table, but not changed. Rebuild
    the model with `--full-refresh`, which removes its rows and state first, or give the column a new name.
MS625 another program has marked rows of an Iceberg table as deleted
    Millstream does not read files of deleted rows, so it would show and store these rows again. Let the
    program that wrote them rewrite the files of the table, and set `write.delete.mode`, `write.update.mode`
    and `write.merge.mode` of the table to `copy-on-write`; or rebuild the table.
MS633 an Iceberg catalog can't be used
    The catalog that `tables:` of the target names does not answer, refuses the token or credential, or does
    not have the namespace. Millstream creates the namespaces of environments, but not the target's own.
""")
