"""An S3 server on loopback: moto's, which `uvx` installs.

Waitress serves it: Werkzeug answers `Expect: 100-continue` twice, and Amazon's client takes the second for the result.
"""

import os
import re
import subprocess
import urllib.request
from contextlib import contextmanager

CODE = """
from moto.server import DomainDispatcherApplication, create_backend_app
from waitress import create_server

server = create_server(DomainDispatcherApplication(create_backend_app), host="127.0.0.1", port=0)
print(f"Running on http://127.0.0.1:{server.effective_port}", flush=True)
server.run()
"""
SERVER = (
    "uvx",
    "--quiet",
    "--from",
    "moto[server,s3]==5.2.5",
    "--with",
    "waitress==3.0.2",
    "python",
    "-c",
    CODE,
)
LOGIN = {"AWS_ACCESS_KEY_ID": "shop", "AWS_SECRET_ACCESS_KEY": "swordfish", "AWS_REGION": "us-east-1"}


@contextmanager
def s3_server(folder, bucket):
    """Start a server with a bucket; yield its address."""
    log = folder / "s3.log"
    # Tools that run in an environment are no part of it.
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    with log.open("w") as file:
        server = subprocess.Popen(SERVER, stdout=file, stderr=subprocess.STDOUT, env=environment)
    try:
        while not (address := re.search(r"Running on (http://127\.0\.0\.1:\d+)", log.read_text())):
            assert server.poll() is None, log.read_text()
        urllib.request.urlopen(
            urllib.request.Request(f"{address[1]}/{bucket}", method="PUT"), timeout=10
        ).close()
        yield address[1]
    finally:
        server.terminate()
        server.wait(20)
