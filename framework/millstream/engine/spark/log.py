"""Sends Spark's output to files, to keep it out of the user's terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.core.own_folder import make_folder

_CONFIGURATION = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePattern = {log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd'T'HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
"""


def log_config_of(folder: Path) -> Path:
    """Return the file of log4j's configuration, which may have to be written."""
    return folder / "log4j2.properties"


def write_log_config(folder: Path) -> Path:
    """Write log4j's configuration; return its file."""
    make_folder(folder)
    file = log_config_of(folder)
    file.write_text(_CONFIGURATION.format(log=(folder / "spark.log").as_posix()), encoding="utf-8")
    return file


@contextmanager
def redirected_stderr(folder: Path) -> Iterator[None]:
    """Redirect standard error of new processes to a file: Java writes to it before log4j is configured."""
    make_folder(folder)
    terminal = os.dup(2)
    with (folder / "java.log").open("ab") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)
