"""A model that wrote the topic it reads grew it with each build; what the compiler suggests does not."""

import re

import pytest
from support.runs import built, errors
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

COPY = "{{{{ config(materialized='sink', {topic}) }}}} select id, kind from {{{{ source('web', 'events') }}}}"


def test_the_topic_that_is_suggested_does_not_grow_by_what_is_written(shop, first_spark):
    shop.model("copy", COPY.format(topic="topic='events'"))
    (diagnostic,) = compile_project(shop.root).diagnostics
    assert diagnostic.code == "MS550"
    shop.model("copy", COPY.format(topic=re.search(r"topic='\w+'", diagnostic.help)[0]))
    shop.send(*(("a", {"id": n, "kind": "x"}) for n in range(100)))
    for _ in range(2):
        _, events = built(shop.root, first_spark)
        assert errors(events) == []
        assert [row["id"] for row in shop.values("copy")] == [*range(100)]
        assert len(shop.values("events")) == 100
