"""Codes of the rows that a run logs."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS670 A log of rows that no query stores
    `log` writes rows that a model's query stores to the log of `run`. A view stores none: the models that
    read it compute its rows. Write `log` for these.
MS671 A log names a column that the model does not have
    `columns` of `log` are columns of the model's own SELECT. Without it, all of them are logged.
MS672 The condition of a log can't be used
    `when` of `log` is a condition over the columns of a single row. It must not stop a query, so no row can
    make it fail, and it can't call functions of the project, aggregates or `rand()`. Compute such a value in
    the model.
""")
