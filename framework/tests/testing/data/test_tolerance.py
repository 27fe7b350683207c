"""How many failing rows a data test tolerates."""

import pytest

from millstream.compile.manifest import ManifestNode
from millstream.core.node_id import NodeId
from millstream.testing.data.result import DataTestResult, is_tolerated


@pytest.mark.parametrize(
    ("at_most", "wrong", "good"),
    [
        (None, 0, True),
        (None, 1, False),
        ("2", 2, True),
        ("2", 3, False),
        ("1.5%", 3, True),
        ("1.5%", 4, False),
        ("0%", 1, False),
    ],
)
def test_no_more_than_is_tolerated(at_most, wrong, good):
    arguments = {"at_most": at_most} if at_most else {}
    node = ManifestNode(
        id=NodeId("test", "t"),
        kind="test",
        name="t",
        path="models/t.yml",
        fqn=("shop", "t"),
        meta={"arguments": arguments},
    )
    assert is_tolerated(node, DataTestResult(wrong, 200)) is good
