"""What DataFusion and delta-rs say, in plain words."""

import pytest

from millstream.stores.tables.datafusion_errors import clean_error


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("External error: Arrow error: Divide by zero error", "divide by zero error"),
        ("Optimizer rule 'x' failed\ncaused by\nArrow error: Cast error: no Utf8View", "no string"),
        ("Kernel error\n   \x1b[31m↳\x1b[0m Error performing GET\n  \x1b[31m↳\x1b[0m refused", "kernel error: Error performing GET: refused"),
        ("", "the query failed"),
    ],
)  # fmt: skip
def test_the_cause_is_told(message, cause):
    assert clean_error(message) == cause
