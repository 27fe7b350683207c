"""Verdicts that Confluent's own comparison of Protobuf schemas gave for random pairs.

The local registry's rules for Protobuf are others (`registry/test_compatibility_verdicts.py`).
"""

from itertools import count, islice

import pytest
from support.schema_pairs import protobuf_pair

from millstream.formats.compatibility import find_incompatibilities
from millstream.formats.format import SchemaFiles

CONFLUENT = (
    "B-2222---2-FB2-22BF2-----2222222-222222222FFF2-22B-2F22--2B2-22B2B-F-2-2--2------2222-FB222B2-2--22B"
)
"""For each pair: compatible backward, forward, in both directions (2) or in none (-)."""


@pytest.mark.long
def test_random_pairs():
    pairs = (pair for pair in map(protobuf_pair, count()) if pair[0] != pair[1])
    for (old, new), verdict in zip(islice(pairs, len(CONFLUENT)), CONFLUENT, strict=True):
        before, after = (SchemaFiles("s.proto", {"s.proto": text}) for text in (old, new))
        compatible = [
            not find_incompatibilities("protobuf", after, {1: before}, level)
            for level in ("BACKWARD", "FORWARD")
        ]
        assert compatible == [verdict in "B2", verdict in "F2"], f"{verdict}\n{old}\n{new}"
