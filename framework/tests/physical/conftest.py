"""One Spark for all tests of this folder."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import pytest

# Plans written by hand are those of the optimizer's tests.
sys.path.append(str(Path(__file__).parents[1] / "optimizer"))


@pytest.fixture(scope="package")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    logging.getLogger("SQLQueryContextLogger").disabled = True
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
