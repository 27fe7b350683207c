"""Errors of Delta tables."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS847 a Delta table can't be read
    The files of a Delta table are damaged, out of reach, or of a newer format. The message comes from
    delta-rs. Credentials of storage are taken from the environment.
MS866 a table has a column of another type
    The type of a column of a state table changed. Columns can be added to a table, but not changed. Rebuild
    the model with `--full-refresh`, which removes its rows and state first, or give the column a new name.
    The next build computes what reads the table again.
""")
