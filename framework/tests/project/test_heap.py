"""The heap of Spark's driver."""

import pytest

from millstream.engine.spark.start_settings import spark_settings
from millstream.ops.package.facts import memory_with
from millstream.project.heap import heap_of
from millstream.project.values import Target

GIB = 2**30
LOCAL = Target("shop", "local", {})


@pytest.mark.parametrize(
    ("settings", "queries", "memory", "heap"),
    [
        ({}, 0, None, 2048),
        ({}, 32, None, 2048),
        ({}, 100, None, 6400),
        ({}, 100, 24 * GIB, 6400),
        ({}, 100, 8 * GIB, 4096),
        ({}, 100, 2 * GIB, 2048),
        ({"master": "spark://host:7077"}, 10, None, 1024),
        ({"master": "spark://host:7077"}, 100, None, 6400),
        ({"spark": {"spark.driver.memory": "3g"}}, 100, 4 * GIB, 3072),
        ({"spark": {"spark.driver.memory": "512m"}}, 100, None, 512),
    ],
)
def test_it_grows_with_the_number_of_queries(settings, queries, memory, heap):
    assert heap_of(Target("shop", "local", settings), queries, memory) == heap


@pytest.mark.parametrize(
    ("settings", "text"), [({}, "2048m"), ({"spark": {"spark.driver.memory": "3g"}}, "3g")]
)
def test_spark_gets_it(settings, text, tmp_path):
    options = spark_settings(Target("shop", "local", settings), [], tmp_path, queries=2)
    assert options["spark.driver.memory"] == text


def test_a_package_has_memory_for_it():
    assert memory_with(heap_of(LOCAL, 100)) == 6400 + 1600 + 1024
