"""Which Spark settings of a target can change rows; `runner/test_changing_settings.py` proves it by running them."""

import pytest

from millstream.project.secrets import Secret
from millstream.project.spark_settings import settings_of_results
from millstream.project.values import Target


def results_settings(**spark):
    return settings_of_results(Target("shop", "local", {"spark": spark}))


@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.ansi.enabled",
        "spark.sql.legacy.sizeOfNull",
        "spark.sql.caseSensitive",
        "spark.sql.mapKeyDedupPolicy",
        "spark.sql.storeAssignmentPolicy",
        "spark.sql.streaming.multipleWatermarkPolicy",
        "spark.sql.a.setting.of.a.later.version",
        "spark.executorEnv.TZ",
    ],
)
def test_settings_that_change_results(name):
    assert results_settings(**{name: "x"}) == {name: "x"}


@pytest.mark.parametrize(
    "name",
    [
        "spark.executor.memory",
        "spark.hadoop.fs.s3a.endpoint",
        "spark.kubernetes.namespace",
        "spark.sql.adaptive.enabled",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.files.maxPartitionBytes",
        "spark.sql.shuffle.partitions",
        "spark.sql.streaming.stateStore.maintenanceInterval",
        "spark.sql.streaming.stopTimeout",
        "spark.sql.warehouse.dir",
    ],
)
def test_settings_of_speed_and_place(name):
    assert results_settings(**{name: "x"}) == {}


def test_settings_that_are_written_as_a_tree():
    assert results_settings(**{"spark.sql": {"ansi": {"enabled": False}}}) == {
        "spark.sql.ansi.enabled": "false"
    }


def test_properties_of_the_jvm_count_and_its_memory_does_not():
    options = "-Xmx4g -Duser.language=tr -XX:+UseG1GC -Dlog4j.x=1 -Dspark.sql.ansi.enabled=false"
    name = "spark.driver.extraJavaOptions"
    assert results_settings(**{name: options}) == {name: "-Duser.language=tr -Dspark.sql.ansi.enabled=false"}
    assert results_settings(**{name: "-Xmx4g"}) == {}


def test_a_text_from_the_environment_is_not_written():
    (value,) = results_settings(**{"spark.sql.ansi.enabled": Secret("false")}).values()
    assert value != "false"
    assert results_settings(**{"spark.sql.x.password": Secret("abc")}) == {}
