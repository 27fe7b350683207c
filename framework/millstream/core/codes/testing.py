"""Codes of tests."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS650 A unit test names an unknown column
    A row gives or expects a column that the relation does not have, or one that is computed when a record is
    decoded. Such a test could never fail for the right reason.
MS651 A value does not fit its column
    A row of a test has a value of a different type than its column. To test records that can't be decoded,
    give their bytes: `_value: '{oops'`.
MS652 A unit test expects nothing
    Without `expect`, `steps` with `expect`, `expect_dead_letters` or `expect_error`, a test would always
    pass. Write `expect: []` to expect no rows.
MS653 A unit test lacks an input
    The model reads a relation for which the test gives no rows. Write `rows: []` for no rows, or `model:
    +name` to compute the upstream models as well. A seed has its own rows.
MS654 An input that the model does not read
    The test gives rows for a relation that the model does not depend on, often because of a typo.
MS655 Rows of a test can't be read
    Rows are a list of mappings, CSV text, or a CSV file named by `fixture`.
MS656 A unit test has a meaningless setting
    For example an invalid time, a Python function that does not exist, or `strict` for a model without state.
MS657 A unit test can't be run
    The test would need a table that is written between its inputs and the model, which can't be given as
    rows. Give rows for a relation closer to the model.
MS658 A unit test failed
    The actual rows differ from the expected rows. The row diff shows where.
MS659 A result depends on how the input is split into micro-batches
    The same rows gave a different result when they came in other micro-batches, as they may in production.
    Make the model independent of the split, or set `strict: false` if the dependence is intended.
MS660 A data test failed
    There are rows that must not exist, or too few of those that must.
MS661 A data test can't be run
    The model has not been built, or the SQL of the test fails.
""")
