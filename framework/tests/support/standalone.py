"""A standalone cluster of Spark: a master and two workers, each a process of its own."""

import os
import signal
import socket
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from millstream.local.java import find_java

HOME = Path(pyspark.__file__).parent
LOCAL = ("--host", "127.0.0.1", "--webui-port", "0")
"""What master and workers are told of this machine."""
ENVIRONMENT = {"SPARK_HOME": str(HOME), "SPARK_SCALA_VERSION": "2.13"}
"""As Spark's own scripts set it."""
CLUSTER = """
    cluster:
      master: spark://127.0.0.1:{port}
      kafka: {{bootstrap_servers: "{bootstrap}"}}
      tables: {{store: delta, path: {root}/shared/tables}}
      checkpoints: {root}/shared/checkpoints
      trigger: 1 second
      guarantee: {guarantee}
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
        command = [str(find_java().program), "-Xmx256m", "-cp", f"{HOME}/jars/*", *arguments]
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

    def until(self, message):
        while message not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()


class Workers(list):
    """The workers of a cluster."""

    def __init__(self, root, port, stack):
        super().__init__()
        self._root, self._port, self._stack = root, port, stack

    def add(self):
        """Start another one."""
        number = len(self)
        master = ("org.apache.spark.deploy.worker.Worker", f"spark://127.0.0.1:{self._port}")
        size = ("--cores", "1", "--memory", "1g", "--work-dir", str(self._root / f"work{number}"))
        worker = self._stack.enter_context(Process(self._root, f"worker{number}", *master, *size, *LOCAL))
        self.append(worker)


@contextmanager
def standalone(root, bootstrap, guarantee="at_least_once", more=""):
    """Start a cluster, and make it a target of a project, with `more` lines of YAML; yield its workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    profile = CLUSTER.format(port=port, bootstrap=bootstrap, root=root, guarantee=guarantee) + more
    (root / "profiles.yml").write_text((root / "profiles.yml").read_text().rstrip() + profile)
    with ExitStack() as stack:
        where = ("org.apache.spark.deploy.master.Master", "--port", str(port), *LOCAL)
        master = stack.enter_context(Process(root, "master", *where))
        master.until("I have been elected leader")
        workers = Workers(root, port, stack)
        for _ in range(2):
            workers.add()
        for worker in workers:
            worker.until("Successfully registered with master")
        yield workers
