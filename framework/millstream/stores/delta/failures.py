"""Why queries that read or write Delta tables fail."""

import re

from millstream.core.known_failures import KnownFailure
from millstream.stores.failures import TABLE_OF_PATH, missing_table

FAILURES = (
    KnownFailure(
        "MS864",
        re.compile(
            r"(/_change_data/\S+ does not exist|CHANGE_DATA_FILE_NOT_FOUND|TRUNCATED_TRANSACTION_LOG)"
        ),
        lambda _: "changes of a table that it has not read yet no longer exist",
        "`millstream build --full-refresh` removes the rows and state of the models, and starts over; to let "
        "queries stop for longer, set `old_files` in `tables:` of the profile",
    ),
    missing_table(
        r"\[(?:DELTA_PATH_DOES_NOT_EXIST|DELTA_TABLE_NOT_FOUND|DELTA_MISSING_DELTA_TABLE)"
        rf"[.\w]*\][^\n]*?{TABLE_OF_PATH}"
    ),
)
