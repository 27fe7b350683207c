"""Codes of tests."""

from millstream.codes import Code

CODES = {
    "MS650": Code(
        "A unit test names a column that is not there",
        "A row gives or expects a column that the relation does not have, or one that is calculated when a "
        "record is decoded. Such a test could never fail for the right reason.",
    ),
    "MS651": Code(
        "A value does not fit its column",
        "A row of a test holds a value of another type than its column. To test records that can't be decoded, "
        "give their bytes: `_value: '{oops'`.",
    ),
    "MS652": Code(
        "A unit test expects nothing",
        "Without `expect`, `steps` with `expect`, `expect_dead_letters` or `expect_error` a test would always "
        "pass. `expect: []` says that no row comes out.",
    ),
    "MS653": Code(
        "A unit test leaves an input open",
        "The model reads a relation that the test gives no rows of. `rows: []` says that there are none; "
        "`model: +name` computes the models above, too. A seed has its own rows.",
    ),
    "MS654": Code(
        "An input that the model does not read",
        "The test gives rows of a relation that has no part in what the model computes, often because a name "
        "was mistyped.",
    ),
    "MS655": Code(
        "Rows of a test can't be read",
        "Rows are a list of mappings, CSV text, or a CSV file named by `fixture`.",
    ),
    "MS656": Code(
        "A unit test says something that has no meaning",
        "For example a time that is none, a Python function that is not there, or `strict` for a model that "
        "keeps no state.",
    ),
    "MS657": Code(
        "A unit test can't be tried",
        "What the test needs can't be given as rows yet: a table that is written between the inputs and the "
        "model. Give the rows of a relation nearer to the model.",
    ),
    "MS658": Code(
        "A unit test failed",
        "What came out is not what was expected. The rows show what differs.",
    ),
    "MS659": Code(
        "An answer depends on how the input is cut into micro-batches",
        "The same rows gave another answer when they came in other micro-batches, as they may in production. "
        "Make the model independent of it, or say `strict: false` where it must be so.",
    ),
    "MS660": Code(
        "A data test failed",
        "There are rows that must not be there, or too few of those that must.",
    ),
    "MS661": Code(
        "A data test can't be run",
        "What it tests has not been built, or its SQL fails.",
    ),
}
