"""Small files beside checkpoints and tables: of this machine, or of whatever file system Spark knows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from millstream.atomic import replace_file


class Files(Protocol):
    def read(self, path: str) -> bytes | None: ...
    def write(self, path: str, content: bytes) -> None: ...
    def remove(self, place: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return what is in a folder; nothing where it is not there."""
        ...


def local_path(place: str) -> Path | None:
    """Return the path of a folder of this machine; None for `s3a://…` and the like."""
    parts = urlsplit(place)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return None if parts.netloc or len(parts.scheme) > 1 else Path(place)


def files_of(place: str, spark: SparkSession) -> Files:
    return LocalFiles() if local_path(place) is not None else HadoopFiles(spark)


class LocalFiles:
    def read(self, path: str) -> bytes | None:
        try:
            return _path(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, content: bytes) -> None:
        """Replace a file as a whole: who reads meanwhile reads the old one or the new one."""
        target = _path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, content, sync=True)

    def remove(self, place: str) -> None:
        path = _path(place)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        path = _path(folder)
        return [each.name for each in path.iterdir()] if path.is_dir() else []


def _path(place: str) -> Path:
    found = local_path(place)
    assert found is not None
    return found


class HadoopFiles:
    """Files of a cluster, through the JVM."""

    def __init__(self, spark: SparkSession) -> None:
        self._java: Any = spark._jvm  # noqa: SLF001 -- PySpark has no other way to a file system
        self._settings = spark._jsc.hadoopConfiguration()  # noqa: SLF001

    def read(self, path: str) -> bytes | None:
        place, system = self._open(path)
        if not system.exists(place):
            return None
        stream = system.open(place)
        try:
            return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, path: str, content: bytes) -> None:
        """Replace a file as a whole, in the way in which Spark's own checkpoints are written there."""
        package = self._java.org.apache.spark.sql.execution.streaming.checkpointing
        place = self._java.org.apache.hadoop.fs.Path(path)
        manager = getattr(getattr(package, "CheckpointFileManager$"), "MODULE$").create(
            place.getParent(), self._settings
        )
        if not manager.exists(place.getParent()):
            manager.mkdirs(place.getParent())
        stream = manager.createAtomic(place, True)
        try:
            stream.write(bytearray(content))
        except BaseException:
            stream.cancel()
            raise
        stream.close()

    def remove(self, place: str) -> None:
        path, system = self._open(place)
        system.delete(path, True)

    def names(self, folder: str) -> list[str]:
        place, system = self._open(folder)
        return [each.getPath().getName() for each in system.listStatus(place)] if system.exists(place) else []

    def _open(self, path: str) -> tuple[Any, Any]:
        place = self._java.org.apache.hadoop.fs.Path(path)
        return place, place.getFileSystem(self._settings)
