import pytest

from millstream.core.types import BIGINT, BOOLEAN, INT, STRING, Array, Decimal, Field, Row
from millstream.explain.savings import ValueSize, row_size
from millstream.plan.nodes import Column


@pytest.mark.parametrize(
    ("types", "size"),
    [
        ([], ValueSize(0)),
        ([INT], ValueSize(16)),
        ([BIGINT, BOOLEAN], ValueSize(24)),
        ([Decimal(10, 2)], ValueSize(16)),
        ([Decimal(38, 2)], ValueSize(32)),
        ([STRING], ValueSize(16, exact=False)),
        ([Array(INT)], ValueSize(16, exact=False)),
        ([Row((Field("a", INT), Field("b", INT)))], ValueSize(40)),
        ([Row((Field("a", STRING),))], ValueSize(32, exact=False)),
    ],
)
def test_rows_take_what_their_types_say(types, size: ValueSize) -> None:
    assert row_size(Column(f"c{i}", type_) for i, type_ in enumerate(types)) == size
