"""A real node of OpenSearch, whose jars Maven fetches."""

import subprocess
from contextlib import contextmanager
from pathlib import Path

from millstream.local.java import find_java

FOLDER = Path(__file__).parent


def class_path(folder):
    """Return the jars of the server; Maven keeps them in its own folder."""
    file = folder / "class_path"
    subprocess.run(
        [
            "mvn",
            "--quiet",
            "--batch-mode",
            f"--file={FOLDER / 'pom.xml'}",
            "dependency:build-classpath",
            f"-Dmdep.outputFile={file}",
        ],
        check=True,
    )
    return file.read_text()


@contextmanager
def opensearch_server(folder):
    """Start a server that keeps its data in a folder; yield its address."""
    (folder / "config").mkdir()
    command = [find_java().program, "-Xmx512m", "-cp", class_path(folder), FOLDER / "Server.java", folder]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            while not (line := server.stdout.readline()).startswith("listens at "):
                assert line, (folder / "log").read_text()
            yield line.split()[-1]
        finally:
            server.communicate(timeout=60)
