"""Small files next to checkpoints and tables, on this machine or any file system of Spark."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from millstream.atomic import replace_file
from millstream.decoding import from_json
from millstream.project.folders import local_path

T = TypeVar("T")
_VISIBLE_WHEN_CLOSED = "fs.capability.outputstream.abortable"
"""Hadoop's CommonPathCapabilities.ABORTABLE_STREAM."""


class Files(Protocol):
    def read(self, path: str) -> bytes | None: ...
    def write(self, path: str, content: bytes) -> None: ...
    def remove(self, path: str) -> None:
        """Remove a file, or a folder with its contents."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; none if it does not exist."""
        ...

    def size(self, folder: str) -> int:
        """Return how many bytes the files of a folder have, with those of folders within."""
        ...

    def copy(self, folder: str, to: str) -> None:
        """Copy a folder with its contents, if it exists."""
        ...


def path_in(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def read_json(files: Files, path: str, type_: type[T]) -> T | None:
    content = files.read(path)
    return None if content is None else from_json(content, type_)


def write_json(files: Files, path: str, value: object) -> None:
    files.write(path, msgspec.json.format(msgspec.json.encode(value), indent=1))


def files_of(path: str, spark: SparkSession) -> Files:
    return LocalFiles() if local_path(path) is not None else HadoopFiles(spark)


class LocalFiles:
    def read(self, path: str) -> bytes | None:
        try:
            return _path(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, content: bytes) -> None:
        """Replace a file atomically: concurrent readers see the old or the new content."""
        target = _path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, content, sync=True)

    def remove(self, path: str) -> None:
        local = _path(path)
        if local.is_dir() and not local.is_symlink():
            shutil.rmtree(local)
        else:
            local.unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        path = _path(folder)
        return [each.name for each in path.iterdir()] if path.is_dir() else []

    def size(self, folder: str) -> int:
        total = 0
        for path in _path(folder).rglob("*"):
            with contextlib.suppress(FileNotFoundError):  # Spark removes old versions meanwhile
                total += path.stat().st_size if path.is_file() else 0
        return total

    def copy(self, folder: str, to: str) -> None:
        if _path(folder).is_dir():
            shutil.copytree(_path(folder), _path(to))


def _path(path: str) -> Path:
    found = local_path(path)
    assert found is not None
    return found


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
        return [each.getPath().getName() for each in system.listStatus(hadoop_path)]

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

    def _open(self, path: str) -> tuple[Any, Any]:
        hadoop_path = self._java.org.apache.hadoop.fs.Path(path)
        return hadoop_path, hadoop_path.getFileSystem(self._settings)
