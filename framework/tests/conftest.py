"""One Spark for all tests, with a session of its own for each file."""

import logging
import os
import sys

import pytest

pytest.register_assert_rewrite("support.plans", "support.written")


@pytest.fixture(scope="session")
def first_spark(tmp_path_factory):
    """Return the session that starts the JVM; it holds no views and no settings of any test."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    logging.getLogger("SQLQueryContextLogger").disabled = True
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def spark(first_spark):
    """Return a session whose views, functions and settings no other file sees."""
    return first_spark.newSession()
