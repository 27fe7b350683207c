"""A package's functions on a real standalone cluster, whose workers have nothing but Python and Spark."""

import json
import os
import subprocess

import pytest
from support.commands import MILLSTREAM
from support.function_of_a_package import PYTHON, write_widths
from support.runs import create_topics, headers, received, table_rows
from support.shops import Shop, event
from support.standalone import HOME, standalone

pytestmark = pytest.mark.long

PROFILES = """
    shop:
      target: local
      outputs:
        local: {master: "local[2]", kafka: embedded}
"""
FOR_WORKERS = """\
        spark.archives: "{{ env_var('MILLSTREAM_PACKAGE') }}/workers.zip#packages"
        spark.executorEnv.PYTHONPATH: packages
"""


def command(root, *arguments, **environment):
    # Neither the tests' packages nor the project's folder are what workers import from.
    names = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [*MILLSTREAM, *arguments, "--target", "cluster"],
        cwd=root, env=names | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_functions_find_their_packages_and_modules_on_workers(tmp_path, broker, monkeypatch):
    done = subprocess.run([PYTHON, "-c", "import pyarrow"], capture_output=True, check=False)
    assert done.returncode == 1, "the workers' Python has packages of its own"
    shop = Shop(tmp_path, broker)
    create_topics(broker, "events", partitions=2)
    shop.write("profiles.yml", PROFILES)
    write_widths(shop)
    shop.write("macros/native.py", "def twice(value: float) -> float: return 2 / value")
    shop.write("models/sent.yml", "models: [{name: sent, config: {on_bad_record: dead_letter}}]")
    shop.model(
        "sent",
        "{{ config(materialized='sink') }} select id, upper(kind) as kind, twice(value) as twice "
        "from {{ source('web', 'events') }}",
    )
    shop.send(event(1, kind="日本"), event(2, kind="x"), event(3, value=0.0))
    with standalone(tmp_path, broker):
        folder = tmp_path / "package"
        code, message = command(tmp_path, "package", "--to", str(folder))
        assert code == 0, message
        variables = {"MILLSTREAM_PACKAGE": str(folder), "PYSPARK_PYTHON": str(PYTHON)}
        profiles = tmp_path / "profiles.yml"
        profiles.write_text(profiles.read_text().rstrip() + "\n" + FOR_WORKERS)
        code, message = command(tmp_path, "build", **variables)
        assert code == 0, message
    monkeypatch.setenv("MILLSTREAM_PACKAGE", str(folder))
    rows = table_rows(tmp_path, "model.widths", "cluster")
    assert sorted((row["id"], row["width"]) for row in rows) == [(1, 5), (2, 2), (3, 2)]
    # Executors make the records of a sink, with what the driver has compiled.
    sent = sorted(shop.values("sent"), key=lambda row: row["id"])
    assert sent == [{"id": 1, "kind": "日本", "twice": 2.0}, {"id": 2, "kind": "X", "twice": 2.0}]
    (dead,) = received(broker, "events.dead_letter")
    assert headers(dead)["millstream.reason"].startswith("sent: twice(): ZeroDivisionError")
    results = json.loads((tmp_path / "target/run_results.json").read_text())["results"]
    counted = {result["id"]: result["dead_letters"] for result in results}
    assert counted["model.sent"] == {"model.sent": 1}


def test_spark_has_no_cluster_mode_for_python_on_standalone_clusters(tmp_path):
    (tmp_path / "x.py").write_text("")
    command = [HOME / "bin/spark-submit", "--master", "spark://127.0.0.1:1", "--deploy-mode", "cluster"]
    done = subprocess.run(
        [*command, tmp_path / "x.py"],
        env=os.environ | {"SPARK_HOME": str(HOME)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "not supported for python applications on standalone clusters" in done.stderr
