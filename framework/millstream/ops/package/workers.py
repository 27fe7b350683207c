"""Writes what Python functions need on a cluster's workers, as an archive for `spark.archives`.

Workers have Python and Spark, but not the packages of Python functions, nor the project's own modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from packaging.utils import canonicalize_name

from millstream.ops.package.requirements import packages_of, required_packages

FILE = "workers.zip"
_OF_SPARK = ("pandas", "pyarrow", "protobuf", "googleapis-common-protos")
"""What PySpark imports on workers: Arrow and pandas for functions, protobuf for the state of keyed ones."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_FAST = 1


def worker_packages(libraries: Iterable[str]) -> frozenset[str]:
    """Return the names of the packages that workers need; they have Spark and its Python code."""
    distributions = required_packages([*_OF_SPARK, *packages_of(libraries)])
    return frozenset(distributions) - {"pyspark", "py4j"}


def write_workers(
    folder: Path, names: Iterable[str], wheels: Mapping[str, Path], modules: Mapping[str, Path]
) -> Path:
    """Write the archive: the content of wheels as Python imports it, and the modules of the project."""
    file = folder / FILE
    packages = {canonicalize_name(name) for name in names}
    with ZipFile(file, "w") as archive:
        for name in sorted(packages):
            with ZipFile(wheels[name]) as wheel:
                for entry in wheel.infolist():
                    if ".data/" not in entry.filename:
                        archive.writestr(_entry(entry.filename), wheel.read(entry), ZIP_DEFLATED, _FAST)
        for path, source in sorted(modules.items()):
            archive.writestr(_entry(path.removeprefix("src/")), source.read_bytes(), ZIP_DEFLATED, _FAST)
    return file


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, _EPOCH)
    entry.external_attr = 0o100644 << 16
    return entry
