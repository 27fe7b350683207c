"""Errors of Parquet tables."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS628 a Parquet table has a column of another type
    The type of a column of a table changed. Columns can be added to a table, but not changed. Rebuild
    the model with `--full-refresh`, which removes its rows and state first, or give the column a new name.
MS629 a table's folder has Parquet files of another program
    All Parquet files in the folder of a table are its rows. So a new table needs a folder without any.
MS630 a Parquet table can't be read
    The files of a table are damaged, out of reach, or not those that its record describes. Credentials of
    storage are taken from the environment.
""")
