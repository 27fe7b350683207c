"""Why queries that read Iceberg tables of other programs fail."""

import re

from millstream.core.known_failures import END, KnownFailure, first_group
from millstream.sources.iceberg.snapshots import FAILED, REMEDY

_WITH_REMEDY = re.escape(REMEDY) + r"([^\n]*?)" + END

FAILURES = (
    KnownFailure(
        "MS859",
        re.compile(
            re.escape(f"{FAILED}a file of the table no longer exists: ") + r"([^\n]*?)" + _WITH_REMEDY
        ),
        lambda match: f"a file no longer exists: {match[1]}",
        lambda match: f"restore it; or {match[2]}",
    ),
    KnownFailure(
        "MS645",
        re.compile(re.escape(FAILED) + r"([^\n]*?)" + _WITH_REMEDY),
        first_group,
        lambda match: match[2],
    ),
)
