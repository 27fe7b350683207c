"""A real schema registry for tests, to which Confluent's own client registers schemas."""

import pytest

from millstream.machine.java import newest_java
from millstream.registry.local.apicurio import OLDEST

needs_java = pytest.mark.skipif(
    newest_java(OLDEST) is None, reason=f"the local schema registry needs Java {OLDEST} or newer"
)


def skipped_for_java(reports):
    """Return the tests that were skipped because no Java is new enough."""
    return sorted(each.nodeid for each in reports if "schema registry needs Java" in str(each.longrepr))
