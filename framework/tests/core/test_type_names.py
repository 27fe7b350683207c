import re

import pytest

from millstream.core.type_names import type_remedy
from millstream.core.types import parse_type

NAMES_OF_OTHERS = ["varchar", "TEXT", "uuid", "bool", "int64", "int32", "float64", "number", "datetime", "timestamptz",
                   "json", "jsonb", "bytes", "int8"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES_OF_OTHERS)
def test_the_type_of_another_database_is_replaced_by_one_that_spark_has(name):
    remedy = type_remedy(name, "")
    assert remedy.startswith("use ")
    first = re.match(r'use "?([a-z_]+)', remedy)
    assert first is not None
    assert parse_type(first.group(1))


def test_a_misspelled_type_has_the_nearest_one():
    assert type_remedy("bigit", "") == "did you mean 'bigint'?"
    assert type_remedy("xyz", "use another") == "use another"
