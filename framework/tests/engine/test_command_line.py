"""No secret is in a command line or in the environment of a process that does not need it."""

from pathlib import Path

import pytest
from pyspark import SparkContext

from millstream.core.errors import MillstreamError
from millstream.engine.spark.session import start_spark
from millstream.engine.spark.start_settings import spark_settings
from millstream.local.environment import for_java, for_spark
from millstream.local.server.folder import ServerFolder
from millstream.local.server.state import read_pid
from millstream.project.values import Target


@pytest.fixture
def conf(spark):
    return spark.sparkContext._jsc.hadoopConfiguration()


def test_spark_has_settings_that_no_command_line_shows(spark, conf):
    process = SparkContext._gateway.proc
    arguments = [*process.args, Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()]
    assert conf.get("fs.tests.account.id") == "swordfish"
    assert spark._jvm.System.getProperty("millstream.tests") == "swordfish"
    assert "spark.master=local[2]" in arguments
    assert not [argument for argument in arguments if "swordfish" in argument]


@pytest.mark.parametrize("master", ["local[2]", "spark://host:7077", "yarn"])
def test_no_master_serves_a_web_ui(tmp_path, master):
    settings = spark_settings(Target("shop", "local", {"master": master}), [], tmp_path)
    assert settings["spark.ui.enabled"] == "false"


def environment(pid):
    content = Path(f"/proc/{pid}/environ").read_bytes().decode()
    return dict(variable.partition("=")[::2] for variable in content.split("\0") if variable)


def test_the_jvm_and_its_workers_see_only_what_they_need(spark):
    pids = [SparkContext._gateway.proc.pid, *seen_by_workers(spark, "__import__('os').getpid()")]
    for pid in pids:
        variables = environment(pid)
        assert "MILLSTREAM_TESTS_TOKEN" not in variables
        assert "swordfish" not in variables.values()
        assert variables["MILLSTREAM_TESTS_REGION"] == "north"
        assert variables["PATH"]
    assert len(pids) > 1
    assert {*seen_by_workers(spark, "__import__('os').environ.get('MILLSTREAM_TESTS_TOKEN', '')")} == {""}


def seen_by_workers(spark, expression):
    seen = spark.range(2).rdd.map(lambda _: eval(expression)).collect()
    return [*dict.fromkeys(seen)]


def test_the_broker_sees_only_what_it_needs(broker_server):
    variables = environment(read_pid(ServerFolder(broker_server.folder, "broker")))
    assert "MILLSTREAM_TESTS_TOKEN" not in variables
    assert variables["PATH"]


def test_what_is_needed():
    variables = {
        "PATH": "/bin", "LC_ALL": "C", "SPARK_HOME": "/s", "PYTHONPATH": "/p", "AWS_SECRET_ACCESS_KEY": "a", "PGPASS": "b",
        "DB_PWD": "c", "GITHUB_PAT": "d", "STRIPE_KEY": "e", "REGION": "f", "https_proxy": "g",
    }  # fmt: skip
    assert [*for_java(variables)] == ["PATH", "LC_ALL"]
    passed = for_spark(variables, ("REGION",))
    assert {*variables} - {*passed} == {"PGPASS", "DB_PWD", "GITHUB_PAT", "STRIPE_KEY"}


def test_the_file_with_java_options_is_gone(spark):
    name = "spark.driver.extraJavaOptions="
    (options,) = (argument for argument in SparkContext._gateway.proc.args if argument.startswith(name))
    file = options.partition("=@")[2]
    assert file
    assert not Path(file).exists()


def test_spark_redacts_settings_from_the_environment(spark, conf):
    shown = {setting.key: setting.value for setting in spark.sql("set -v").collect()}
    shown |= {setting.key: setting.value for setting in spark.sql("set").collect()}
    assert "swordfish" not in shown.values()
    assert shown["spark.hadoop.fs.tests.account.id"] == "*********(redacted)"


def test_spark_is_not_started_in_a_folder_that_java_can_not_open(tmp_path: Path) -> None:
    folder = tmp_path / "two\nlines"
    with pytest.raises(MillstreamError, match=r"MS820: Java can't use the folder"):
        start_spark("tests", Target("shop", "local", {}), [], folder)
    assert not folder.exists()
