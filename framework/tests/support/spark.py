"""What tests with Spark have in common."""

import pytest

SPARK_WARNINGS = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"
)
"""For files of tests: PySpark and what it calls warn of themselves."""
