"""Starts a command of this package in the process that spark-submit started."""

import os
import subprocess
import sys
from pathlib import Path

package = os.environ.get("MILLSTREAM_PACKAGE")
if not package:
    # In cluster mode, this is a container of YARN, which has unpacked the package.
    package = str(Path("package").resolve())
    os.environ["MILLSTREAM_WORK"] = str(Path("work").resolve())
    os.environ["MILLSTREAM_VENV"] = venv = str(Path("venv").resolve())
    install = ["/bin/sh", f"{package}/install", venv]
    subprocess.run(install, check=True, env={**os.environ, "PYTHON": sys.executable, "PIP_NO_COMPILE": "1"})
os.execv("/bin/sh", ["/bin/sh", f"{package}/start", *sys.argv[1:]])
