"""The example on a standalone cluster of Spark: a master and two workers, each a process."""

import os
import signal
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest
from example.differing import differences, piece
from example.generated import generated
from support.commands import MILLSTREAM, Run
from support.runs import create_topics, send

from millstream.machine.java import java

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

HOME = Path(pyspark.__file__).parent
ENVIRONMENT = {"SPARK_HOME": str(HOME), "SPARK_SCALA_VERSION": "2.13"}
"""As Spark's own scripts set it."""
EVENTS = 1000
BITS = 20
"""Each is of less time than the shortest delay of a watermark."""
CLUSTER = """
    cluster:
      master: spark://127.0.0.1:{port}
      kafka: {{bootstrap_servers: "{bootstrap}"}}
      tables: {{store: delta, path: {root}/shared/tables}}
      checkpoints: {root}/shared/checkpoints
      trigger: 1 second
      spark:
        spark.driver.host: 127.0.0.1
        spark.executor.memory: 1g
        spark.executor.cores: 1
        spark.sql.shuffle.partitions: 2
"""


class Process:
    """A process of Spark's own, with what it starts."""

    def __init__(self, folder, name, *arguments):
        self.log = folder / f"{name}.log"
        command = [str(java().program), "-Xmx256m", "-cp", f"{HOME}/jars/*", *arguments]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | ENVIRONMENT,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        """Kill it with the executors that it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def until(self, said):
        while said not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()


@pytest.fixture
def cluster(example):
    root, bootstrap = example
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    profile = CLUSTER.format(port=port, bootstrap=bootstrap, root=root)
    (root / "profiles.yml").write_text((root / "profiles.yml").read_text().rstrip() + profile)
    own = ("--host", "127.0.0.1", "--webui-port", "0")
    with ExitStack() as stack:
        where = ("org.apache.spark.deploy.master.Master", "--port", str(port), *own)
        master = stack.enter_context(Process(root, "master", *where))
        master.until("I have been elected leader")
        workers = []
        for number in range(2):
            what = (
                "org.apache.spark.deploy.worker.Worker",
                f"spark://127.0.0.1:{port}",
                "--cores",
                "1",
                "--memory",
                "1g",
            )
            more = ("--work-dir", str(root / f"work{number}"), *own)
            workers.append(stack.enter_context(Process(root, f"worker{number}", *what, *more)))
        for each in workers:
            each.until("Successfully registered with master")
        yield root, bootstrap, workers


def test_the_rows_are_those_of_one_machine_although_a_worker_dies(cluster):
    root, bootstrap, workers = cluster
    records = generated(2 * EVENTS)
    create_topics(bootstrap, *records)
    send(bootstrap, piece(records, 0, EVENTS))
    run = Run(root, "--target", "cluster")
    try:
        run.until("batch")
        # Bit by bit: a batch that finds newer records in one partition and not yet older ones in another
        # would drop those as late.
        for number in range(BITS, 2 * BITS):
            send(bootstrap, piece(records, number, EVENTS // BITS))
        run.until("batch")
        workers[1].kill()
        run.until("batch")
    finally:
        code = run.stop()
    assert code == 0, run.said[-5:]
    subprocess.run([*MILLSTREAM, "build", "--target", "cluster"], cwd=root, check=True, capture_output=True)
    # A task that was lost with its worker may have sent records, which another one sends again.
    assert differences(root, bootstrap, records, "cluster", again=True) == []
