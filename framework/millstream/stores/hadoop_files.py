"""Small files on any file system of Spark."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from millstream.project.folders import local_path
from millstream.stores.files import LocalFiles, TableFiles

_VISIBLE_WHEN_CLOSED = "fs.capability.outputstream.abortable"
"""Hadoop's CommonPathCapabilities.ABORTABLE_STREAM."""


def files_of(path: str, spark: SparkSession) -> TableFiles:
    return LocalFiles() if local_path(path) is not None else HadoopFiles(spark)


class HadoopFiles:
    """Files on Hadoop file systems, through the JVM."""

    def __init__(self, spark: SparkSession) -> None:
        self._java: Any = spark._jvm  # noqa: SLF001 -- PySpark has no API for file systems
        self._settings = spark._jsc.hadoopConfiguration()  # noqa: SLF001

    def read(self, path: str) -> bytes | None:
        hadoop_path, system = self._open(path)
        while True:
            try:
                stream = system.open(hadoop_path)
                try:
                    return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
                finally:
                    stream.close()
            except Py4JJavaError as error:
                if error.java_exception.getClass().getName() != "java.io.FileNotFoundException":
                    raise
            # Hadoop's client of S3 also raises this if the file was replaced since it was opened.
            if not system.exists(hadoop_path):
                return None

    def write(self, path: str, content: bytes) -> None:
        """Replace a file atomically.

        Like Spark's own checkpoints, it is written under another name and renamed. In S3, that would delete
        the old file before the new one is copied; but a file that is written directly becomes visible as a
        whole when it is closed. File systems report that they are like this.
        """
        hadoop_path, system = self._open(path)
        if system.hasPathCapability(hadoop_path, _VISIBLE_WHEN_CLOSED):
            stream, cancel = system.create(hadoop_path, True), "abort"
        else:
            stream, cancel = self._renaming(hadoop_path), "cancel"
        try:
            stream.write(bytearray(content))
        except BaseException:
            getattr(stream, cancel)()
            raise
        stream.close()

    def _renaming(self, hadoop_path: Any) -> Any:
        package = self._java.org.apache.spark.sql.execution.streaming.checkpointing
        manager = getattr(getattr(package, "CheckpointFileManager$"), "MODULE$").create(
            hadoop_path.getParent(), self._settings
        )
        if not manager.exists(hadoop_path.getParent()):
            manager.mkdirs(hadoop_path.getParent())
        return manager.createAtomic(hadoop_path, True)

    def remove(self, path: str) -> None:
        hadoop_path, system = self._open(path)
        system.delete(hadoop_path, True)

    def names(self, folder: str) -> list[str]:
        hadoop_path, system = self._open(folder)
        if not system.exists(hadoop_path):
            return []
        return [status.getPath().getName() for status in system.listStatus(hadoop_path)]

    def size(self, folder: str) -> int:
        hadoop_path, system = self._open(folder)
        return system.getContentSummary(hadoop_path).getLength() if system.exists(hadoop_path) else 0

    def copy(self, folder: str, to: str) -> None:
        old, system = self._open(folder)
        new, other = self._open(to)
        if system.exists(old):
            other.mkdirs(new.getParent())
            copying = self._java.org.apache.hadoop.fs.FileUtil
            copying.copy(system, old, other, new, False, self._settings)

    def move(self, path: str, to: str) -> None:
        """Move a file, also one that was copied and not removed when this was killed, as in S3."""
        old, system = self._open(path)
        new, _ = self._open(to)
        if not system.exists(old):
            if not system.exists(new):
                raise FileNotFoundError(path)
            return
        system.mkdirs(new.getParent())
        system.delete(new, False)
        if not system.rename(old, new):
            raise OSError(f"{path} can't be moved to {to}")

    def paths(self, folder: str) -> list[str]:
        hadoop_path, system = self._open(folder)
        if not system.exists(hadoop_path):
            return []
        start = f"{system.makeQualified(hadoop_path).toString()}/"
        statuses, paths = system.listFiles(hadoop_path, True), []
        while statuses.hasNext():
            paths.append(str(statuses.next().getPath().toString()).removeprefix(start))
        return paths

    def _open(self, path: str) -> tuple[Any, Any]:
        hadoop_path = self._java.org.apache.hadoop.fs.Path(path)
        return hadoop_path, hadoop_path.getFileSystem(self._settings)
