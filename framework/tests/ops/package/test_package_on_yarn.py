"""A package in cluster mode on a real YARN: its driver runs in a container that has only what was sent there."""

import os
import subprocess

import pytest
from support.commands import MILLSTREAM
from support.function_of_a_package import PYTHON, write_widths
from support.runs import create_topics, table_rows
from support.shops import TOTALS, Shop, event
from support.standalone import HOME
from support.yarn import yarn

pytestmark = pytest.mark.long

PROFILES = """
    shop:
      target: cluster
      outputs:
        cluster:
          master: yarn
          kafka: {{bootstrap_servers: "{{{{ env_var('BOOTSTRAP') }}}}"}}
          tables: {{store: delta, path: {root}/shared/tables}}
          checkpoints: {root}/shared/checkpoints
          spark:
            spark.driver.memory: 1g
            spark.executor.memory: 1g
            spark.executor.instances: 1
            spark.sql.shuffle.partitions: 2
            spark.archives: "{{{{ env_var('MILLSTREAM_PACKAGE', '') }}}}/workers.zip#packages"
            spark.executorEnv.PYTHONPATH: "packages:pyspark.zip:py4j-0.10.9.9-src.zip"
"""


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_package_builds_its_tables_in_cluster_mode(tmp_path, broker, monkeypatch):
    monkeypatch.setenv("BOOTSTRAP", broker)
    shop = Shop(tmp_path / "shop", broker)
    shop.write("profiles.yml", PROFILES.format(root=tmp_path))
    shop.model("totals", TOTALS)
    write_widths(shop)
    create_topics(broker, "events", partitions=2)
    package = tmp_path / "package"
    done = subprocess.run(
        [*MILLSTREAM, "package", "--to", package], cwd=shop.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    done = subprocess.run([package / "install"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with yarn(tmp_path / "yarn") as cluster:
        shop.send(event(1, "a", 1.0, kind="日本"), event(2, "b", 2.0, kind="x"))
        submitted(package, cluster, tmp_path / "production.conf", broker)
        shop.send(event(3, "a", 10.0, kind="y"))
        submitted(package, cluster, tmp_path / "production.conf", broker)
        states = [app["finalStatus"] for app in cluster.request("apps")["apps"]["app"]]
    assert states == ["SUCCEEDED", "SUCCEEDED"]
    rows = table_rows(shop.root, "model.totals")
    assert sorted((row["user"], row["total"]) for row in rows) == [("a", 11.0), ("b", 2.0)]
    widths = {row["id"]: row["width"] for row in table_rows(shop.root, "model.widths")}
    assert widths == {1: 5, 2: 2, 3: 2}


def submitted(package, cluster, properties, bootstrap):
    """Build with spark-submit, from a folder that has nothing but the package."""
    settings = {
        "spark.yarn.jars": f"local:{HOME}/jars/*",  # what a cluster has: Spark itself
        "spark.yarn.maxAppAttempts": "1",
        "spark.yarn.appMasterEnv.BOOTSTRAP": bootstrap,
        "spark.yarn.appMasterEnv.PYSPARK_PYTHON": str(PYTHON),
    }
    properties.write_text("".join(f"{name}  {value}\n" for name, value in settings.items()))
    environment = {
        name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}
    }
    environment |= {"HADOOP_CONF_DIR": str(cluster.configuration), "SPARK_HOME": str(HOME)}
    done = subprocess.run(
        [package / "submit", "build", "--master", "yarn", "--deploy-mode", "cluster", "--properties-file", properties],
        cwd=package, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:] + cluster.logs()
