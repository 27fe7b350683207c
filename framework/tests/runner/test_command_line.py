"""No secret is in a command line, where every user of the machine can read it."""

from pathlib import Path

import pytest
from pyspark import SparkContext


@pytest.fixture
def conf(spark):
    return spark.sparkContext._jsc.hadoopConfiguration()


def test_spark_has_settings_that_no_command_line_shows(spark, conf):
    process = SparkContext._gateway.proc
    arguments = [*process.args, Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()]
    assert conf.get("fs.tests.account.id") == "swordfish"
    assert spark._jvm.System.getProperty("millstream.tests") == "swordfish"
    assert "spark.master=local[2]" in arguments
    assert not [each for each in arguments if "swordfish" in each]


def test_the_file_with_java_options_is_gone(spark):
    name = "spark.driver.extraJavaOptions="
    (options,) = (each for each in SparkContext._gateway.proc.args if each.startswith(name))
    file = options.partition("=@")[2]
    assert file
    assert not Path(file).exists()


def test_spark_redacts_settings_from_the_environment(spark, conf):
    shown = {each.key: each.value for each in spark.sql("set -v").collect()}
    shown |= {each.key: each.value for each in spark.sql("set").collect()}
    assert "swordfish" not in shown.values()
    assert shown["spark.hadoop.fs.tests.account.id"] == "*********(redacted)"
