import pytest

from millstream.core.types import BIGINT, BOOLEAN, INT, STRING, Array, Decimal, Field, Row
from millstream.explain.sizes import Size, row_size
from millstream.plan.nodes import Column


@pytest.mark.parametrize(
    ("types", "size"),
    [
        ([], Size(0)),
        ([INT], Size(16)),
        ([BIGINT, BOOLEAN], Size(24)),
        ([Decimal(10, 2)], Size(16)),
        ([Decimal(38, 2)], Size(32)),
        ([STRING], Size(16, exact=False)),
        ([Array(INT)], Size(16, exact=False)),
        ([Row((Field("a", INT), Field("b", INT)))], Size(40)),
        ([Row((Field("a", STRING),))], Size(32, exact=False)),
    ],
)
def test_rows_take_what_their_types_say(types, size: Size) -> None:
    assert row_size(Column(f"c{i}", type_) for i, type_ in enumerate(types)) == size
